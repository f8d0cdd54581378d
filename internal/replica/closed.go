package replica

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// Closing is what a store knows of closed timestamps (docs/decisions/0008-time.md).
type Closing interface {
	// Leave takes a leader out of those whose closed timestamp rises by itself, and makes
	// sure that nothing is written there at or below what was closed.
	Leave(r *Replica)
	// Closed returns the timestamp up to which a replica that has applied an index has
	// the whole history of its range, as far as its leaders have told.
	Closed(id kvpb.RangeID, applied uint64) hlc.Timestamp
	// Inherit makes what was closed of a range before an index hold for the new range
	// that was split off there.
	Inherit(left, right kvpb.RangeID, before uint64)
}

// beginCommit announces a commit. From then on the range counts as active: what is
// closed there is closed with an eye on commits in flight. The order matters: whoever
// begins a rest looks at the commits afterwards (BeginRest, invariant R25).
func (r *Replica) beginCommit(id concurrency.TxnID, written [][]byte) *concurrency.Commit {
	c := r.commits.Begin(id, written)
	r.endRest()
	return c
}

// endRest ends what BeginRest began.
func (r *Replica) endRest() {
	if r.rests.Load() && !plant.On(plant.RestThroughCommits) {
		r.deps.Closing.Leave(r)
	}
}

// CloseAt makes sure that nothing is committed at or below ts in the range any more but
// what replicas hold that have applied index; ts comes out lower if commits are under way,
// ok is false if nothing can be said. It is as if the leader read all of its range at ts,
// without waiting (invariant R25).
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

// BeginRest is CloseAt for a range at rest: until Leave is called nothing is committed there,
// so that what is closed may rise by itself to what its supporters cover. Leave waits until the
// caller has noted that the range rests.
func (r *Replica) BeginRest(ts hlc.Timestamp) (index uint64, by *Supporters, ok bool) {
	r.rests.Store(true)
	defer func() {
		if !ok {
			r.rests.Store(false)
		}
	}()
	if !r.idle.Load() && !r.onlyVoter() || r.commits.Len() > 0 || !r.intents.Empty() {
		return 0, nil, false
	}
	closed, index, ok := r.CloseAt(ts)
	l := r.lease.Load()
	if !ok || l == nil || closed != ts || l.given.Load() || r.Desc().Changing() {
		return 0, nil, false
	}
	return index, l.supporters(r.deps.Clock.MaxOffset()), true
}

// EndRest is called by Leave: what was closed while the range rested counts as read.
func (r *Replica) EndRest(closed hlc.Timestamp) {
	r.reads.RaiseLowWater(closed)
	r.rests.Store(false)
}

// Leading reports whether the replica leads as far as it knows, whatever its lease.
func (r *Replica) Leading() bool { return r.lease.Load() != nil }

// Supporters are those who support a leader, as they did when its range began to rest.
type Supporters struct {
	// Key is the same for leaders that have the same ones, since the same times.
	Key    string
	lease  lease
	offset time.Duration
}

// Cover reports whether the leaders that have these supporters could read at ts. What has
// become of the supporters' support since then counts, but not what the leader of one range
// has heard from them since: another one may not have.
func (s *Supporters) Cover(ts hlc.Timestamp) bool {
	ts.WallTime += int64(s.offset)
	return s.lease.alone || ts.Less(s.lease.until())
}

// supporters returns who supports the leader, and since when.
func (l *lease) supporters(offset time.Duration) *Supporters {
	out := &Supporters{offset: offset, lease: lease{alone: l.alone, given: new(atomic.Bool)}}
	var b []byte
	for _, q := range l.quorums {
		var all []supporter
		for _, s := range q {
			o := supporter{store: s.store, cell: s.cell}
			if s.cell != nil {
				o.answered = new(atomic.Int64)
				o.answered.Store(s.answered.Load())
			}
			all = append(all, o)
		}
		slices.SortFunc(all, func(a, b supporter) int { return cmp.Compare(a.store, b.store) })
		b = binary.AppendUvarint(b, uint64(len(all)))
		for _, s := range all {
			b = binary.AppendUvarint(b, uint64(s.store))
			if s.cell != nil {
				b = binary.AppendVarint(b, s.answered.Load())
			}
		}
		out.lease.quorums = append(out.lease.quorums, all)
	}
	out.Key = string(b)
	return out
}

// ClosedHere returns the timestamp up to which this replica has the whole history of
// its range.
func (r *Replica) ClosedHere() hlc.Timestamp {
	if r.deps.Closing == nil {
		return hlc.Timestamp{}
	}
	return r.deps.Closing.Closed(r.id, r.applied.Load())
}
