// Package replica is one replica of one range: it serves requests as the range's
// leader, proposes their effects to raft and applies what was committed.
//
// Above it is store, which finds replicas and drives their background work;
// below it concurrency (who may proceed), eval (what a request reads), apply
// (what a command does), raftlog and storage.
//
// Read replica.go (Replica), serve.go (requests, the commit), group.go (raft: the
// queue of commands, entries, application), wait.go (waiting for locks),
// collect.go (garbage). Commits: commit.go (in one phase), part.go (what the leader
// knows of provisional data), stage.go (a part of a commit in several ranges),
// spill.go (transactions larger than their gateway's buffer), settle.go (removing
// what is provisional), record.go (transaction records), watch.go and recover.go
// (transactions whose gateway does not finish), recent.go and abandon.go (messages
// that come twice, late or never). Merges: merge.go (the steps), takeover.go (what
// becomes of the range merged away, and of those who use it). Time and rest: messages.go
// (Tick, Wake, SupportChanged), election.go (standing for election). Comparing replicas: checksum.go.
//
// Snapshots: snapshot.go (sending, installing), incoming.go (taking in).
//
// A commit, in short: the writes are announced as a commit in flight; the commit
// timestamp is the transaction's snapshot if nobody has read its keys since, or
// now if all that it read is still true; the command goes through the log; it is
// applied; readers that it concerns go on.
//
// Invariants:
//
//	R1. One goroutine at a time processes a group, none before it was started
//	    (group.mu.busy, group.mu.started; exclusively).
//	R2. Raft addresses only replicas of the range's descriptor, or, while the replica
//	    has none, the one that wrote last (peer). A replica leads without asking others
//	    only if no change of membership is left in its log that would give it company
//	    (start, nextConfChange).
//	R3. Raft learns that entries, term or vote are durable only after the sync
//	    that covers them (handleAppend); after a write that failed it learns nothing any more
//	    (group.broken).
//	R4. Only entries that are committed and locally durable are applied; raft
//	    hands out no others with AsyncStorageWrites (handleApply; noteLeadership).
//	R5. Whoever waits for a command hears of it when it was applied, or when another
//	    entry has taken its place or may have (waitersOf, wakeApplied, await).
//	R6. A commit under another leadership than its locks fails, unless that one handed
//	    them to the present one, directly and whole (checkLocks: epoch). Locks are
//	    handed over by a leader that has let out every request that changes them and
//	    serves nothing any more in its term, and taken over only by the leadership whose
//	    first entry follows the last one of that term (handOver, takeOver).
//	R7. A read is in the timestamp cache before it looks for commits in flight, a
//	    commit is announced before it looks into the timestamp cache: one of the
//	    two sees the other (Get, Scan; Commit).
//	R8. The collection threshold is raised before the first version below it
//	    goes, and every read checks it afterwards (raiseThreshold, checkThreshold).
//	R9. A spilled version is hidden from everyone else until its transaction has
//	    committed, and a spill's keys are registered before its versions exist
//	    (enterSpill, view).
//	R10. A transaction is decided once: by its record, which one request at a time
//	    changes (record.latch), and a part never turns from committed to aborted or
//	    back (decide).
//	R11. A staged version is at the timestamp at which its transaction commits, if it
//	    does; a read at or above it waits for the outcome (view, stage.note).
//	R12. A recovery aborts only after no missing key can be staged at its timestamp
//	    any more, under this leader or the next (QueryStaged).
//	R13. A record goes only when nothing provisional of its transaction is left in any
//	    range, and an ended transaction does not begin again (forgetRecord,
//	    stage.ended, recent).
//	R14. A merge is applied only over the right range as it was frozen (surrender), and
//	    a frozen range neither answers nor changes anything (admitWrite, enterRead,
//	    leaveRead).
//	R15. A lock of a range that is merged away is released where it went
//	    (releaseCarried).
//	R16. A replica rests, which is to say that nobody ticks it, only while a tick would
//	    change nothing; what ends that calls Wake afterwards (Tick, resting). No more than
//	    one tick waits to be processed, so that under load the group's time does not run
//	    ahead of its messages (Tick).
//	R17. All replicas compute a checksum over the state after the same entry, which
//	    nothing that was applied later has changed (handleApply, beginCheck).
//	R14. Of a snapshot only one chunk is in memory; it is in the engine as a whole or not at
//	     all, and after a crash the log continues the state (IncomingSnapshot,
//	     installSnapshot, MendLog).
//
// Locks: Replica has none of its own; group.mu and spills.mu are leaves, held for
// map and slice operations only. Nothing is waited for while one is held.
package replica
