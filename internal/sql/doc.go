// Package sql executes the statements of sessions.
//
// A statement goes down a line. Each of its parts calls those below it and none above:
//
//	connection   pgwire, the shell's loopback: reads messages, implements Results
//	  │  Query, Prepare, Bind, Execute, Sync, Cancel
//	session      Session: simple queries, the extended protocol, pipelines, and what a connection asks
//	  │          between statements
//	statement    execution: plans and runs one statement, again after a conflict while nothing
//	  │          of it was sent, and sends its rows (exec, ddl, explain, ranges, copyio)
//	executor     executor: what the statements of a session share, each part with a state of its own: whose session
//	  │          it is (identity.Session), parameters (sessionvar.Vars), prepared statements, plans and portals
//	  │          (prepared, portal), what plans run with (evaluator), what is noted of statements (recorder, auditor)
//	transaction  transaction.Transaction: block, savepoints, modes, commit, and what ends with it
//	  │          (deferral.Constraints, stats.InTxn, advisory.Locks)
//	  │
//	kv           kv.Txn
//
// What goes up are interfaces that the part below defines and says nothing else with: Results
// takes rows to the connection, transaction.Callbacks tell what the session keeps how its transaction
// ends, prepared.Session tells a planner what its session knows of statistics, routine.Host runs the statements of routines.
//
// Read in this order:
//
//	server.go             Server, what sessions share
//	session.go            Session
//	query.go              Query, Sync: the simple protocol; batch.go: several statements of one simple query
//	prepare.go            the extended protocol; portal.go: its portals
//	executor.go           executor
//	execute.go            execution: one statement, until it succeeds or fails for good
//	evaluator.go          evaluator
//	reserve.go            what an execution reserves after a conflict
//	txncontrol.go         BEGIN, COMMIT and the like
//	txncallbacks.go       what a transaction's course means to the session
//	statistics.go         recorder
//	auditor.go            auditor
//
// Then there is a file per kind of statement:
//
//	sessionstmt.go        those that act on the session alone
//	cursor.go, copy.go, explain.go, analyze.go, ddl.go
//	statementjob.go       statements that are jobs; takeover.go: those of nodes that died
//	showrows.go           SHOW: which package answers it
//
// callsession.go and callsessionquery.go answer what SQL functions ask of the session, routinehost.go what routines ask.
// report.go and cancel.go ask other nodes what goes on there.
//
// Invariants:
//
//	Q1. A statement that writes or locks sends nothing before it, and the implicit transaction
//	    that ends with it, is complete, so that it can be run again after a conflict (runHeld).
//	Q2. In a failed block only statements that end it run (execution.execute,
//	    Session.plan, Session.Bind, Session.Execute).
//	Q3. A statement that takes long reserves the tables at which it has failed before it is run
//	    again, for a time in proportion to its own (reservation; TestReserveAhead).
//	Q4. Of several statements in one simple query those that share a transaction that began there are
//	    run again together, from the first, if all only read and write rows and nothing of their
//	    results was sent (batch.again; TestBatchRunsAgain).
//	Q5. A session that is alone never sees 40001: nothing that it writes beside its transaction, a
//	    sequence's values for one, is something that the transaction has read (coord's C11;
//	    TestLogic/blocks runs all scripts in serializable blocks, transactions/lonesession.slt).
//	Q6. Statistics are no part of a transaction: what ANALYZE collects in one serves it and is
//	    stored after its commit, and rows count as changed from then on. So no session meets a
//	    conflict over them (stats.InTxn; TestStatisticsInTransactions).
//	Q7. A statement looks after a bounded number of steps, from the parse on, whether it goes on
//	    (executor.parse, call.Context.Step; TestCancelChecks, layers' TestElementLoopsStep).
//
// One goroutine at a time uses a Session. Server.cancelHere, and Terminate, OnInterrupt and Activity of a Session,
// come from others and touch only atomics and activity.Current, which has a mutex. The maps of Server have a mutex.
package sql
