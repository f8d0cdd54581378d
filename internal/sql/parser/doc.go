// Package parser turns SQL text into the trees of sql/ast. It reads the grammar
// of PostgreSQL 15 and, where PostgreSQL has a syntax error, forms of the
// CockroachDB and YugabyteDB dialects.
//
// Above it: the session (sql), the planner and catalog code that parse stored
// expressions. Below it: sql/ast and sql/pgerr.
//
// Reading order: parser.go (Parse, ParseOne, ParseExpr and the token stream),
// lexer.go with lexstring.go and keyword.go, statement.go (which statement is
// it), expr.go (precedence climbing) with match.go, exprprimary.go, parens.go,
// exprfunc.go and window.go, typename.go, select.go with with.go and from.go,
// dml.go, then one file per area of statements. refused.go describes the
// statements that are read and refused. extension.go lists the forms of the dialects.
//
// The parser is recursive descent with one token of lookahead; where
// PostgreSQL's grammar needs more, it looks ahead on a copy of the lexer.
// Errors are sticky: the first one is kept, the token stream then ends, and
// every function runs out on its own, so the code has no error returns.
//
// Invariants:
//
//  1. No input makes the parser panic or recurse deeper than MaxDepth calls of
//     an expression, query or join (parser.enter; checked by FuzzParse).
//  2. No tree is higher than MaxDepth (checked by parser.checkHeight, which only
//     runs when the number of nestings and chained operators allows more).
//  3. An error's position is the character where PostgreSQL 15 reports it, and
//     its text PostgreSQL's (checked by TestErrorPositions).
//  4. Without the forms of extension.go, accepting, SQLSTATE and position are
//     PostgreSQL's (checked by make oracle, and TestExtensions for the forms).
//  5. Printing a tree with ast.Format and parsing it again yields the same tree
//     (checked by TestFormatRoundTrip and FuzzParse).
//
// A statement that PostgreSQL has and ast does not model is read by a description
// of its grammar (refused.go, by ebnf.go) and becomes *ast.Unsupported.
//
// Functions are safe for concurrent use; a parser value lives in one call.
//
// The package does not resolve names, check types or look at settings: the session says
// how its string constants are read (Options); all else is read with
// standard_conforming_strings on.
package parser
