// Package inverted holds what inverted (GIN) indexes are made of: how a value is
// taken apart into tokens, which tokens a condition asks for, and the keys of
// entries.
//
// Above it: exec (writes entries, reads through them), optimizer (which conditions
// an index answers), ddl, pgcatalog. Below it: rowcodec (forms of keys), catalog,
// trigram, textsearch, types. The format is described in docs/formats/rows.md.
//
// Reading order: Class (class.go: the operator classes), Formula (formula.go), the
// classes (jsonb.go, array.go, intquery.go, hstore.go, text.go), Index (index.go: entries).
//
// Invariants:
//
//  1. If a condition is true of a value, the value's tokens satisfy the formula of
//     the condition (TestJSONFormulas, TestArrayFormulas,
//     TestTextFormulas, TestVectorFormulas, TestHstoreFormulas). The reverse need not hold: whoever reads through
//     an index checks the condition again.
//  2. A value that is not NULL and for which some formula without tokens could be
//     true has a token (an empty array has one).
//  3. Tokens are at most maxToken bytes and the marker (tokenOf).
//
// Concurrency: everything is immutable.
//
// It does not: evaluate conditions, or read and write.
package inverted
