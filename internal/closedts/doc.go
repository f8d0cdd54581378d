// Package closedts carries closed timestamps from store to store, so that any replica can serve reads of
// the past (docs/decisions/0008-time.md). After an index of a range's log, no write commits at or below
// the range's closed timestamp.
//
// Above it, replica closes timestamps as a leader and reads below them as a follower (replica.CloseAt,
// replica.readClosed). store asks its leaders at each tick and sends the messages. Below it are kvpb and
// hlc. It reads no clock, sends nothing and starts no goroutine.
//
//	leader's store                                   another store
//	──────────────                                   ─────────────
//	active range: CloseAt ─► Say(range, index, ts) ─► a statement of its own
//	range without writes: BeginTracking ─► Track ───► Added
//	    a tick: one timestamp for all that are tracked ──► Closed rises for each of them
//	    a commit begins: EndTracking ─► Untrack ────► Removed, before the next timestamp
//
// # Reading order
//
//   - Sender: what it sends to a node, and when it sends everything.
//   - Receiver: what a store knows of each range (Closed).
//   - Message: the encoding.
//   - Read: whether a replica that does not lead answers a read.
//
// testdata/streams/follower_reads and testdata/streams/lost_messages have scripts of the messages.
//
// # Invariants
//
//  1. After the index of a closed timestamp, nothing commits in the range at or below that timestamp. The
//     leader first raises the low-water mark of reads, then looks at commits in flight, then at staged
//     intents, and last at its lease. A commit is announced before it ends the tracking and looks at the
//     mark. A single node marks only the spans of feeds. (replica.close, replica.BeginTracking,
//     replica.beginCommit; plants close-unmarked, close-over-commits and track-through-commits, found by
//     sim; TestFeedOfALargeCommit in kv)
//  2. A statement counts only for replicas that have applied its index. (Receiver.Closed;
//     testdata/streams/follower_reads)
//  3. A node learns which ranges are no longer tracked before, or with, a higher timestamp of all tracked
//     ranges. A node that has missed a message raises the timestamp of none. (Sender.Untrack, Flush;
//     Receiver.Receive; testdata/streams/lost_messages)
//  4. A follower read sees one state of the engine, in which the index of the closed timestamp is applied,
//     the threshold is not above the read, and no durable lock is at or below it. It reads at the end of
//     its uncertainty or is left to the leader: versions within the uncertainty may have been committed
//     before the transaction began. (Read, replica.readClosed; testdata/reads; plant follower-uncertain,
//     found by sim)
//
// # Concurrency
//
// Any goroutine may use a Receiver. A Sender is guarded by its owner's mutex, which is acquired before the
// Receiver's.
package closedts
