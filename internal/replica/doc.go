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
// that come twice, late or never).
//
// A commit, in short: the writes are announced as a commit in flight; the commit
// timestamp is the transaction's snapshot if nobody has read its keys since, or
// now if all that it read is still true; the command goes through the log; it is
// applied; readers that it concerns go on.
//
// Invariants:
//
//	R1. One goroutine at a time processes a group (mu.busy).
//	R2. The range has one voter: raft addresses no one else (processReady,
//	    handleApply). Replication lifts this.
//	R3. Raft learns that entries, term or vote are durable only after the sync
//	    that covers them (handleAppend).
//	R4. Only entries that are committed and locally durable are applied; raft
//	    hands out no others with AsyncStorageWrites (handleApply).
//	R5. When a proposal has been processed, everything committed is applied
//	    (process).
//	R6. A commit under another leadership than its locks fails (Commit: epoch).
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
//
// Locks: Replica has none of its own; group.mu and spills.mu are leaves, held for
// map and slice operations only. Nothing is waited for while one is held.
package replica
