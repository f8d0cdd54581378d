// Package collation knows the orders of languages: for a locale it computes the keys by
// which strings sort, and changes their case as the language does.
//
// Above it: builtin (the functions that comparisons under a collation become) and ddl
// (which locales there are). Below it: golang.org/x/text, whose tables are CLDR's.
//
// Invariants:
//
//  1. Comparing two keys of one locale by bytes orders as the locale does; with ties
//     broken, different strings have different keys (Rules.Key, TestKeys).
//  2. A key depends on nothing but locale and string: indexes hold keys (Rules.Key; TestStableKeys).
//  3. A key that is made in pieces is the key (Rules.LongKey; TestLongKeys).
//
// Concurrency: Rules may be used by many goroutines.
//
// It does not: know names or objects of collations (types, catalog), or which one an
// expression has (planner).
package collation
