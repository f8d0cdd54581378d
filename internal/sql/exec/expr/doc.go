// Package expr compiles the expressions of plans to closures over rows.
//
// Above it: the operators (exec and its other packages) and whatever computes what a table
// derives from its rows. Below it: plan, builtin (what calls compute), types.
//
// Main types in reading order: State (what expressions work with during one execution),
// Compiler (a plan.Expr and the Scope of its row to a Func or a Pred; one file per family of
// expressions), DatumSet (the right side of IN over many values).
//
// A closure is compiled once for a prepared statement and called for each row of each execution:
// it refers to the State by its address, and keeps its buffers. Comparisons of common types and
// integer arithmetic are inlined into closures of their own (fast.go). The fields of a parameter that is a row are read where they
// stand if it was taken apart (State.Rows), as PL/pgSQL does with its variables. A query in an expression
// is compiled by the function that NewCompiler is given: this package knows no operators.
//
// Invariants:
//
//  1. A closure allocates nothing beyond what the functions that it calls do
//     (exec's TestPointAllocations).
//
//  2. Memory that grows with the number of values is reserved from State.Mem first
//     (DatumSet.Insert), and given back by what OnClose registered.
//
//  3. Every loop over values that calls no function of builtin calls State.Tick
//     (State.setOf, arraySet.of; exec's TestCancel).
//
//  4. What holds for one execution only is tagged with State.Epoch, which Bind counts
//     (arraySet.made).
//
// Concurrency: a Compiler, its State and its closures belong to one goroutine; plans are only read.
package expr
