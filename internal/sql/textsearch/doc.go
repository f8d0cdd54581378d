// Package textsearch implements full-text search: documents as vectors of
// lexemes, queries over them, the reading of text into lexemes, matching,
// ranking and excerpts.
//
// Above it: types (the types tsvector and tsquery) and builtin (the functions).
// Below it: pgerr.
//
// Main types, in reading order: Vector (vector.go), Query (query.go,
// query_parse.go), Match (match.go), Config with its tokens and stems (config.go,
// tokens.go, stem.go; parse.go and kinds.go: what ts_parse and its like show), rank.go,
// headline.go.
//
// Invariants:
//
//  1. Vectors and queries print as text that reads back as the same
//     (FuzzVector, FuzzQuery).
//  2. No input makes a reader panic; queries nest MaxQueryDepth deep at most
//     (FuzzQuery, FuzzDecode).
//  3. A Vector is sorted by lexeme, its positions ascend (Normal, normalPositions).
//
// Concurrency: all values are immutable once made.
//
// It knows the configurations of PostgreSQL whose languages the Snowball library has a stemmer
// for; there are no dictionaries of the user's, and no thesaurus.
package textsearch
