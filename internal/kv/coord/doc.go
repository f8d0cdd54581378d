// Package coord coordinates transactions at their gateway: it buffers their writes until the
// commit, records their reads, and commits them.
//
// Above it is kv; below it a kvpb.Sender, which is dist in a server. The writes lie in a
// writebuffer.Buffer, the reads in a readset.Set. Read in this order:
//
//	txn.go          Txn, the course of a transaction
//	lock.go         row locks; lockahead.go: many in one request; reserve.go: of long statements
//	scan.go         pages of one span or several; readahead.go: pages that another goroutine reads
//	delegate.go     reads that another node does; leaf.go: the reader there
//	uncertain.go    reads under clock uncertainty
//	savepoint.go    undoing statements and running them again
//	spill.go        writes that outgrow the buffer; spillflight.go: a spill under way;
//	                spilledkeys.go: which keys those are
//	commit.go       commit and rollback
//	trace.go        requests, told to who wants to know
//	check.go        checks of constraints, which may read later than the snapshot
//	nest.go         statements that run within another one: of functions and triggers
//	env.go          what the transactions of a gateway share
//	ingest.go       keys that nobody else knows yet
//
// A transaction's statements are numbered. A plain read of a statement sees the
// snapshot at the transaction's read timestamp and the writes of earlier
// statements; a locking read sees the newest committed version and every write.
// Writes go into the buffer and reach their ranges with the commit.
//
// Invariants:
//
// C1. Writes happen between the first BeginStatement and Commit or Rollback (mayWrite).
//
// C2. A read-only transaction never writes (mayWrite).
//
// C3. A SERIALIZABLE transaction moves its read timestamp only after all its reads were found
// unchanged; only refresh moves it after the first statement. A check of a constraint may read
// later than the snapshot at REPEATABLE READ, or where locks protect what it reads; the snapshot
// stays (BeginCheck, EndCheck; TestCheckKeepsSnapshot).
//
// C4. A key's lock is taken before its row is written. Locks are released only by the commit, by
// Rollback, or by RollbackTo, which records what they protected as reads (Txn.Lock,
// Txn.RollbackTo).
//
// C5. Only the first read in a snapshot takes over a read timestamp that a range chose (mayMove,
// noteRead). Any other version of uncertain time makes the transaction refresh its reads, or the
// statement start again (settleUncertainty). After WaitOutUncertainty there is none until the next snapshot.
//
// C6. A commit names the leadership under which each of its locks was granted (addLocks). After a
// commit that failed, no other commit of the transaction can succeed where its locks were
// (abandon).
//
// C7. A transaction that has ended retains no memory worth charging, because its session may stay
// idle for long (finish, drop; TestWritesAreCharged, invariant B3 of writebuffer).
//
// C8. A spill keeps the versions that the present statement, a savepoint or a snapshot in use may
// return to or read (oldestKept, writebuffer.Cursor.History; TestSpilledHistories in kv). If spilled writes are
// undone, keys whose locks a spill released count as read (spillRollback).
//
// C9. A spill names the leaderships that granted the row locks which its durable locks replace. It
// fails if one was lost, since others may have written the key; then no statement of the
// transaction is run again in it (spillChunks, replica.checkReplacedLocks; TestSpillWithoutItsLocks in
// kv).
//
// C10. A clock reading that a transaction uses was taken after its snapshot began, or was requested
// by ObserveClocks before it (ObserveClocks, newSnapshot, observe; TestObserveClocks).
//
// C11. A reservation protects nothing: all reads are refreshed as without it (Reserve). Reads of
// ReadApart are not refreshed, and nobody sees the part's writes before the commit (ReadApart;
// TestFillInBlock in sql).
//
// C12. While a spill is under way the transaction sends nothing that could meet its intents: a read, a
// lock or a refresh of what may be among them waits for it, and so does the end of the transaction
// (beginSpill, endSpill; TestSpillUnderWay). It begins when nothing is being read ahead (awaitReadAhead;
// TestSpillAwaitsReadAhead). A rollback waits for the requests that are sent, and no
// others are (spillFlight.stopped; TestSpillStopped); that of a cancelled statement waits behind its session
// (detach; TestCancelledSpill). A spill that failed leaves the writes in the
// buffer (TestSpillUnderWayFails). What it has stored of a statement is undone with the statement, or
// the transaction can't go on (spillRollback; TestTornSpill).
//
// C13. A statement that another one runs within itself reads and writes as if it had come between: it sees
// what that one has written, whose own reads go on in the snapshot that they had, and keep the memory of
// the values that they have read (Nest, Unnest; TestNestedStatements).
//
// C14. What another node has read counts only if the transaction's snapshot and statement are still those that it was
// given, and is recorded then. Another node never reads for a transaction that has writes (Delegate, Finish,
// dropDelegated; TestDelegate).
//
// Env's registry of active transactions has a mutex; a Txn has none.
package coord
