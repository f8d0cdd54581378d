// Package sql is the life of sessions and statements: a statement is parsed,
// planned, optimised and executed, in a transaction that the session keeps, and
// run again after a conflict while nothing of it was sent.
//
// Above it are the fronts, which implement Results and call Session; below it
// parser, planner, optimizer, exec, ddl, catalog and kv.
//
// Read server.go (Server, what sessions share), session.go (Session), query.go
// (Query, Bind, Execute, Sync: what fronts call), batch.go (several statements of one
// simple query), execute.go (execution: one
// statement on its way), reserve.go (what it reserves after a conflict), txncontrol.go (BEGIN, COMMIT and the like) and followers.go (what follows the transaction of package transaction), prepare.go (what package prepared keeps), then a file per kind of
// statement: sessionstmt.go and set.go (what acts on the session alone), copy.go, portal.go (portals, those that DECLARE makes too), cursor.go, explain.go, analyze.go, ddl.go, rows.go (what ranges and clustersetting answer).
// report.go (what goes on at all nodes: sessions, locks,
// waits) and cancel.go ask other nodes' servers through Nodes; contents.go has what a transaction adds to the statistics
// of tables, sessionlocks.go what connects advisory locks with sessions, txnids.go the numbers of transactions and what snapshots see of them.
//
// Invariants:
//
//	Q1. A statement that writes or locks sends nothing before it, and the
//	    implicit transaction that ends with it, is complete (runHeld); so it can
//	    be run again after a conflict.
//	Q3. In a failed block only statements that end it run (execution.run,
//	    plan, Bind).
//
//	Q7. A statement that takes long reserves the tables at which it has failed before it is run again,
//	    for a time in proportion to its own (ahead; TestReserveAhead).
//	Q8. Of several statements in one simple query those that share an implicit transaction are
//	    run again together, from the first, if all only read and write rows and nothing of their
//	    results was sent (batch.again; TestBatchRunsAgain).
//	Q10. A session that is alone never sees 40001: nothing that it writes beside its transaction,
//	    a sequence's values for one, is something that the transaction has read (coord's C11;
//	    TestLogic/blocks runs all scripts in serializable blocks, transactions/lonesession.slt).
//	Q11. Statistics are no part of a transaction: what ANALYZE collects in one serves it and is
//	    stored after its commit, and rows count as changed from then on (contentsCommitted;
//	    TestStatisticsInTransactions). So a session meets no conflict over them.
//	Q15. A statement looks whether it goes on after a bounded number of steps, from the parse on
//	    (Session.parse, builtin.Context.Step; TestLooks, layers' TestElementLoopsStep).
//
// A Session is used by one goroutine at a time; Cancel, Terminate and Activity
// come from others and touch only what mu guards and atomics. Server's maps have a mutex.
package sql
