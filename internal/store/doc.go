// Package store holds all replicas of one disk: it opens the engine and the
// log, finds the replicas in them, runs the background work they share, and
// closes everything in order.
//
// Above it dist routes requests to it; below it are replica, raftlog and
// storage. Read store.go (Store: Open, Start, Close, Lookup), bootstrap.go (what
// an empty store gets), maintain.go (truncation of the log, garbage collection,
// disk checks, the clock's bound).
//
// Invariants:
//
//	S1. The log is truncated only below the durable applied index, read from the
//	    engine after a flush completed (truncateLog).
//	S2. A store is bootstrapped completely or not at all: the first range's log is
//	    durable before its descriptor, which makes it exist (bootstrap).
//	S3. The clock hands out no time past a bound that the log holds durably
//	    (persistClock).
//
// One goroutine, maintain, does all periodic work; it sleeps while the store is
// idle. Open and Close are not safe for concurrent use, all else is.
package store
