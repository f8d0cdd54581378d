// Package processor owns the feeds of one replica: their readers, their buffers, and the iterators over
// the state in which each of them began. Package rangefeed decides what a feed delivers.
//
// Above it is replica, which implements Host and calls the processor for every entry that it applies.
// Below it are rangefeed, apply (what an entry contains) and storage.
//
//	reader            Processor                             replica
//	  │── Feed(0) ──▶ begin ──────── BetweenEntries ───────▶ the state between two entries: an iterator
//	  │◀─ versions ── catchUp
//	  │                          BeginEntry, Took, Stage ◀── an entry is applied
//	  │                                          Publish ◀── its effects are visible
//	  │── Feed(id) ─▶ await ──────── BetweenEntries ───────▶ closed timestamp, intents
//	  │◀─ events, resolved
//
// Invariants:
//
//  1. A feed begins between two entries. Every commit above its start is either in the engine's state at
//     that moment or in a later entry. (begin, Stage)
//  2. The resolved timestamp is computed while nothing is applied, and delivered after all events that are
//     buffered then. (resolve, take)
//  3. A feed that cannot deliver everything ends, and its reader begins another: it fell behind, an
//     intent's outcome is not in the entry, the bounds of the range changed. (Publish, endUnlocked, End)
//     A request for a prompt feed fails when the replica leads no more. (closed)
//  4. No feed reads the engine after Stop has returned. (Stop, drop)
//
// Concurrency: BeginEntry, Took, Stage and Publish belong to the goroutine that applies entries. Everything
// else may be called from any goroutine. The mutex is a leaf, held for memory operations and the creation
// of an iterator.
package processor
