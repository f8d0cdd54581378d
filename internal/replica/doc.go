// Package replica is one replica of one range: it serves requests as the range's
// leader, proposes their effects to raft and applies what was committed.
//
// Above it is store, which finds replicas and drives their background work;
// below it concurrency (who may proceed), eval (what a request reads), apply
// (what a command does), raftlog and storage.
//
// Read replica.go (Replica), serve.go (requests, the commit), group.go (raft: the
// queue of commands, entries, application), wait.go (waiting for locks),
// collect.go (garbage), spill.go and settle.go (transactions larger than their
// gateway's buffer).
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
//
// Locks: Replica has none of its own; group.mu and spills.mu are leaves, held for
// map and slice operations only. Nothing is waited for while one is held.
package replica
