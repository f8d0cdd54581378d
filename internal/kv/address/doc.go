// Package address keeps the meta records true: the index of where ranges are.
//
// Above it: server, and the simulated cluster, whose nodes both have a Registry. Below it:
// kv, by which records are read and written as ordinary keys, and replica.
//
// Main type: [Registry]. Finding the first range (FindFirstRange) is where every
// address begins; Publish and Run write the records of the ranges that this node leads.
//
// Invariants:
//
//  1. A record is replaced only by that of a later generation, and none is written of a
//     range that a later one overlaps (write).
//  2. A record within the bounds of a later range goes when that range's own is
//     written (write).
//  3. A change that a leader has applied is written in the end: what fails is tried
//     again, and every led range is looked at once in a while (Registry.Run).
//  4. A replica that was removed while nobody could tell it so is found in the end: every
//     node compares its replicas with the records, so many a minute (Registry.audit). A record
//     never goes back, so whatever has a later generation than the replica knows is true.
//
// Concurrency: a Registry may be used from any goroutine. Run belongs to one.
//
// It does not tell anybody: who has a stale address learns it from the replica it asks.
package address
