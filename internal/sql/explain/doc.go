// Package explain reads the options of EXPLAIN, decides whether a statement can be explained, runs
// it for ANALYZE, and prints what it finds.
//
// sql plans the statement, calls Parse, Check, Run and Rows, and sends the rows. Below are plan, whose
// trees it prints, and exec, which counts and measures what operators do. Read options.go (Options,
// Parse), check.go (what is refused), output.go (Times, Columns, Rows).
//
// Invariants:
//
//  1. Without ANALYZE nothing is executed; with it the rows of the statement go nowhere, and what
//     it writes stays (Options.Run; optimizer/explain.slt in sql).
//  2. A utility statement has no plan and is never run (Options.Run; TestUtilities).
//
// Options belong to one statement.
package explain
