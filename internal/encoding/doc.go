// Package encoding turns values into bytes and back: ordered forms, in which
// the order of the bytes is the order of the values, for keys, and short plain
// forms for everything else.
//
// Above it stand keys, the row codec of SQL and every stored structure; below
// it only the decimal type.
//
// Every ordered form comes in two: ascending and, with Desc in its name,
// descending, which is the same bytes inverted. Read ints.go first, then
// bytes.go and decimal.go.
//
// Invariants
//
//  1. For values a and b of one type, a < b exactly if enc(a) < enc(b), and
//     a = b exactly if the encodings are equal; no encoding is a proper prefix
//     of another, so values can be concatenated. (TestOrder)
//  2. A decoder accepts exactly what its encoder writes: a second spelling of a
//     value would be a second key for one row. (TestCanonical, the fuzz targets)
//  3. Decoders return an error for any other bytes and never panic or allocate
//     more than a small multiple of their input. (the fuzz targets)
//
// All functions are pure. The package knows no column types and no rows, and
// where NULL sorts is for the caller to choose with the markers.
package encoding
