// Package jsonpath reads and prints the SQL/JSON path language: the text of
// values of type jsonpath.
//
// Above it: types (the type jsonpath) and builtin (which executes paths).
// Below it: pgerr.
//
// Main types, in reading order: Path and Node (jsonpath.go), Parse (parse.go,
// with the tokens of lex.go), Path.String (print.go).
//
// Invariants:
//
//  1. Printing a path and parsing it again gives the same text (FuzzParse).
//  2. No text makes Parse panic; nesting is bounded by MaxDepth (FuzzParse).
//
// Concurrency: paths are immutable and may be shared.
//
// It does not evaluate paths.
package jsonpath
