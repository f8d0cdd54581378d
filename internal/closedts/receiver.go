package closedts

import (
	"math"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// maxStatements bounds the statements about a range that a store remembers.
const maxStatements = 4

// askAgain is how long a store waits for an answer before it asks again for everything.
const askAgain = time.Second

// Receiver tracks the closed timestamps received from the leaders of ranges, including those on this
// store. A statement never becomes false: no entry after its index commits at or below its timestamp. So
// a change of the leader does not matter, and the highest statement counts.
type Receiver struct {
	applied func(kvpb.RangeID) uint64

	mu      sync.RWMutex
	streams map[kvpb.StoreID]*inStream
	local   *inStream // of the ranges led here
	ranges  map[kvpb.RangeID]*rangeClosed
}

// inStream is what a store says about the tracked ranges that it leads: all of them are closed at one timestamp,
// which rises.
type inStream struct {
	process int64
	seq     uint64
	closed  hlc.Timestamp
	tracked map[kvpb.RangeID]uint64 // the index after which the timestamp holds
	asked   time.Time
}

func newInStream(process int64) *inStream {
	return &inStream{process: process, tracked: map[kvpb.RangeID]uint64{}}
}

// statement says that nothing commits after an index at or below a timestamp.
type statement struct {
	index uint64
	ts    hlc.Timestamp
}

// rangeClosed is what is known of one range.
type rangeClosed struct {
	statements [maxStatements]statement
	n          int
	streams    []*inStream // that track it, usually one
}

// NewReceiver returns the Receiver of a store. applied returns the applied index of its replica of a range, 0 if
// there is none.
func NewReceiver(applied func(kvpb.RangeID) uint64) *Receiver {
	return &Receiver{
		applied: applied, streams: map[kvpb.StoreID]*inStream{}, local: newInStream(0), ranges: map[kvpb.RangeID]*rangeClosed{},
	}
}

// Closed returns the timestamp up to which a replica that has applied an index has the complete history of its
// range.
func (c *Receiver) Closed(id kvpb.RangeID, applied uint64) (ts hlc.Timestamp) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r := c.ranges[id]
	if r == nil {
		return ts
	}
	if plant.On(plant.ClosedUnapplied) {
		applied = math.MaxUint64
	}
	for _, k := range r.statements[:r.n] {
		if k.index <= applied {
			ts = ts.Max(k.ts)
		}
	}
	for _, st := range r.streams {
		if st.tracked[id] <= applied {
			ts = ts.Max(st.closed)
		}
	}
	return ts
}

// Inherit makes the timestamp that was closed in a range before an index hold for the new range that was split
// off there.
func (c *Receiver) Inherit(left, right kvpb.RangeID, at uint64) {
	ts := c.Closed(left, at-1)
	if ts.IsEmpty() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(right).add(statement{apply.FirstIndex, ts}, apply.FirstIndex)
}

// of returns what is known of a range. mu is held.
func (c *Receiver) of(id kvpb.RangeID) *rangeClosed {
	r := c.ranges[id]
	if r == nil {
		r = new(rangeClosed)
		c.ranges[id] = r
	}
	return r
}

// add adds a statement, given the index that the replica has applied. Of the statements that count already, it
// keeps only the highest. Of the others it keeps the first ones, so that one of them soon counts however far
// behind the replica stays, and the newest.
func (r *rangeClosed) add(k statement, applied uint64) {
	best, kept := statement{}, 0
	for _, o := range append(r.statements[:r.n:r.n], k) {
		switch {
		case o.index > applied:
			if kept == maxStatements-1 {
				kept--
			}
			r.statements[kept] = o
			kept++
		case best.ts.Less(o.ts):
			best = o
		}
	}
	if !best.ts.IsEmpty() {
		r.statements[kept] = best
		kept++
	}
	r.n = kept
}

// Note records a statement of a leader on this store.
func (c *Receiver) Note(k Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(k.Range).add(statement{k.Index, k.TS}, k.Index)
}

// Track tracks a range that is led on this store.
func (c *Receiver) Track(id kvpb.RangeID, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.track(c.local, id, index)
}

// Untrack ends what Track began: the range's closed timestamp does not rise any more.
func (c *Receiver) Untrack(id kvpb.RangeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untrack(c.local, id)
}

// Raise raises the timestamp of all tracked ranges that are led on this store.
func (c *Receiver) Raise(ts hlc.Timestamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local.closed = ts
}

// track makes a range a member of a stream. mu is held.
func (c *Receiver) track(st *inStream, id kvpb.RangeID, index uint64) {
	if _, ok := st.tracked[id]; !ok {
		r := c.of(id)
		r.streams = append(r.streams, st)
	}
	st.tracked[id] = index
}

// Receive processes a message of another store. ask says that an earlier message is missing.
func (c *Receiver) Receive(m *Message, now time.Time) (ask bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.streams[m.Store]
	switch {
	case st != nil && (m.Process < st.process || m.Process == st.process && m.Seq <= st.seq):
		return false // late, or twice
	case m.Reset:
		if st != nil {
			c.untrackAll(st)
		}
		st = newInStream(m.Process)
		c.streams[m.Store] = st
	case st == nil || st.process != m.Process || m.Seq != st.seq+1:
		// The missed message may say that ranges are no longer tracked, so the timestamp of none may rise.
		if st != nil {
			c.untrackAll(st)
		} else {
			st = newInStream(0)
			c.streams[m.Store] = st
		}
		if now.Sub(st.asked) < askAgain {
			return false
		}
		st.asked = now
		return true
	}
	st.seq = m.Seq
	for _, id := range m.Removed {
		c.untrack(st, id)
	}
	for _, k := range m.Added {
		c.track(st, k.Range, k.Index)
	}
	st.closed = m.Closed
	for _, k := range m.Active {
		c.of(k.Range).add(statement{k.Index, k.TS}, c.applied(k.Range))
	}
	return false
}

// untrack keeps the closed timestamp of a range from rising. mu is held.
func (c *Receiver) untrack(st *inStream, id kvpb.RangeID) {
	index, ok := st.tracked[id]
	if !ok {
		return
	}
	delete(st.tracked, id)
	r := c.of(id)
	r.add(statement{index, st.closed}, c.applied(id))
	for i, o := range r.streams {
		if o == st {
			r.streams = append(r.streams[:i], r.streams[i+1:]...)
			break
		}
	}
}

// untrackAll calls untrack for all ranges of a stream. mu is held.
func (c *Receiver) untrackAll(st *inStream) {
	for id := range st.tracked {
		c.untrack(st, id)
	}
}

// Forget drops the statements about ranges without a replica on this store.
func (c *Receiver) Forget(held func(kvpb.RangeID) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.ranges {
		if !held(id) && len(r.streams) == 0 {
			delete(c.ranges, id)
		}
	}
}
