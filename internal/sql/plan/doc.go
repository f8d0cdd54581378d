// Package plan defines statement plans as data: typed scalar expressions,
// relational operators, data-modifying operators and wrappers for statements
// that are executed from their syntax tree.
//
// Above it: planner builds plans, optimizer rewrites them, exec runs them, and
// EXPLAIN prints them. Below it: builtin (what calls mean), catalog
// (descriptors), ast (wrapped statements), types.
//
// Reading order: Column and ColID (column.go), Expr (expr.go, subquery.go),
// Node and Base (node.go), Scan and Span (scan.go), Join (join.go), the other
// operators (relational.go), Insert, Update, Delete (dml.go) with merge.go, derived.go (what a table
// computes of its rows), foreignkey.go and trigger.go, the statement
// wrappers and Prepared (statement.go), the visitor of their parts (visit.go, walk.go), tools over it
// (copyexpr.go, equal.go, implies.go, shape.go, volatile.go,
// rename.go, clone.go, verify.go), and EXPLAIN's text (explain.go, explaintree.go, describe.go,
// format.go).
//
// Columns have identifiers that are unique in a whole plan. An operator's
// Base.Cols lists what it produces, in order; an expression names its inputs
// by ColRef. The executor turns identifiers into positions. An identifier that
// none of an operator's inputs produces is an outer reference: it belongs to
// the row for which an enclosing apply join or Subquery is being evaluated.
//
// Invariants:
//
//  1. Every ColRef in an operator's expressions is produced by one of its
//     inputs (or, for DML, is one of its row columns), or is listed as outer by
//     an enclosing Subquery or apply Join (Verify).
//  2. No two columns that are visible in one place share an identifier, unless
//     they are the same value (Verify).
//  3. Expressions passed where a condition is expected have type bool (Verify).
//  4. Rewriting never changes a node in place once it is part of a Prepared:
//     prepared plans are shared between goroutines (documented at Prepared).
//
// Concurrency: plans are immutable once prepared.
//
// It does not: resolve names, check types, choose plans or run them.
package plan
