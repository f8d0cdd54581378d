// Package raftlog is the log of all raft groups of a store, and the only
// write-ahead log of the database: one append-only stream of segments shared by
// the groups, one fdatasync for all that waits at a time.
//
// Above it: store and replica, which keep each group's hard state and entries
// here and tell it which entries the engine has made durable. Below it: fs.
//
// Reading order: [Write], [Entry], [State] and the limits (types.go); [Log],
// [Open], [Log.Truncate] (log.go); [Log.Append] and the queue whose waiters take
// turns as the writer (queue.go), and when one waits for another (commitdelay.go);
// writing a frame, opening a segment, applying what is durable (commit.go); the in-memory index (index.go, cache.go);
// [Log.Entries] (read.go); making, freeing and tidying segments in the background
// (janitor.go, segment.go); the layout on disk (format.go, record.go, and
// docs/formats/raftlog.md); recovery (recover.go, scan.go); a log that is little written to (shrink.go);
// files that were removed under it (place.go).
//
// Invariants:
//
//  1. What Append has acknowledged survives a crash, and nothing of a frame
//     does unless all of it does (checked by TestCrashEverywhere).
//  2. The index holds only what is durable, and for each group exactly the
//     entries (Truncated.Index, Last] (checked by index.append, index.truncate
//     and, at start, recovery.complete).
//  3. A segment file is overwritten only after a durable frame has declared it
//     free, which is after its last live entry was durably truncated, replaced or
//     moved (checked by index.release; addControl and retire keep the order).
//  4. A record of moved entries never follows their replacement (checked by
//     move.admit).
//  5. One frame at most is not known to be durable; so a bad frame with an intact
//     later one that says otherwise is damage, and the log refuses to start
//     (checked by recovery.replay and recovery.fill).
//  6. Once a new segment's header may have reached the disk, nothing more is
//     written to the one before it (Log.sealed, checked by TestFailedActivation).
//  7. The id of a segment is never used twice (makeSegID, recovery.skipUsed),
//     so what an earlier use left in a file never passes for a frame.
//  8. After a failed sync, or any failed write but one for lack of space, the log
//     accepts nothing more (Log.fail, checked by TestSyncErrorIsFinal).
//
// Concurrency: all methods may be called from any goroutine. One mutex guards
// the state; it is not held during input and output. Whoever finds nobody writing
// becomes the leader and writes its own request; those who come meanwhile queue
// up, and the leader passes its role to one of them, or to a goroutine if only
// callbacks wait. Only the leader writes to segments in use. A janitor goroutine
// exists while there is background work. Close waits for all of them.
//
// It does not know what entries mean, does not check that terms rise, does not
// write entries in any order but that of the calls, and keeps nothing else in the
// log: which replicas exist is recorded in the engine.
package raftlog
