// Package routine runs user-defined functions, procedures, the functions of triggers and DO blocks: bodies of SQL statements, and
// of PL/pgSQL, which plpgsql parses.
//
// A Runner belongs to a session. Calls of functions come from expressions, by way of call.Routines;
// sql calls procedures, and functions of triggers for the statements that fire these. The statements of a body are run by the Host, which the session is, each as
// a statement within the one that called.
//
//	expression ──CallRoutine──▶ Runner ──frame──▶ SQL statements, or Program of PL/pgSQL
//	                              │                    │ Run, Evaluate, Savepoint, …
//	                              ▼                    ▼
//	                            cache                 Host (sql.Session)
//
// Reading order: host.go (Host, what a statement in a body is), runner.go (Runner: the stack of calls, the
// cache of bodies), result.go (what a call returns), sqlbody.go (bodies in SQL), convert.go (assignment); then
// PL/pgSQL: program.go (a tree whose variables have slots), activation.go (what a run of one works with), variables.go, query.go (expressions and statements in SQL),
// source.go (where errors point to), stack.go (what runs, and who called), interpreter.go (control structures, handlers), loop.go, assign.go (parts of variables),
// actions.go (the other statements), callprocedure.go, cursor.go, event.go (functions of event triggers), trigger.go (functions of triggers: what they know, and what
// becomes of the row that they return), conditions.go (names of errors).
//
// Invariants:
//
//  1. Calls, those of triggers among them, nest no deeper than maxDepth (Runner.enter; routines/limits.slt and
//     triggers/limits.slt in sql).
//  2. A body is compiled once for a version of the descriptor, types of arguments and session (Runner.body).
//  3. An error of a body has a line of context for each call that it passed (withContext); conflicts,
//     which have the statement run again, pass as they are.
//  4. What an error of a statement of a body points to is that statement, never the client's (source.within,
//     TestErrorsInBodies in sql).
//  5. Statements of a SECURITY DEFINER routine run as its owner, those of others as their caller, however the routine ends
//     (Runner.execute, Host.AsOwner; privileges/functions.slt in sql). What was resolved for one role and search path
//     serves no other (Epoch).
//  6. A variable that is a row has one value, in whichever form: who changes one form gives up the other, and who reads a form has
//     it made first (frame.put, frame.pack; routines/rowforms.slt in sql).
//  7. The function of a trigger that is said to do nothing but compute neither runs statements in SQL nor calls what is volatile or defined
//     by users (Runner.Computes; triggers/early.slt in sql).
//
// One goroutine at a time uses a Runner.
package routine
