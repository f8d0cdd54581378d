package store

import (
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/replica"
)

// maxClosedItems bounds the ranges that one message of closed timestamps names; more
// follow in the next.
const maxClosedItems = 4096

// forgetEvery is after how many ticks what is known of ranges that are gone is dropped.
const forgetEvery = 120

// closing is the store's part in closed timestamps: it closes those of the ranges that are
// led here and tells the other nodes, and knows what other stores have told. It implements
// replica.Closing.
type closing struct {
	s   *Store
	lag time.Duration

	mu     sync.Mutex
	closed hlc.Timestamp // of all that rest
	// active are leaders that are looked at one by one, resting those whose closed
	// timestamp is closed.
	active  map[*replica.Replica]struct{}
	resting map[*replica.Replica]*rest
	groups  map[string]*restGroup // of resting, by supporters
	streams map[kvpb.NodeID]*outStream

	in  closedIn
	own *inStream // of in: what is led here
}

// rest is a range whose closed timestamp rises by itself.
type rest struct {
	index uint64
	group string
	peers []kvpb.NodeID
}

// restGroup are the ranges at rest whose leaders have the same supporters.
type restGroup struct {
	by      *lease.Supporters
	members map[*replica.Replica]struct{}
}

// outStream is what one node is told of the ranges led by this store.
type outStream struct {
	seq     uint64
	members int // ranges at rest with a replica there
	// whole says that the node must be told everything, lost that it does not hear.
	whole, lost bool
	next        closedMessage
}

func newClosing(s *Store, lag time.Duration) *closing {
	return &closing{
		s: s, lag: lag,
		active: map[*replica.Replica]struct{}{}, resting: map[*replica.Replica]*rest{},
		groups: map[string]*restGroup{}, streams: map[kvpb.NodeID]*outStream{},
		in:  closedIn{streams: map[kvpb.StoreID]*inStream{}, ranges: map[kvpb.RangeID]*told{}},
		own: newInStream(0),
	}
}

// lead adds a leader.
func (c *closing) lead(r *replica.Replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting[r] == nil {
		c.active[r] = struct{}{}
	}
}

// Leave implements replica.Closing.
func (c *closing) Leave(r *replica.Replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(r)
}

// leave makes a range active. c.mu is held.
func (c *closing) leave(r *replica.Replica) {
	m := c.resting[r]
	if m == nil {
		return
	}
	delete(c.resting, r)
	g := c.groups[m.group]
	if delete(g.members, r); len(g.members) == 0 {
		delete(c.groups, m.group)
	}
	for _, n := range m.peers {
		st := c.streams[n]
		st.members--
		if !st.lost && !st.whole {
			st.next.removed = append(st.next.removed, r.RangeID())
		}
	}
	c.in.mu.Lock()
	c.drop(c.own, r.RangeID())
	c.in.mu.Unlock()
	r.EndRest(c.closed)
	c.active[r] = struct{}{}
}

// join makes a range rest. c.mu is held.
func (c *closing) join(r *replica.Replica, index uint64, by *lease.Supporters) {
	m := &rest{index: index, group: by.Key, peers: c.peers(r)}
	c.resting[r] = m
	if c.groups[by.Key] == nil {
		c.groups[by.Key] = &restGroup{by: by, members: map[*replica.Replica]struct{}{}}
	}
	c.groups[by.Key].members[r] = struct{}{}
	delete(c.active, r)
	c.in.mu.Lock()
	c.in.admit(c.own, closedItem{id: r.RangeID(), index: index})
	c.in.mu.Unlock()
	for _, n := range m.peers {
		st := c.stream(n)
		st.members++
		if !st.lost && !st.whole {
			st.next.added = append(st.next.added, closedItem{id: r.RangeID(), index: index})
		}
	}
}

func (c *closing) stream(n kvpb.NodeID) *outStream {
	st := c.streams[n]
	if st == nil {
		st = &outStream{whole: true}
		c.streams[n] = st
	}
	return st
}

// peers returns the other nodes with a replica of a range.
func (c *closing) peers(r *replica.Replica) []kvpb.NodeID {
	var out []kvpb.NodeID
	self := c.s.Identity().Node
	for _, d := range r.Desc().Replicas {
		if d.Node != self && !slices.Contains(out, d.Node) {
			out = append(out, d.Node)
		}
	}
	return out
}

// loop closes timestamps until the store is closed.
func (c *closing) loop() {
	tick := time.NewTicker(min(kvpb.ClosedEvery, c.lag))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-c.s.stop:
			return
		case <-tick.C:
			c.tick()
		}
		if n%forgetEvery == 0 {
			c.forget()
		}
	}
}

// tick closes what can be closed now and tells the nodes concerned.
func (c *closing) tick() {
	ts := hlc.Timestamp{WallTime: c.s.opts.Clock.PhysicalNow() - int64(c.lag)} // Now may wait for the disk
	if c.s.net.Transport == nil {
		c.tickAlone(ts)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ts.LessEq(c.closed) {
		return
	}
	for _, g := range c.groups {
		if !g.by.Cover(ts) {
			for r := range g.members {
				c.leave(r)
			}
		}
	}
	c.closed = ts
	c.in.mu.Lock()
	c.own.closed = ts
	c.in.mu.Unlock()
	for r := range c.active {
		if !r.Leading() {
			delete(c.active, r)
			continue
		}
		if index, by, ok := r.BeginRest(ts); ok {
			c.join(r, index, by)
			continue
		}
		if closed, index, ok := r.CloseAt(ts); ok {
			c.in.note(r.RangeID(), claim{index, closed}, index)
			for _, n := range c.peers(r) {
				if st := c.stream(n); !st.lost {
					st.next.active = append(st.next.active, closedItem{id: r.RangeID(), index: index, ts: closed})
				}
			}
		}
	}
	c.send()
}

// tickAlone closes timestamps on a node by itself, where only feeds ask for them: without
// need no transaction should have to move.
func (c *closing) tickAlone(ts hlc.Timestamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.active {
		if !r.Leading() {
			delete(c.active, r)
			continue
		}
		if !r.Fed() {
			continue
		}
		if closed, index, ok := r.CloseAt(ts); ok {
			c.in.note(r.RangeID(), claim{index, closed}, index)
		}
	}
}

// send sends what the streams have to say. A node that does not hear is sent a message
// without content, so that it asks for everything when it is back.
func (c *closing) send() {
	id := c.s.Identity()
	for n, st := range c.streams {
		m := &st.next
		if st.members == 0 && len(m.removed)+len(m.active) == 0 && !st.whole {
			continue // nothing of it rises
		}
		// A node that hears of a part only of those that left would let the rest rise.
		st.whole = st.whole || len(m.removed) > maxClosedItems
		if st.whole && !st.lost {
			m.reset, m.removed, m.added = true, nil, c.membersFor(n)
		}
		for first := true; first || len(m.removed)+len(m.added)+len(m.active) > 0; first = false {
			part := m.take(maxClosedItems)
			st.seq++
			part.store, part.life, part.seq, part.closed = id.Store, c.s.began, st.seq, c.closed
			part.reset = first && m.reset
			if !c.s.net.Transport.Send(n, MethodClosed, part.encode()) {
				st.lost, st.whole = true, true
				break
			}
			if st.lost { // it may hear again, and will ask
				st.lost = false
				break
			}
			st.whole = false
		}
		*m = closedMessage{}
	}
}

// membersFor lists the resting ranges that have a replica on a node.
func (c *closing) membersFor(n kvpb.NodeID) []closedItem {
	var out []closedItem
	for r, m := range c.resting {
		if slices.Contains(m.peers, n) {
			out = append(out, closedItem{id: r.RangeID(), index: m.index})
		}
	}
	slices.SortFunc(out, func(a, b closedItem) int { return int(a.id) - int(b.id) })
	return out
}

// receiveAsk notes that a node has missed something.
func (c *closing) receiveAsk(from kvpb.NodeID, _ []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.streams[from]; st != nil {
		st.whole, st.lost = true, false
	}
}

// RestingRanges returns how many ranges that are led here have a closed timestamp that
// rises by itself, and how many are looked at one by one.
func (s *Store) RestingRanges() (resting, active int) {
	s.closing.mu.Lock()
	defer s.closing.mu.Unlock()
	return len(s.closing.resting), len(s.closing.active)
}
