// Package types defines SQL types and values with PostgreSQL 15's semantics:
// their names, text and binary forms, order, casts, and the arithmetic of
// decimals, dates, times and intervals.
//
// Below it are pgerr, must and the languages of some types, jsonpath and
// textsearch; everything that touches a SQL value is above: builtin (operators
// and functions), rowcodec (storage), planner, exec and pgwire.
//
// Main types, in reading order: T (type.go), Datum (datum.go, decimal.go,
// interval.go, array.go, json.go), FormatContext (context.go). Then ParseText
// and AppendText (text.go), ParseBinary and AppendBinary (binary_in.go,
// binary_out.go), Compare and AppendHashKey (compare.go), FindCast and
// ApplyTypmod (cast.go, typmod_apply.go), Extract, AddInterval and their kin
// (datetime_*.go). Def (def.go) is what a user-defined type adds to a T; the types
// with a payload of their own are in system.go, money.go, aclitem.go, bits.go, inet.go, range.go, multirange.go,
// record_text.go and textsearch.go.
//
// Invariants:
//
//  1. Datums that Compare finds equal have equal hash keys, and only those
//     (TestCompareAndHash).
//  2. A value has one form where that can be: a decimal that fits an int64 is
//     never stored long (newDecimalBig, NewDecimalInt), jsonb text is
//     normalised (ParseJSON), an empty array has no dimensions (NewArrayDims).
//  3. Text and binary forms read back as the same value (TestRoundTrip,
//     FuzzParseText, FuzzParseBinary).
//  4. No input, of whatever length or content, makes a parser panic, or
//     allocate more than a multiple of the input's length — a numeric's
//     exponent may ask for MaxDecimalDigits digits (FuzzParseText,
//     FuzzParseBinary, FuzzDecodeEncoded).
//  5. Results are PostgreSQL's: testdata/golden holds what a PostgreSQL 15
//     printed (TestGolden).
//
// Concurrency: types and datums are immutable and may be shared; a
// FormatContext belongs to one session; a ZoneCache is safe for all.
//
// It does not evaluate expressions, resolve overloaded operators, look up
// user-defined types (a T carries its definition; domains are their base type
// here), or know collations other than C.UTF-8.
package types
