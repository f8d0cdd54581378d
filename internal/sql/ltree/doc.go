// Package ltree is the values of PostgreSQL's extension of that name: paths of labels in a tree, and the two kinds of queries for them.
//
// A path is kept as its text, labels with dots between; since every character of a label is above the dot, the bytes of two texts
// order as their labels do one after the other. Parse checks it, and reads the queries: Pattern (lquery), a path with wildcards, and
// TextQuery (ltxtquery), a condition on words.
//
//	text ─▶ Check, ParsePattern, ParseTextQuery ─▶ text in its normal form
//	paths ─▶ Compare, Ancestor, Concat, Subpath, Index, Common
//	Pattern.Matches, TextQuery.Matches
//
// Read path.go, pattern.go, textquery.go.
//
// Invariants:
//
//  1. What is read of a text and printed is read as the same (TestRoundTrip).
//  2. Comparing the bytes of paths orders them as Compare does (TestOrder).
//  3. The time of Pattern.Matches is bounded by the product of the lengths of path and pattern (level.advance, Pattern.MatchSteps).
//
// It does not know SQL's types.
package ltree
