// Package exec compiles plans and runs them.
//
// Above it: the session (sql), ddl and whatever writes rows. Below it: plan (what
// it runs), rowcodec (rows and keys), kv (transactions), builtin (what calls
// compute), types, quota.
//
// Main types in reading order: Env and Txn (what an execution works with),
// Program (a compiled statement: Open, Next, Close), operator and Batch (how
// rows move; demand.go: how many at a time), compiler (plan nodes to operators, expressions to closures:
// expr*.go), scan.go with spans.go, join_index.go with lookup.go and lock.go
// (reading and locking; many keys and ranges go into one request), tokens.go with
// postings.go (inverted indexes), families.go with writepairs.go (rows of several pairs), writer.go
// (TableWriter, through which every row is written), insert.go, dml.go
// and merge.go, derive.go (what is computed from rows), claim.go (deferrable keys), foreignkey.go,
// afterqueue.go and referring.go (foreign keys), and one file per relational operator.
//
// A Program is compiled once for a prepared statement and run many times:
// operators keep their buffers, so that a point read or write allocates nothing
// here; large buffers rest in reuse.go between executions. Everything runs in the caller's goroutine: Next pulls batches of rows
// through the operators, and a portal that has enough rows simply does not call
// it again.
//
// Who owns the memory of a row: rows in a batch, and the bytes that their strings
// refer to (a page of a scan, an operator's scratch), live until the operator
// that filled the batch is asked for more. An operator that collects output
// rows over several batches of its input therefore returns what it has before
// it fetches the next one, and an operator that keeps rows copies them into a
// rowStore.
//
// Invariants:
//
//  1. Rows that an operator returns stay intact until it is asked for more
//     (the fakes in fake_test.go overwrite every buffer that they lend out).
//
//  2. All memory that grows with the number of rows is reserved from Env.Mem
//     first, and everything is given back at Close (the test harness checks after
//     every statement; TestMemoryLimit). A program that may still hold large values then is
//     not kept for another execution (Program.Reusable; pgwire's TestLargeValuesAreNotKept).
//
//  3. Every loop over rows calls kv, which looks at the context, or run.tick or
//     run.canceled (TestCancel).
//
//  4. A row is written only under a lock on its primary key, and a unique key is
//     taken only under a lock on it (TableWriter; rowClaim for rows read
//     without one).
//
//  5. A row that changed after the statement's snapshot is looked at again in
//     its newest version, with all conditions of the scan that found it, or the
//     statement fails with a retry error (rowLocker.recheck, rowClaim.take).
//
//  6. A point read or update allocates nothing (TestPointAllocations).
//
//  7. What a statement leaves to its end, checks of deferrable and of foreign keys and
//     referential actions, is done before its last row is handed out (Program.settle), or at the
//     commit if it was deferred (CheckDeferred). A key that a row refers to is held
//     with a key-share lock in the referenced index (afterQueue.verify); a key that
//     goes was locked for update before anybody looks for rows that refer to it, so
//     of two transactions on both sides one waits for the other; a row that moved away
//     before it was locked is looked for again (referredKeys.missed;
//     TestReferringRowMoves). A deferrable key has
//     been verified under the lock on its claim, which is held until the transaction
//     ends (claimBatch.process; TestDeferrableUnderConcurrency, TestDeferrableWaits).
//
//  8. Generated columns, expressions and predicates of indexes are computed in one
//     place, for all rows that are written (TableWriter.compute, Deriver).
//
//  9. A row whose columns are in several families is locked by the lock on its first pair,
//     the one of family 0: everybody who locks or writes another pair has taken that one
//     before, in at least the same strength, so that no one ever waits for another pair
//     (RowTxn.Lock). Under it the other pairs are locked too, which tells whether the row
//     changed, in whatever family. Operators see such a row as one entry
//     (RowTxn; TestRowPages).
//
//  10. No row is written that could not be read: each datum is of its column's type, and
//     fails with an internal error otherwise, whatever the statement was compiled from
//     (rowcodec.RowCheck, called by TableWriter.newKeys and Update, and by index builds;
//     TestWriteUnfit).
//
// Concurrency: a Program, and everything it consists of, belongs to one
// goroutine; plans are only read.
//
// It does not: plan, retry, map kv errors to SQLSTATEs, run DDL or utility
// statements, or spill to disk: a statement that needs more memory than its pool
// has fails with 53200.
package exec
