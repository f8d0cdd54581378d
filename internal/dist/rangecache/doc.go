// Package rangecache is what a gateway believes about where ranges are: their
// descriptors, in the order of their keys, and who led them last.
//
// Above it is dist, which corrects it by what the ranges answer; below it only
// kvpb, and a Lookup function that reads addresses when none is known. Read
// Entry, Cache.Find, Cache.Insert.
//
// What is cached may be stale: a stale entry costs a detour, never a wrong
// answer, because every replica checks what it is asked for.
//
// Invariants:
//
//	G1. Entries never overlap and are sorted by key. (Cache.insertLocked,
//	    TestModel)
//	G2. A descriptor never replaces one of the same range with a higher
//	    generation, nor any that it overlaps. (Cache.insertLocked)
//	G3. There are at most maxEntries entries, and at most one lookup per key runs
//	    at a time. (Cache.insertLocked, Cache.lookupOnce)
//
// Find and Cached take no lock: they read an immutable snapshot, which writers
// replace under a mutex. Descriptors must not be modified after Insert. The
// package does not send requests and does not know which node it runs on.
package rangecache
