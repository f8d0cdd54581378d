// Package coord coordinates transactions at their gateway: it keeps their writes
// until they commit, remembers what they read, and commits them.
//
// Above it is kv; below it a kvpb.Sender, which is dist in a server. Read txn.go
// (Txn, the life of a transaction), scan.go (pages of one span or of many),
// uncertain.go (reads when clocks differ), buffer.go (Buffer, the writes), spill.go,
// reads.go (ReadSet), reserve.go (what long statements ask of others), env.go (what transactions share),
// lockahead.go (locks for many rows in one request), unlock.go (locks given up before the end).
//
// A transaction's statements are numbered. A plain read of a statement sees the
// snapshot at the transaction's read timestamp and the writes of earlier
// statements; a locking read sees the newest committed version and every write.
// Writes go into the buffer and reach their ranges with the commit.
//
// Invariants:
//
//	C1. Reads and writes happen between the first BeginStatement and Commit or
//	    Rollback (checked in Reset and write).
//	C2. A read-only transaction never writes (checked in write).
//	C3. A SERIALIZABLE transaction moves its read timestamp only after everything
//	    it has read was found unchanged (refresh is the only mover but for the
//	    first statement). At REPEATABLE READ, and of what
//	    locks keep as it is, a check of a constraint reads later than the snapshot,
//	    which stays (BeginCheck, EndCheck; TestCheckKeepsSnapshot).
//	C4. A key's lock is taken before its row is written, and locks are given up
//	    only by the commit, by Rollback or by RollbackTo, which turns what they
//	    protected into reads (Txn.Lock, Txn.RollbackTo).
//	C5. A read timestamp chosen by a range is taken over only by the first read in a
//	    snapshot (mayMove, noteRead); any other version of an uncertain time makes the
//	    transaction refresh what it has read, or the statement start again
//	    (settleUncertainty). None is met after Settle, until the next snapshot.
//	C6. A commit names the leadership under which each of its locks was granted
//	    (addLocks); after a commit that failed no other of the transaction can
//	    succeed where its locks were (abandon).
//	C7. A transaction that has ended holds no memory that is worth charging: its session
//	    may rest for long (finish, Buffer.Drop; TestBufferMemory).
//	C8. Where the present statement, a savepoint or a snapshot that was handed out may return
//	    to, or read below, is kept when writes are spilled (oldestKept, Cursor.History;
//	    TestSpilledHistories in kv). What was seen under locks that went with a spill counts as
//	    read when the writes are undone (spillRollback).
//	C9. A spill names the leaderships that granted the row locks which its durable locks replace,
//	    and fails if one was lost: others may have written the key since. Then no statement of
//	    the transaction is run again in it (spillChunks, replica's checkReplaced;
//	    TestSpillWithoutItsLocks in kv).
//
//	C10. What a transaction knows of a node's clock was read after its snapshot began, or after
//	     it had asked for it in order to begin (Meet, newSnapshot, observe; TestMeet).
//
//	C11. What is remembered of many reads reaches over no table that was not read, as long as
//	     there are fewer tables than maxCondensed: what a session writes beside its transaction,
//	     a sequence's value for one, is nothing that the transaction has read
//	     (ReadSet.condense; TestReadSetCovers).
//
//	C12. What is reserved protects nothing: all that was read is refreshed as without (Reserve).
//	     What was read apart is not; nothing that the part wrote is seen before the commit
//	     (ReadApart; TestFillInBlock in sql).
//
// Env's registry of active transactions has a mutex; a Txn has none.
package coord
