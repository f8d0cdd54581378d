// Package rowcodec turns rows into key-value pairs and back, for the primary
// and the secondary indexes of a table.
//
// Above it: exec (operators, the table writer) and everything that reads or
// writes rows. Below it: keys (where an index lives), catalog (descriptors),
// types (values and their self-describing form). The format is described in
// docs/formats/rows.md.
//
// Main types in reading order: Index (a compiled index: its key columns and
// what its values hold), Decoder (entry to row for a chosen set of columns),
// directory.go (where the columns of a value are), VectorDecoder (vectordecoder.go: entries to vectors;
// vectorqueue.go: many of them, column by column),
// ordered.go, ordered_composed.go and ordered_decode.go (values whose bytes sort as the values do),
// hash.go (buckets), prefix.go (what keys of an index begin with), reference.go (keys of two
// tables compared), family.go (rows of several pairs), check.go (rows that could not be read again), pretty.go
// (keys as text).
//
// Lifetime: a Decoder makes strings that share memory with the key and value
// given to Decode, or with the decoder's arena. They stay intact as long as
// those buffers are: until the caller reuses them, and until Decoder.Reset.
// Whoever keeps a row longer copies it.
//
// Invariants:
//
//  1. bytes.Compare on two keys of an index orders as the index's columns do:
//     direction, NULL placement and the types' btree order
//     (TestOrderMatchesCompare).
//  2. Decoding what was encoded gives the same row, in every index and for every
//     subset of its columns (TestRoundTrip).
//  3. Arbitrary bytes never make Decode panic: they decode or yield XX001
//     (FuzzDecode), nor PrettyKey (FuzzPrettyKey).
//  4. Decode allocates nothing once the arena has grown (TestDecodeAllocs).
//  5. Two rows have equal unique-index keys only if their key columns are equal
//     and none is NULL (TestUniqueKeysWithNulls).
//  6. A row with several families has a pair of family 0, and of each other one exactly
//     if a column of it is not NULL, or was not before it was dropped (TestFamilies,
//     TestLostColumns).
//  7. ReadFamilies names what is needed to see the columns, and that there is such a row
//     (TestFamilies).
//  8. The keys of a row's pairs are alike but for the last byte, that of the first one is
//     0, and no other row's key lies between them (TestFamilyKeys).
//
// Concurrency: an Index is immutable and may be shared; a Decoder belongs to one
// goroutine.
//
// It does not: read or write the key-value store, check constraints, or know
// expressions.
package rowcodec
