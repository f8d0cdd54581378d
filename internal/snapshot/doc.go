// Package snapshot copies the state of a range to a replica that the log can't bring up to date any
// more. It reads the state in chunks, makes tables of them for the other engine, and decides after a crash
// how far an installation had come.
//
//	sender                                  receiver
//	Outgoing.Open: iterators                NewIncoming: a directory
//	Outgoing.Next ──── chunks ────────────▶ Incoming.Add: tables
//	Outgoing.Sum ───── totals ────────────▶ Incoming.Complete: nothing is missing
//	                                        Incoming.Ingest: the engine has the state and the Mark
//	                                        EmptyLog: the log begins after the state
//	                                        ClearMark
//
// Above it, replica sends and installs snapshots and store streams them. Below it are storage, the
// store's raftlog and the format of a range's state (apply).
//
// Reading order: Outgoing and Sum (outgoing.go), Incoming (incoming.go), Mark and Mend (mark.go). The
// script testdata/mend has the cases of a start after a crash. The format is in docs/formats/snapshots.md.
//
// # Invariants
//
//  1. Only one chunk of a snapshot is in memory, at both ends. (Outgoing.Next, Incoming.Add; TestSnapshotMemory in store)
//  2. A snapshot is installed only if it has arrived completely, in order and within the range.
//     (Incoming.add, Complete; TestSnapshotRefused in store)
//  3. The engine gets the whole snapshot or nothing of it. (Incoming.Ingest; TestSnapshotCrash in store)
//  4. At a start, a log that does not continue the engine's state is emptied only if a crash came
//     between the installation of a snapshot and the emptying of its log: the engine holds the
//     snapshot's mark, has applied nothing since, and the log's term, vote and last entry are those of
//     the mark. Any other such log has lost its end, perhaps with acknowledged entries and votes. Its
//     replica must not vote: it could vote twice in one term, and so elect a second leader. (Mend;
//     testdata/mend; TestLostEndBehindFlush, TestSnapshotCrash in store)
//
// # Concurrency
//
// Nothing here may be used by several goroutines at once.
package snapshot
