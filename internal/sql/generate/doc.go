// Package generate draws SQL from a grammar whose productions are typed: each may stand
// wherever one of its kind (expression of a type, relation, query of columns of types,
// statement) is asked for, to a depth.
//
// Above it: package metamorphic and test/differential, which run what it draws. Below it:
// nothing; it knows SQL, and no database.
//
// Reading order: generator.go (what is drawn, and how), scope.go (what an expression may use),
// the productions: expr.go with forms.go, rareforms.go and geoforms.go (operators and functions by type) and window.go,
// relation.go, query.go, statement.go, dml.go and ddl.go, routine.go, plpgsql.go and trigger.go (functions and
// procedures, their bodies, triggers and policies); schema.go and values.go (tables and
// constants), coverage.go (which nestings came up).
//
// What it draws has one answer: where SQL leaves an order open, a LIMIT, a window or an
// aggregate puts rows in a total order first, and values that are equal and look different
// (0 and 0.00) are seldom made.
//
// Invariants:
//
//  1. A seed gives the same SQL everywhere (TestSeed).
//  2. Every production is nested in every other that the grammar allows: Coverage lists those
//     that never came up, and rare ones are preferred (Generator.seldom; TestCoverage).
//
// Concurrency: a Generator belongs to one goroutine.
//
// It does not: run statements, judge answers, or read a database's catalog.
package generate
