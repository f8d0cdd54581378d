// Package transaction is the transaction of a session: implicit or a block, with its savepoints
// and modes, around a transaction of kv.
//
// sql's statements call it, to open a transaction, to begin a statement in it, and to end it. It
// calls kv, and tells the Callbacks of the session what happens:
//
//	       Ensure, Start, BeginBlock
//	none ─────────────────────────────▶ open ──Commit──▶ committed ──End──▶ none
//	 ▲                                  │  ▲
//	 │ Rollback               Fail,     │  │ RollbackTo a savepoint
//	 │                        in a block▼  │
//	 └───────────────────────────────── failed
//
// Outside a block Fail rolls back at once. A failed block without savepoints is undone at once,
// and stays until the client ends it.
//
// Read transaction.go (Transaction, Callbacks), savepoint.go, modes.go, snapshot.go, asof.go.
//
// Invariants:
//
//  1. Callbacks are notified of each transaction: Began; then Committed, or Undone; then Ended
//     (Start, Commit, Rollback, undo, End).
//  2. The locks of a failed block without savepoints are released at once (undo;
//     TestFailedBlockReleasesLocks in sql).
//  3. What RollbackTo returns to is all that Savepoint has kept: of kv, of modes, of the callbacks
//     (advisory.slt and isolation.slt in sql).
package transaction
