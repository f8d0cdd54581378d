package replica

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/plant"
)

// Closing is the store's tracker of closed timestamps (docs/decisions/0008-time.md).
type Closing interface {
	// EndTracking removes a leader from the tracked ranges, whose closed timestamp rises with the
	// store's. It calls Untracked before the store sends a later closed timestamp.
	EndTracking(r *Replica)
	// Closed returns the latest closed timestamp received for a range that holds at an applied index:
	// a replica that has applied this index has the complete history up to it.
	Closed(id kvpb.RangeID, applied uint64) hlc.Timestamp
	// Inherit makes the closed timestamps of the left range up to index before hold for the right
	// range, which was split off there.
	Inherit(left, right kvpb.RangeID, before uint64)
}

// beginCommit announces a commit and then ends the tracking of the range. From then on only CloseAt closes
// timestamps there, and it heeds commits in flight. The order matters: BeginTracking marks the range as
// tracked before it looks for commits (closedts, invariant 1).
func (r *Replica) beginCommit(id concurrency.TxnID, written [][]byte) *concurrency.Commit {
	c := r.commits.Begin(id, written)
	r.endTracking()
	return c
}

// endTracking reverts BeginTracking before a write.
func (r *Replica) endTracking() {
	if r.tracked.Load() && !plant.On(plant.TrackThroughCommits) {
		r.deps.Closing.EndTracking(r)
	}
}

// CloseAt closes a timestamp: no entry after index commits at or below closed. closed is lower than ts if
// commits are in flight below ts. ok is false if nothing can be closed. CloseAt works like a read of the
// whole range at ts that does not wait (closedts, invariant 1).
func (r *Replica) CloseAt(ts hlc.Timestamp) (closed hlc.Timestamp, index uint64, ok bool) {
	return r.close(ts, func() { r.reads.RaiseLowWater(ts) })
}

// CloseFeeds closes a timestamp for the spans of the feeds alone: other transactions may commit below it.
func (r *Replica) CloseFeeds(ts hlc.Timestamp) {
	spans := r.feeds.Spans()
	closed, index, ok := r.close(ts, func() {
		for _, s := range spans {
			r.noteRead(s, ts)
		}
	})
	if ok {
		r.feeds.Close(spans, closed, index)
	}
}

// noteRead marks a span as read at ts.
func (r *Replica) noteRead(s kvpb.Span, ts hlc.Timestamp) {
	r.reads.AddSpan(s.Key, s.EndKey, ts, concurrency.TxnID{})
	r.intents.NoteRead(s, ts)
}

// close closes a timestamp for the keys where mark notes a read at ts.
func (r *Replica) close(ts hlc.Timestamp, mark func()) (closed hlc.Timestamp, index uint64, ok bool) {
	l := r.lease.Load()
	if l == nil || r.Desc().Into != 0 { // a frozen range is about to be written as part of another
		return ts, 0, false
	}
	if !plant.On(plant.CloseUnmarked) {
		mark()
	}
	least, known := r.commits.Least()     // before the intents, which they become
	if plant.On(plant.CloseOverCommits) { // as if none were in flight
		least, known = hlc.MaxTimestamp, true
	}
	if !known {
		return ts, 0, false
	}
	ts = ts.Min(least.Prev()).Min(r.intents.LeastStaging().Prev())
	// A commit that was not found may have ended with the leadership.
	if now := r.lease.Load(); now != l || !r.covers(l, ts) {
		return ts, 0, false
	}
	return ts, r.applied.Load(), true
}

// BeginTracking is CloseAt for a range without writes. Until EndTracking the range commits nothing, so
// that its closed timestamp rises with the store's as far as the support by covers. EndTracking waits
// until the caller has registered the range as tracked.
func (r *Replica) BeginTracking(ts hlc.Timestamp) (index uint64, by *lease.Supporters, ok bool) {
	r.tracked.Store(true)
	defer func() {
		if !ok {
			r.tracked.Store(false)
		}
	}()
	if !r.idle.Load() && !r.onlyVoter() || r.commits.Len() > 0 || !r.intents.Empty() {
		return 0, nil, false
	}
	closed, index, ok := r.CloseAt(ts)
	l := r.lease.Load()
	if !ok || l == nil || closed != ts || l.Revoked.Load() || r.Desc().Changing() {
		return 0, nil, false
	}
	return index, l.Supporters(r.deps.Clock.MaxOffset()), true
}

// Untracked is called by EndTracking with the last timestamp closed while the range was tracked. Later
// commits land above it.
func (r *Replica) Untracked(closed hlc.Timestamp) {
	r.reads.RaiseLowWater(closed)
	r.tracked.Store(false)
}

// Leading reports whether the replica believes that it leads, even if its lease has expired.
func (r *Replica) Leading() bool { return r.lease.Load() != nil }

// ClosedHere returns the closed timestamp of this replica, up to which it has the complete history of
// its range.
func (r *Replica) ClosedHere() hlc.Timestamp {
	if r.deps.Closing == nil {
		return hlc.Timestamp{}
	}
	return r.deps.Closing.Closed(r.id, r.applied.Load())
}
