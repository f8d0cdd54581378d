package replica

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/plant"
)

// Closing is what a store knows of closed timestamps (docs/decisions/0008-time.md).
type Closing interface {
	// EndTracking takes a leader out of those whose closed timestamp rises by itself. It calls
	// Untracked before any message says more.
	EndTracking(r *Replica)
	// Closed returns the timestamp up to which a replica that has applied an index has
	// the whole history of its range, as far as its leaders have said.
	Closed(id kvpb.RangeID, applied uint64) hlc.Timestamp
	// Inherit makes what was closed of a range before an index hold for the new range
	// that was split off there.
	Inherit(left, right kvpb.RangeID, before uint64)
}

// beginCommit announces a commit. From then on the range counts as active: what is
// closed there is closed with an eye on commits in flight. The order matters: BeginTracking
// looks at the commits afterwards (closedts, invariant 1).
func (r *Replica) beginCommit(id concurrency.TxnID, written [][]byte) *concurrency.Commit {
	c := r.commits.Begin(id, written)
	r.endTracking()
	return c
}

// endTracking ends what BeginTracking began, before something is written.
func (r *Replica) endTracking() {
	if r.tracked.Load() && !plant.On(plant.TrackThroughCommits) {
		r.deps.Closing.EndTracking(r)
	}
}

// CloseAt makes sure that nothing is committed at or below ts in the range any more but
// what replicas hold that have applied index; ts comes out lower if commits are under way,
// ok is false if nothing can be said. It is as if the leader read all of its range at ts,
// without waiting (closedts, invariant 1).
func (r *Replica) CloseAt(ts hlc.Timestamp) (closed hlc.Timestamp, index uint64, ok bool) {
	l := r.lease.Load()
	if l == nil || r.Desc().Into != 0 { // what is frozen is about to be written elsewhere
		return ts, 0, false
	}
	if !plant.On(plant.CloseUnmarked) {
		r.reads.RaiseLowWater(ts)
	}
	least, known := r.commits.Least()     // before the intents, which they become
	if plant.On(plant.CloseOverCommits) { // as if none were in flight
		least, known = hlc.MaxTimestamp, true
	}
	if !known {
		return ts, 0, false
	}
	ts = ts.Min(least.Prev()).Min(r.intents.LeastStaging().Prev())
	// What was not met may have ended with the leadership.
	if now := r.lease.Load(); now != l || !r.covers(l, ts) {
		return ts, 0, false
	}
	return ts, r.applied.Load(), true
}

// BeginTracking is CloseAt for a range without writes: until EndTracking is called nothing is
// committed there, so that its closed timestamp may rise by itself to what its supporters cover.
// EndTracking waits until the caller has noted that the range is tracked.
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

// Untracked is called by EndTracking: what was closed while the range was tracked counts as read.
func (r *Replica) Untracked(closed hlc.Timestamp) {
	r.reads.RaiseLowWater(closed)
	r.tracked.Store(false)
}

// Leading reports whether the replica leads as far as it knows, whatever its lease.
func (r *Replica) Leading() bool { return r.lease.Load() != nil }

// ClosedHere returns the timestamp up to which this replica has the whole history of
// its range.
func (r *Replica) ClosedHere() hlc.Timestamp {
	if r.deps.Closing == nil {
		return hlc.Timestamp{}
	}
	return r.deps.Closing.Closed(r.id, r.applied.Load())
}
