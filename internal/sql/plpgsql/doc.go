// Package plpgsql parses bodies of functions in PL/pgSQL.
//
// Above it is routine, which runs them. Expressions and statements in SQL stay text: whoever runs them
// has them parsed with the names of the variables at hand.
//
// Reading order: tree.go (Function and what it consists of), lexer.go (tokens), parser.go (Parse, blocks and
// declarations), control.go (control structures), statement.go (the other statements).
//
// Invariants:
//
//  1. Every text parses to a tree or a syntax error, and blocks nest no deeper than maxNesting (parser.enter; FuzzParse).
//  2. What an expression or a statement is as text reads as the source does, from its first to its last token (parser.slice;
//     TestParse).
//
// The package resolves no names and knows no types.
package plpgsql
