// Package metamorphic finds wrong answers without another database to compare with: it runs
// statements whose answers must relate to each other, whatever the rows are.
//
// The relations are the field's: ternary logic partitioning, the non-optimizing reference
// engine and pivoted query synthesis (Rigger and Su), and equivalent statements: a query
// through a WITH, a view, a cursor, a prepared statement or a table that holds its rows,
// without an index or a rule of the optimizer, a view before and after changes of what it reads, IN as EXISTS as a join, what UPDATE and DELETE
// return against what SELECT says.
//
// Above it: tests of package sql, with planted bugs, and test/differential. Below it: package
// generate, which draws the parts of the statements.
//
// Reading order: checker.go (Checker, what a finding is), partition.go (ternary logic
// partitioning, the reference engine), pivot.go, equivalent.go (queries), join.go (IN, EXISTS,
// joins), view.go (views over changes), change.go (statements that write), session.go (cursors, prepared statements,
// sequences).
//
// Invariants:
//
//  1. On a database without bugs nothing is found (TestMetamorphic of package sql), and each
//     planted bug of SQL is (TestPlants in sql).
//  2. A check leaves the database as it found it: what writes runs in a transaction that is
//     rolled back (Checker.begin, end).
//
// Concurrency: a Checker belongs to one goroutine.
package metamorphic
