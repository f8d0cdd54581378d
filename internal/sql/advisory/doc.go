// Package advisory holds the advisory locks of sessions.
//
// Above it is sql, whose sessions own a Locks each; below it kv and concurrency. Read
// locks.go (Locks), then holders.go (Manager, and what survives a leader).
//
// Advisory locks are row locks in a reserved part of the key space. A transaction of their
// own holds them, which lasts as long as the session has any. Row locks are lost with a
// leader that fails; in a cluster a holder therefore also writes a record below the lock's
// key, and a session that gets the row lock reads whether another holder, which has not ended, has
// one. A record is deleted before its lock is released.
//
// A lock that is held exclusively and shared stays exclusive until both are given up.
//
// Invariants:
//
//	A1. A lock is granted to the session that holds its row lock and, in a cluster, finds no record
//	    of another holder that may not have ended; a record is deleted before the row lock is
//	    released (acquire, release; TestAdvisoryHolders in sql).
//	A2. What a statement was granted is taken back before it is run again, what a transaction
//	    was granted when it ends (RetryStatement, EndTxn, RollbackTo; transactions/advisory.slt in sql).
//	A3. Cycles of waits through advisory locks are found: while a statement runs, or waits,
//	    the graph knows that the holder of the locks and the session's transaction wait for
//	    one another (EnterStatement, waitFor; TestAdvisoryDeadlocks in sql).
package advisory
