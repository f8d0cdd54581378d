// Package planner turns a syntax tree into a plan: it resolves names against
// the catalog, checks and completes types, and produces the canonical plan of
// the statement, without choosing indexes, join orders or algorithms.
//
// Above it: optimizer, which rewrites the plan, and the session. Below it:
// plan (what it produces), catalog (Resolver), builtin (overloads), parser (for
// expressions and views that descriptors hold as text), ast, types, pgerr.
//
// Reading order: Env and Plan (planner.go), builder (builder.go), scope
// (scope.go, lookup.go), the FROM clause (from.go, join.go, fromfunc.go,
// tablesample.go), queries (select.go, target.go, group.go, groupingsets.go,
// outeragg.go, order.go, setop.go, values.go, window.go, frame.go, lock.go), WITH
// (cte.go, recursion.go, searchcycle.go), expressions (expr.go, coerce.go, then a file per form: call.go,
// subquery.go, ops.go, …), and
// data modification (insert.go, conflict.go, update.go, merge.go; foreignkey.go and
// derived.go for what tables demand of their rows, immutable.go; viewtarget.go and simpleview.go for
// views through which rows are changed; rowsecurity.go for policies).
//
// It is one package: a query has expressions, an expression has subqueries, and a statement in WITH
// changes rows, so that 4,400 lines call each other in one circle, of select.go, expr.go, from.go,
// insert.go, window.go and most others. What does not call back are the rules that they share, and
// those work on the same builder: parameters, notes, columns, scopes. A line between names and types
// below and queries above would run through every file, and through the builder.
//
// Plans are canonical: each table is a Scan of its primary index, conditions
// are Filters, joins keep the order they were written in with LoopJoin or
// ApplyJoin. They are correct to execute as they are.
//
// Invariants:
//
//  1. Every expression in a finished plan has a concrete type: no
//     types.Unknown is left but in the columns of a query whose consumer will
//     coerce them (finishTargets, coerce).
//  2. Every parameter has a type or planning fails with 42P18
//     (builder.finishParams).
//  3. Nesting of queries and views is bounded by maxQueryDepth
//     (builder.enterQuery).
//  4. Every descriptor that was looked at is in plan.Prepared.Deps
//     (builder.noteTable), but schemas: a change of one changes what is in it.
//  5. The columns of a subquery, view or WITH query have identifiers of their own each,
//     though they may hold the same value (builder.separate; queries/samevalues.slt).
//  6. Every query between a WITH query and a reference to it lists what the WITH query
//     depends on among its outer columns (scope.useCTE; queries/samevalues.slt).
//  7. The query of a view finds only columns that its relations had when it was stored
//     (item.hideLater; views/meaning.slt).
//  8. Each scan of a table with row-level security stands below a barrier with the conditions of the policies for who
//     reads it, and each node that writes such a table has them as checks (builder.guards; rowsecurity/matrix.slt). The
//     exceptions are foreign keys and what DDL rewrites.
//
// Concurrency: a builder belongs to one goroutine; Plan may be called from
// many.
//
// It does not: execute, fold or optimise anything, check privileges, or
// interpret DDL and session statements (it wraps them).
package planner
