// Package keys is the map of the key space: which keys exist, how they are put
// together and where they sort.
//
// Above it stand storage, the replica and SQL's row codec; below it encoding.
//
//	0x01  store-local   not replicated: identity of the store, bound of its clock
//	0x02  range-local   /range/kind: what a replica knows of its range
//	0x03  lock          /key: durable locks, in the order of the keys they lock
//	0x04  transaction   /anchor/id: records of transactions, beside their anchor
//	0x08  meta          /end key: addresses of the ranges
//	0x09  system        /name: settings, id generators, zone configurations (zone.go)
//	0x10  table data    /database/table/index/columns…/family
//
// Ids are 64-bit numbers in ordered variable length, so a small id is one byte
// and a database, a table and an index are each one span. Read keys.go, then
// Span, area.go (tables and regions), then zone.go, tablespace.go, advisory.go and notification.go (system keys), hash.go, order.go (keys compared by their first bytes), pretty.go (keys as text).
//
// Invariants
//
//  1. Two constructors never make the same key, and the keys of two ranges,
//     databases, tables or indexes never interleave. (TestRegionsDisjoint)
//  2. The system and table regions are one contiguous span, ReplicatedSpan; a
//     lock or transaction key belongs to the range of the key inside it.
//     (TestRegionsDisjoint, LockSpan, TxnRecordSpan)
//  3. Pretty and the Decode functions accept any bytes. (FuzzPretty)
//
// All functions are pure. The package does not know how columns are encoded.
package keys
