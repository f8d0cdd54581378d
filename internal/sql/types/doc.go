// Package types defines SQL types and values with PostgreSQL 15's semantics:
// their names and modifiers, what a value holds, the order of values, and the arithmetic of
// decimals.
//
// Below it are pgerr, must and the languages of some types, jsonpath and
// textsearch; everything that touches a SQL value is above: builtin (operators
// and functions), rowcodec (storage), planner, exec and pgwire.
//
// Main types, in reading order: T (type.go), Datum (datum.go; decimal.go, interval.go, array.go,
// json.go and others say what it holds for a family), FormatContext (context.go). Then Compare and
// AppendHashKey (compare.go), AppendEncoded (encode.go), ApplyTypmod (typmod_apply.go) and the
// arithmetic of decimals (decimal_math.go). Def (def.go) is what a user-defined type adds to a T. There is a file per family
// of types, and per fact about all of them (typmod.go, limits.go, opclass.go, …).
//
// What is done with values has packages of its own: datetime (calendar, zones, dates and intervals),
// typeio (text and binary forms), casts.
//
// Invariants:
//
//  1. Datums that Compare finds equal have equal hash keys, and only those
//     (TestCompareAndHash in typetest).
//  2. A value has one form where that can be: a decimal that fits an int64 is
//     never stored long (NewDecimalBig, NewDecimalInt), jsonb text is
//     normalised (ParseJSON), an empty array has no dimensions (NewArrayDims).
//  3. No encoded value, of whatever content, makes a reader panic (FuzzDecodeEncoded in typetest).
//  4. Results are PostgreSQL's: typetest/testdata/golden holds what a PostgreSQL 15
//     printed (TestGolden in typetest).
//
// Concurrency: types and datums are immutable and may be shared; a
// FormatContext belongs to one session; a ZoneCache is safe for all.
//
// It does not evaluate expressions, resolve overloaded operators, look up
// user-defined types (a T carries its definition; domains are their base type
// here), or know collations other than C.UTF-8.
package types
