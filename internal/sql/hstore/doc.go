// Package hstore is the value of PostgreSQL's type of that name: a map from texts to texts, or to NULL.
//
// A value is kept as a string in one form: the number of pairs, then each key and value with its length before
// it, in PostgreSQL's order (shorter keys first, then by bytes). Build makes it, All reads it; Parse and AppendText,
// Decode and AppendBinary are the text and binary forms; Compare and AppendSortKey its order; the other functions
// are what operators do.
//
// Invariants:
//
//  1. Equal maps have equal strings (Build).
//  2. All and what uses it take any string for which Valid holds; Valid takes any string (FuzzValid).
//  3. bytes.Compare on sort keys orders as Compare does (TestSortKey).
//
// It does not know SQL's types.
package hstore
