// Package operator says what an operator of the executor is, how its consumer drives it, and what
// compiling and running one has at hand.
//
// Above it: the operators. Below it: rowcontainer, tableaccess, expr.
//
// Main types in reading order: Operator (Open, Next, Close), Source (an operator with the batch of its
// consumer), Env (what the session gives an execution), Run (the state of an execution), Compiler
// (gives the compile functions of operators those below them), RowBound, Deferred.
//
//	session ──Env──► exec.Program ──Open──► Run ◄── operators and closures, compiled against its address
//	                     │ Next                          ▲
//	                     ▼                               │ Source.Fetch, Source.Row
//	                  root Source ──Next(*Batch)──► Operator ──► Source ──► …
//
// Each kind of operator is compiled by a function of its package, from a Compiler and a node of the
// plan; it gets what is below it from Compiler.Input, so that no operator knows another one.
//
// Invariants:
//
//  1. Rows that an operator returns stay intact until it is asked for more (exec.fakeTxn
//     overwrites every buffer that it lends out). An operator that collects output rows
//     over several batches of its input therefore returns what it has before it fetches the next one.
//
//  2. Next is not called after the end, nor after Batch.Err (Source.Fetch).
//
//  3. What a volatile function does happens only for rows that somebody reads: the sources below a
//     consumer that may stop yield single rows (Compiler.Partly).
//
// Concurrency: everything of a program belongs to one goroutine.
package operator
