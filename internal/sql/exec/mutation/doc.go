// Package mutation inserts, updates, deletes and merges rows, and does what these leave to the end of
// the statement: foreign keys, deferrable keys, referential actions, triggers.
//
// Above it: exec. Below it: scan (looking up rows that refer), tableaccess (writing), operator.
//
// Main types in reading order: dml (what the writing operators share), insertOp, updateOp, deleteOp,
// mergeOp, insteadOp (views whose triggers do the work), loading (many rows of an INSERT, load.go), early (triggers that fire for many rows at once), rowLocker (makes a row ready to be changed); Statement (what the operators of one statement
// share), firing and triggerBatch (triggers before and after the rows), keyWatch and keyBatch (foreign keys), uniqueWatch and uniqueBatch (deferrable keys), afterQueue
// with finder and referringOp (checks and actions).
//
//	operator ──wrote, gone──► keyBatch, uniqueBatch ──► afterQueue ──Statement.Finish──► check
//	                                                     ▲                              postpone (CheckDeferred)
//	                                                     └── referential action ◄────── act
//
// Invariants:
//
//  1. What a statement leaves to its end is done before its last row is handed out
//     (Statement.Finish), or at the commit if it was deferred (CheckDeferred). A referential action
//     leaves it to the statement that caused it.
//
//  2. A key that a row refers to is held with a key-share lock in the referenced index
//     (afterQueue.verify). A key that goes was locked for update before anybody looks for rows that
//     refer to it, so of two transactions on both sides one waits for the other.
//
//  3. A row that moved away before it was locked is looked for again (referredKeys.missed; sql's
//     TestReferringRowMoves).
//
//  4. A deferrable key has been verified under the lock on its unique key, which is held until the
//     transaction ends (uniqueBatch.process; sql's TestDeferrableUnderConcurrency and
//     TestDeferrableWaits).
//
//  5. A row that was read without a lock is locked before it is changed; if it changed since, the
//     statement starts over (rowLocker.take).
//
//  6. Rows that are loaded (loading) are the rows that would have been inserted, and the first error is the same: what
//     rows before it have to say comes before the error of a row (loading.failed; sql's TestCopyDuplicates,
//     TestOthersDuringLoad).
//
//  7. Every row that is written fires the triggers of its table, whatever path it takes: the paths that do not look at each
//     row (loading, blind UPSERT) leave tables with triggers alone (insertOp.mayLoad, CompileInsert; sql's
//     TestTriggersOnFastPaths, TestTriggersWithManyRows), but for triggers before rows that do nothing but compute. These alone fire
//     before the rows ahead of theirs are stored (early; triggers/early.slt and TestComputingTriggersWithManyRows in sql). What triggers before a row change is checked as what
//     the statement itself assigns: plans with such triggers watch all columns.
//
//  8. What a trigger or a function changes within a statement is not overwritten by it (rowLocker.unchangedWithin,
//     tableaccess.SeenWithin; triggers/within.slt in sql).
//
// Concurrency: an operator and its Statement belong to one goroutine.
package mutation
