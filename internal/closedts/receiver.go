package store

import (
	"math"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// maxClaims bounds what is remembered of one range that this store has not applied yet.
const maxClaims = 4

// askAgain is how long a store waits for an answer before it asks again for everything.
const askAgain = time.Second

// closedIn is what the leaders of ranges have said of closed timestamps. Each statement is
// true for ever: up to its timestamp nothing comes into the range behind its index. So it
// does not matter who leads now, and the highest one counts.
type closedIn struct {
	mu      sync.RWMutex
	streams map[kvpb.StoreID]*inStream
	ranges  map[kvpb.RangeID]*told
}

// inStream is what one store says about the ranges at rest that it leads: all of them are
// closed at one timestamp, which rises.
type inStream struct {
	life    int64
	seq     uint64
	closed  hlc.Timestamp
	members map[kvpb.RangeID]uint64 // the index from which on it holds
	asked   time.Time
}

func newInStream(life int64) *inStream {
	return &inStream{life: life, members: map[kvpb.RangeID]uint64{}}
}

// claim is one statement.
type claim struct {
	index uint64
	ts    hlc.Timestamp
}

// told is what is known of one range.
type told struct {
	claims [maxClaims]claim
	n      int
	risers []*inStream // that have it as a member; mostly one
}

// Closed implements replica.Closing.
func (c *closing) Closed(id kvpb.RangeID, applied uint64) (ts hlc.Timestamp) {
	c.in.mu.RLock()
	defer c.in.mu.RUnlock()
	t := c.in.ranges[id]
	if t == nil {
		return ts
	}
	if plant.On(plant.ClosedUnapplied) {
		applied = math.MaxUint64
	}
	for _, k := range t.claims[:t.n] {
		if k.index <= applied {
			ts = ts.Max(k.ts)
		}
	}
	for _, st := range t.risers {
		if st.members[id] <= applied {
			ts = ts.Max(st.closed)
		}
	}
	return ts
}

// Inherit implements replica.Closing.
func (c *closing) Inherit(left, right kvpb.RangeID, at uint64) {
	ts := c.Closed(left, at-1)
	if ts.IsEmpty() {
		return
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.of(right).add(claim{apply.FirstIndex, ts}, apply.FirstIndex)
}

// of returns what is known of a range. in.mu is held.
func (in *closedIn) of(id kvpb.RangeID) *told {
	t := in.ranges[id]
	if t == nil {
		t = new(told)
		in.ranges[id] = t
	}
	return t
}

// add notes a statement. Of those that the replica, which has applied an index, has come
// up to, only the highest is kept; of the others the first ones, so that one of them comes
// true however far behind it stays, and the newest.
func (t *told) add(k claim, applied uint64) {
	best, kept := claim{}, 0
	for _, o := range append(t.claims[:t.n:t.n], k) {
		switch {
		case o.index > applied:
			if kept == maxClaims-1 {
				kept--
			}
			t.claims[kept] = o
			kept++
		case best.ts.Less(o.ts):
			best = o
		}
	}
	if !best.ts.IsEmpty() {
		t.claims[kept] = best
		kept++
	}
	t.n = kept
}

// note takes in a statement of a range whose replica here has applied an index.
func (in *closedIn) note(id kvpb.RangeID, k claim, applied uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.of(id).add(k, applied)
}

// admit makes a range a member of a stream. in.mu is held.
func (in *closedIn) admit(st *inStream, k closedItem) {
	if _, ok := st.members[k.id]; !ok {
		t := in.of(k.id)
		t.risers = append(t.risers, st)
	}
	st.members[k.id] = k.index
}

// receive takes in a message of another store; ask says that something is missing before it.
func (c *closing) receive(from kvpb.NodeID, msg []byte) {
	var m closedMessage
	if err := m.decode(msg); err != nil {
		c.s.opts.Logger.Error("closed timestamps", "node", from, "err", err)
		return
	}
	if c.take(&m) {
		c.s.net.Transport.Send(from, MethodAskClosed, nil)
	}
}

func (c *closing) take(m *closedMessage) (ask bool) {
	in := &c.in
	in.mu.Lock()
	defer in.mu.Unlock()
	st := in.streams[m.store]
	switch {
	case st != nil && (m.life < st.life || m.life == st.life && m.seq <= st.seq):
		return false // late, or twice
	case m.reset:
		if st != nil {
			c.end(st)
		}
		st = newInStream(m.life)
		in.streams[m.store] = st
	case st == nil || st.life != m.life || m.seq != st.seq+1:
		// What was missed may say that members have left: the others no longer rise either.
		if st != nil {
			c.end(st)
		} else {
			st = newInStream(0)
			in.streams[m.store] = st
		}
		if time.Since(st.asked) < askAgain {
			return false
		}
		st.asked = time.Now()
		return true
	}
	st.seq = m.seq
	for _, id := range m.removed {
		c.drop(st, id)
	}
	for _, k := range m.added {
		in.admit(st, k)
	}
	st.closed = m.closed
	for _, k := range m.active {
		in.of(k.id).add(claim{k.index, k.ts}, c.appliedBy(k.id))
	}
	return false
}

// drop makes what is closed of a range stay where it is. in.mu is held.
func (c *closing) drop(st *inStream, id kvpb.RangeID) {
	index, ok := st.members[id]
	if !ok {
		return
	}
	delete(st.members, id)
	t := c.in.of(id)
	t.add(claim{index, st.closed}, c.appliedBy(id))
	for i, o := range t.risers {
		if o == st {
			t.risers = append(t.risers[:i], t.risers[i+1:]...)
			break
		}
	}
}

// end does so for all members. in.mu is held.
func (c *closing) end(st *inStream) {
	for id := range st.members {
		c.drop(st, id)
	}
}

func (c *closing) appliedBy(id kvpb.RangeID) uint64 {
	if r, ok := c.s.Replica(id); ok {
		return r.AppliedIndex()
	}
	return 0
}

// forget drops what is known of ranges that have no replica here any more.
func (c *closing) forget() {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	for id, t := range c.in.ranges {
		if _, ok := c.s.Replica(id); !ok && len(t.risers) == 0 {
			delete(c.in.ranges, id)
		}
	}
}
