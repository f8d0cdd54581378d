// Package mvcc keeps many versions of each key, ordered newest first by hybrid
// logical time, and reads the key space as it was at any moment since the
// collection threshold.
//
// Above it stand the replica's eval and apply; below it storage.
//
// Read value.go (what a version holds), get.go, newest.go (many keys), scan.go (Scanner and Scan),
// changed.go (the refresh of transactions), visible.go (reads that pass over the versions of
// some transactions) and gc.go. Reader does several reads on
// one state of the engine.
//
// Invariants
//
//  1. A read at t returns the newest version not newer than t, and nothing if
//     that is a tombstone or there is none. (TestModel)
//  2. A version that a read at or after the threshold can return is never
//     collected: a version is garbage only if a newer one is at or below the
//     threshold, and a tombstone at or below the threshold only together with
//     every older version of its key. (collector, TestModel)
//  3. ChangedSince never misses a version inside its interval; the filters it
//     uses skip only blocks without one. (TestModel)
//  4. Scans return keys in order, without tombstones, and a scan continued at
//     its resume key returns what one scan would have. (TestModel)
//
// A Reader, Scanner and ScanResult belong to one goroutine; the functions that
// take an engine are safe for concurrent use.
//
// The package knows no transactions and no locks: it neither decides whether a
// write is allowed nor checks reads against the threshold.
package mvcc
