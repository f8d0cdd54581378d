// Package advisory holds the advisory locks of sessions.
//
// Above it is sql, whose sessions own a Locks each; below it kv and concurrency. Read
// locks.go (Locks), then claims.go (Manager, and what survives a leader).
//
// Advisory locks are row locks in a reserved part of the key space. A transaction of their
// own holds them, which lasts as long as the session has any. Row locks are lost with a
// leader that fails; in a cluster a holder therefore also writes a claim below the lock's
// key, and who gets the row lock looks whether another holder, who is still there, has a
// claim. A claim is deleted before its lock is released.
//
// A lock that is held exclusively and shared stays exclusive until both are given up.
//
// Invariants:
//
//	A1. A lock is granted to whoever holds its row lock and, in a cluster, finds no claim of
//	    another holder that may still be there; a claim is deleted before the row lock is
//	    released (acquire, release; TestAdvisoryClaims in sql).
//	A2. What a statement was granted is taken back before it is run again, what a transaction
//	    was granted when it ends (RetryStatement, EndTxn, RollbackTo; transactions/advisory.slt in sql).
//	A3. Cycles of waits through advisory locks are found: while a statement runs, or waits,
//	    the graph knows that the holder of the locks and the session's transaction wait for
//	    one another (EnterStatement, waitFor; TestAdvisoryDeadlocks in sql).
package advisory
