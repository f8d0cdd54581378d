// Package ast is the syntax tree of SQL: plain data that the parser fills and
// the planner, the catalog and the session read.
//
// Above it: sql/parser, which is the only producer, and every SQL layer as
// consumer. Below it: nothing of Lichen.
//
// Reading order: ast.go (the interfaces and Loc), name.go (identifiers and
// qualified names), typename.go, expr.go and exprfunc.go, select.go and from.go,
// dml.go, then the statements by area (table.go, altertable.go, ddl.go,
// merge.go, session.go, show.go, ranges.go, copy.go, role.go, routine.go, aggregate.go, operator.go, policy.go, trigger.go, statistics.go, eventtrigger.go, utility.go), literal.go,
// position.go, quote.go, tag.go (command tags) and eventtag.go (for which event triggers fire), walk.go
// (visiting), keyword.go (PostgreSQL's keyword classes) and format*.go (back to
// SQL text).
//
// Nothing in the tree is resolved: names are not looked up, types have no
// modifiers checked, literals have no type beyond what they were written as.
//
// Invariants:
//
//  1. Names are case-folded and truncated already; printing one goes through
//     QuoteIdent (checked by TestFormatRoundTrip in parser).
//  2. For every statement s the parser yields, parsing Format(s) yields a tree
//     equal to s, positions aside (checked by parser.TestFormatRoundTrip and
//     parser.FuzzParse).
//  3. Loc.Pos counts characters, not bytes, of the text given to the parser,
//     from 1; 0 means unknown (checked by parser.TestErrorPositions).
//  4. A tree from the parser is at most parser.MaxDepth high, so recursive
//     functions over it need no check of their own (checked by
//     parser.checkHeight).
//
// A tree is immutable after parsing and may be shared between goroutines.
//
// The package does not resolve, type or simplify anything.
package ast
