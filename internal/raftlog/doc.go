// Package raftlog is the log of all raft groups of a store, and the only
// write-ahead log of the database. The groups share one append-only stream of
// segments. One fdatasync serves all appends that wait for one.
//
//	Append ─► queue: the next frame ─► the leader of the queue: write, one sync ─► index
//	Append ─►                                 │                                     │
//	Append ─►                                 ▼                                     ▼
//	                               segments: [closed] [closed] [active] [spare]   the callers
//	                                                                              return
//
// Above it: store and replica, which keep each group's hard state and entries
// here, and report which entries the engine has made durable. Below it: fs.
//
// Reading order: [Write], [Entry], [State] and the limits (types.go); [Log],
// [Open], [Log.Truncate] (log.go); [Log.Append] and its queue (queue.go), with the
// delay of a commit (commitdelay.go); the writing of a frame and the opening of a
// segment (commit.go); the in-memory index (index.go, cache.go); [Log.Entries]
// (read.go); the background work on segments (janitor.go, segment.go); the layout on
// disk (format.go, record.go, and docs/formats/raftlog.md); recovery (recover.go,
// scan.go); logs with few writes (shrink.go); files that were removed while in use
// (place.go).
//
// Invariants:
//
//  1. An acknowledged append survives a crash. Of a frame, a crash leaves all or
//     nothing (checked by TestCrashEverywhere).
//  2. The index holds only durable entries, and for each group exactly the
//     entries (Truncated.Index, Last] (checked by index.append, index.truncate
//     and, at start, recovery.complete).
//  3. A segment file is overwritten only after a durable frame has declared it
//     free, which is after its last live entry was durably truncated, replaced or
//     moved (checked by index.release; addControl and retire keep the order).
//  4. A record of moved entries never follows their replacement (checked by
//     move.admit).
//  5. At most one frame is not known to be durable, and each frame says up to where
//     the ones before it are. So a bad frame before an intact one that covers it is
//     damage, and the log refuses to start (checked by recovery.replay and
//     recovery.fill).
//  6. Once a new segment's header may have reached the disk, nothing more is
//     written to the one before it (Log.sealed, checked by TestFailedActivation).
//  7. The id of a segment is never used twice (makeSegID, recovery.skipUsed).
//     So a frame of a file's earlier use is never taken for one of the present use.
//  8. After a failed sync, or a failed write with another cause than a full disk, the
//     log accepts nothing more (Log.fail, checked by TestSyncErrorIsFinal).
//  9. Whatever is written goes behind the last write to the segment, or the file system was told that the rest of it
//     is worthless: an encrypted file is not written twice with one key stream (segment.claim, checked by TestEncrypted).
//
// Concurrency: all methods may be called from any goroutine. One mutex guards
// the state; it is not held during input and output. A caller that finds no leader
// of the queue becomes the leader and writes its own request. Callers that come
// meanwhile queue up. The leader passes its role to one of them, or to a goroutine if
// only callbacks wait. Only the leader writes to segments in use. A janitor goroutine
// exists while there is background work. Close waits for all of them.
//
// The log does not interpret entries, and does not check that terms rise. It
// writes entries in the order of the calls. The engine, not the log, records which
// replicas exist.
package raftlog
