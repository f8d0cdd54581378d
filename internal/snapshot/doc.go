// Package snapshot carries the state of a range to a replica whose log can't be brought up to date any
// more: it reads it out in chunks, makes tables of them, and knows after a crash how far a snapshot
// had come.
//
// Above it, replica sends and installs snapshots and store streams them. Below it are storage, the
// store's raftlog and the format of a range's state (apply).
//
// Reading order: Outgoing and Sum (outgoing.go), Incoming (incoming.go), Mark and Mend (mark.go), which
// testdata/mend tells about. The format is in docs/formats/snapshots.md.
//
// # Invariants
//
//  1. Only one chunk of a snapshot is in memory, at both ends. (Outgoing.Next, Incoming.Add; TestSnapshotMemory in store)
//  2. A snapshot is installed only if all that was sent has arrived, in order and within the range.
//     (Incoming.add, Complete; TestSnapshotRefused in store)
//  3. It comes into the engine as a whole or not at all. (Incoming.Ingest; TestSnapshotCrash in store)
//  4. A log that does not continue the engine's state is emptied only if a crash came between a
//     snapshot's installation and that: the engine holds the snapshot's mark, has applied nothing
//     since, and the log's term, vote and last entry are as the mark says. Any other has lost its end,
//     with what it acknowledged and votes perhaps: a replica that voted again in the term of a vote
//     that it has lost could make a second leader of it. (Mend; testdata/mend; TestLostEndBehindFlush,
//     TestSnapshotCrash in store)
//
// # Concurrency
//
// Nothing here may be used by several goroutines at once.
package snapshot
