// Package deparse prints expressions and queries that the catalog holds as text the way
// PostgreSQL prints what it has stored: with every name and type as it was understood,
// implicit casts written out where PostgreSQL shows them, IN and BETWEEN as the
// operators that they stand for, stars expanded, and its line breaks and indentation.
// Tools compare these texts.
//
// Above it: pgcatalog, ddl. Below it: planner, which says how the names and types of a text
// are understood (planner.Notes), builtin, ast, types.
//
// Reading order: Env and what it offers (deparse.go); expressions: node.go (what is
// printed), resolve.go, resolvecast.go, resolveop.go, ownoperator.go, resolvecall.go (syntax trees to nodes), print.go,
// printcall.go, simple.go (where parentheses may be left out); queries: query.go, sorting.go,
// from.go, names.go, using.go.
//
// Invariant: what is printed reads back as what it was (Env.readsBack, Env.Expr). Texts that cannot be
// understood any more are errors; the caller then has the stored text.
//
// It does not: look anything up, or choose what is printed where.
package deparse
