// Package encoding turns numbers and byte strings into bytes and back: ordered
// forms, in which the order of the bytes is the order of the values, for keys
// (ordered.go), and short plain forms for messages and records (plain.go), which
// a Reader takes apart.
//
// Above it stand keys and every stored or sent structure; the columns of SQL have
// forms of their own (sql/rowcodec, sql/types).
//
// Invariants
//
//  1. For values a and b of one type, a < b exactly if ordered(a) < ordered(b), and
//     a = b exactly if the encodings are equal; no ordered encoding is a proper
//     prefix of another, so values can be concatenated. (TestOrder)
//  2. A decoder of an ordered form accepts exactly what its encoder writes: a second
//     spelling of a value would be a second key for one row. (TestCanonical, FuzzDecode)
//  3. Decoders return an error for any other bytes and never panic or allocate
//     more than a small multiple of their input. (FuzzDecode, FuzzReader)
package encoding
