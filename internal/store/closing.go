package store

import (
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/closedts"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/replica"
)

// forgetEvery is the number of ticks after which state of removed ranges is dropped.
const forgetEvery = 120

// closing is the store's part in closed timestamps (package closedts). It closes timestamps of the
// ranges led here, sends them to the other nodes, and receives those of other stores. It implements
// replica.Closing.
type closing struct {
	*closedts.Receiver
	s   *Store
	lag time.Duration

	mu     sync.Mutex
	closed hlc.Timestamp // of all tracked ranges
	// active are the leaders that tick visits one by one. The others are in tracked, with their group:
	// their closed timestamps rise without a visit.
	active  map[*replica.Replica]struct{}
	tracked map[*replica.Replica]string
	groups  map[string]*trackedGroup
	sender  *closedts.Sender
}

// trackedGroup are the tracked ranges whose leaders have the same supporters.
type trackedGroup struct {
	by      *lease.Supporters
	members map[*replica.Replica]struct{}
}

func newClosing(s *Store, lag time.Duration) *closing {
	applied := func(id kvpb.RangeID) uint64 {
		if r, ok := s.Replica(id); ok {
			return r.AppliedIndex()
		}
		return 0
	}
	return &closing{
		Receiver: closedts.NewReceiver(applied), s: s, lag: lag, sender: closedts.NewSender(),
		active: map[*replica.Replica]struct{}{}, tracked: map[*replica.Replica]string{}, groups: map[string]*trackedGroup{},
	}
}

// lead adds a leader.
func (c *closing) lead(r *replica.Replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.tracked[r]; !ok {
		c.active[r] = struct{}{}
	}
}

// EndTracking implements replica.Closing.
func (c *closing) EndTracking(r *replica.Replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untrack(r)
}

// untrack makes a range active. The caller holds c.mu.
func (c *closing) untrack(r *replica.Replica) {
	key, ok := c.tracked[r]
	if !ok {
		return
	}
	delete(c.tracked, r)
	g := c.groups[key]
	if delete(g.members, r); len(g.members) == 0 {
		delete(c.groups, key)
	}
	c.sender.Untrack(r.RangeID())
	c.Untrack(r.RangeID())
	r.Untracked(c.closed)
	c.active[r] = struct{}{}
}

// track makes a range tracked. The caller holds c.mu.
func (c *closing) track(r *replica.Replica, index uint64, by *lease.Supporters) {
	c.tracked[r] = by.Key
	if c.groups[by.Key] == nil {
		c.groups[by.Key] = &trackedGroup{by: by, members: map[*replica.Replica]struct{}{}}
	}
	c.groups[by.Key].members[r] = struct{}{}
	delete(c.active, r)
	c.Track(r.RangeID(), index)
	c.sender.Track(r.RangeID(), index, c.peers(r))
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
			c.Forget(func(id kvpb.RangeID) bool {
				_, ok := c.s.Replica(id)
				return ok
			})
		}
	}
}

// tick closes timestamps and sends them to the other nodes.
func (c *closing) tick() {
	ts := hlc.Timestamp{WallTime: c.s.opts.Clock.PhysicalNow() - int64(c.lag)} // Now may wait for the disk
	c.mu.Lock()
	defer c.mu.Unlock()
	alone := c.s.net.Transport == nil
	if !alone {
		if ts.LessEq(c.closed) {
			return
		}
		c.raise(ts)
	}
	for r := range c.active {
		switch {
		case !r.Leading():
			delete(c.active, r)
		case !alone:
			c.closeOne(r, ts)
		case r.HasFeeds():
			// A closed timestamp makes transactions commit above it. A single node needs it only for feeds.
			r.CloseFeeds(ts)
		}
	}
	if !alone {
		c.send()
	}
}

// raise raises the closed timestamp of all tracked ranges whose leaders' support lasts until then. The
// caller holds c.mu.
func (c *closing) raise(ts hlc.Timestamp) {
	for _, g := range c.groups {
		if !g.by.Cover(ts) {
			for r := range g.members {
				c.untrack(r)
			}
		}
	}
	c.closed = ts
	c.Raise(ts)
}

// closeOne closes the timestamp of an active range, or begins to track it. The caller holds c.mu.
func (c *closing) closeOne(r *replica.Replica, ts hlc.Timestamp) {
	if index, by, ok := r.BeginTracking(ts); ok {
		c.track(r, index, by)
		return
	}
	if closed, index, ok := r.CloseAt(ts); ok {
		k := closedts.Item{Range: r.RangeID(), Index: index, TS: closed}
		c.Note(k)
		c.sender.Say(k, c.peers(r))
	}
}

// send sends the updates. The caller holds c.mu.
func (c *closing) send() {
	from := closedts.Message{Store: c.s.Identity().Store, Process: c.s.began}
	c.sender.Flush(from, c.closed, func(n kvpb.NodeID, m *closedts.Message) bool {
		return c.s.net.Transport.Send(n, MethodClosed, m.Encode())
	})
}

func (s *Store) receiveClosed(from kvpb.NodeID, msg []byte) { s.closing.receive(from, msg) }

func (s *Store) receiveAskClosed(from kvpb.NodeID, _ []byte) { s.closing.resend(from) }

// receive processes the closed timestamps of another store. If an update was lost, it requests all of them
// again.
func (c *closing) receive(from kvpb.NodeID, msg []byte) {
	var m closedts.Message
	if err := m.Decode(msg); err != nil {
		c.s.opts.Logger.Error("closed timestamps", "node", from, "err", err)
		return
	}
	if c.Receive(&m, time.Now()) {
		c.s.net.Transport.Send(from, MethodAskClosed, nil)
	}
}

// resend puts all closed timestamps into the next message to a node that has lost an update.
func (c *closing) resend(to kvpb.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sender.Resend(to)
}

// TrackedRanges returns how many ranges led here are tracked, and how many are visited one by one.
func (s *Store) TrackedRanges() (tracked, active int) {
	s.closing.mu.Lock()
	defer s.closing.mu.Unlock()
	return len(s.closing.tracked), len(s.closing.active)
}
