// Package closedts carries closed timestamps from store to store, so that any replica serves reads of
// the past (docs/decisions/0008-time.md). Behind an index of a range's log no write comes in at or
// below the range's closed timestamp.
//
// Above it, replica decides what is closed as a leader and reads below it as a follower
// (replica.CloseAt, replica.readClosed); store asks its leaders at each tick and carries the messages. Below it are kvpb and
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
//   - Sender: what it sends to one node, and when it sends everything.
//   - Receiver: what is known of each range; Closed.
//   - Message: the encoding of what travels.
//   - Read: whether a replica that does not lead answers a read.
//
// testdata/streams/follower_reads and testdata/streams/lost_messages tell the stories of the messages.
//
// # Invariants
//
//  1. Up to a closed timestamp nothing comes into the range behind the index that goes with it. The
//     leader raises the low-water mark of reads first, then looks at commits in flight, then at staged
//     intents, and last at its lease; whoever commits announces it before ending the tracking and
//     looking at the mark. A node by itself marks the spans of feeds only. (replica.close,
//     replica.BeginTracking, replica.beginCommit; plants close-unmarked, close-over-commits and
//     track-through-commits, found by sim; TestFeedOfALargeCommit in kv)
//  2. A statement counts at a replica only once that has applied its index. (Receiver.Closed;
//     testdata/streams/follower_reads)
//  3. A node receives a higher timestamp of all tracked ranges after, or with, the news of each range
//     that is tracked no longer. One that has missed a message takes no higher timestamp for any.
//     (Sender.Untrack, Flush; Receiver.Receive; testdata/streams/lost_messages)
//  4. A read without leadership sees one state of the engine, in which the index of the closed
//     timestamp is applied, the threshold is not above the read and no durable lock is at or below
//     it. It reads at the end of its uncertainty, or leaves the read to the leader: versions within the
//     uncertainty may be older than the transaction. (Read, replica.readClosed; testdata/reads; plant
//     follower-uncertain, found by sim)
//
// # Concurrency
//
// A Receiver may be used from any goroutine. A Sender is guarded by its owner's mutex, which comes
// before the Receiver's.
package closedts
