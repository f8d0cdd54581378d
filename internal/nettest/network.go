package nettest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/rpc"
)

// Network carries calls and messages between the nodes of a simulated cluster.
// What happens to a packet is drawn from the seed, the link, the time and the
// packet itself, so it does not depend on what else is under way. Packets arrive one
// at a time, each at an instant of its own, so that under virtual time everything
// comes to rest in between.
type Network struct {
	seed    uint64
	quality Quality
	trace   *Trace
	start   time.Time
	wake    chan struct{} // the next packet is due earlier than the dispatcher thinks
	quit    chan struct{}
	wg      sync.WaitGroup

	mu          sync.Mutex
	nodes       map[kvpb.NodeID]*Endpoint // those that live
	off         map[kvpb.NodeID]bool      // those that were powered off since
	addrs       map[string]kvpb.NodeID    // who listened at an address last
	lastPort    int                       // the port that was given out last
	links       map[linkID]*link
	queue       packetHeap
	seq         uint64
	dispatching bool
	earliest    time.Duration // of the next delivery
	calls       map[uint64]*call
	nextCall    uint64
	lastStream  uint64
	stats       Stats
	closed      bool
}

type linkID struct{ from, to kvpb.NodeID }

// Stats counts packets.
type Stats struct{ Sent, Delivered, Dropped, Duplicated int }

// NetworkOptions describe a network.
type NetworkOptions struct {
	Seed    uint64
	Quality Quality // of every link until SetQuality; zero: LAN
	Trace   *Trace  // may be nil
}

// NewNetwork returns a network without nodes.
func NewNetwork(o NetworkOptions) *Network {
	if o.Quality == (Quality{}) {
		o.Quality = LAN()
	}
	return &Network{seed: o.Seed, quality: o.Quality, trace: o.Trace, start: time.Now(),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
		nodes: map[kvpb.NodeID]*Endpoint{}, off: map[kvpb.NodeID]bool{}, addrs: map[string]kvpb.NodeID{}, links: map[linkID]*link{}, calls: map[uint64]*call{}}
}

// Hooks connect the clock of a node: every packet carries what Stamp returns when it
// is sent, and Observe hears of it before the packet's handler or caller does.
type Hooks struct {
	Stamp   func() hlc.Timestamp
	Observe func(hlc.Timestamp)
}

// Start starts a node and returns its transport. Its former incarnation must
// have ended.
func (n *Network) Start(id kvpb.NodeID, hooks Hooks) *Endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	must.True(n.nodes[id] == nil && !n.closed, "nettest: node %d runs already, or the network is closed", id)
	e := newEndpoint(n, id, hooks)
	n.nodes[id] = e
	delete(n.off, id)
	return e
}

// End says how an incarnation of a node ends, as its peers see it.
type End uint8

// The ends of incarnations.
const (
	// Killed: the process died. Its machine resets connections: calls to it end
	// as soon as that is heard.
	Killed End = iota
	// PoweredOff: nothing is heard from it. Calls to it end after the timeout of
	// the link.
	PoweredOff
)

// Crash ends the incarnation of a node: its transport sends nothing any more, its
// handlers are not called, the contexts of those running end and their answers are
// lost. Its own calls end at once. Who runs the node stops the rest of it.
func (n *Network) Crash(id kvpb.NodeID, how End) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.nodes[id]
	if e == nil {
		return
	}
	delete(n.nodes, id)
	n.off[id] = how == PoweredOff
	e.dead = true
	e.cancel()
	e.crashLocked(how)
	now := n.now()
	for _, c := range n.sortedCallsLocked() {
		switch {
		case c.from == e:
			n.expireLocked(c, now, unknownOutcome(errDied)) // one at a time
		case c.to == e && how == Killed:
			n.expireLocked(c, now+c.back.usual(), unknownOutcome(errReset))
		case c.to == e:
			n.expireLocked(c, now+c.back.quality.Timeout, unknownOutcome(errTimeout))
		}
	}
}

func (n *Network) sortedCallsLocked() []*call {
	calls := make([]*call, 0, len(n.calls))
	for _, c := range n.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.id, b.id) })
	return calls
}

// Close drops everything under way, ends all calls and waits until no handler runs.
func (n *Network) Close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.quit)
		n.queue = nil
		for _, e := range n.nodes {
			e.dead = true
			e.cancel()
			e.crashLocked(Killed)
		}
		for _, c := range n.sortedCallsLocked() {
			n.finishLocked(c, nil, unknownOutcome(errDied))
		}
		for _, l := range n.links {
			if l.more != nil {
				l.more.Signal()
			}
		}
	}
	n.mu.Unlock()
	n.wg.Wait()
}

// Stats returns what has happened so far.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stats
}

// selfLatency is how long a node takes to reach itself.
const selfLatency = 10 * time.Microsecond

func (n *Network) now() time.Duration { return time.Since(n.start) }

func (n *Network) linkLocked(from, to kvpb.NodeID) *link {
	id := linkID{from, to}
	l := n.links[id]
	if l == nil {
		l = &link{from: from, to: to, base: n.quality, last: map[rpc.Method]time.Duration{},
			seed: mix(mix(n.seed+uint64(from)) + uint64(to))}
		if from == to {
			l.base = Quality{Latency: selfLatency, Jitter: selfLatency, Timeout: n.quality.Timeout}
		}
		l.refresh()
		n.links[id] = l
	}
	return l
}

// SetQuality makes a direction of a link so good, but for degradations.
func (n *Network) SetQuality(from, to kvpb.NodeID, q Quality) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.linkLocked(from, to)
	l.base = q
	l.refresh()
}

// Cut cuts the link in one direction until heal is called.
func (n *Network) Cut(from, to kvpb.NodeID) (heal func()) {
	return n.cutAll([]linkID{{from, to}})
}

// Partition cuts all links between two groups, in both directions, until heal
// is called.
func (n *Network) Partition(a, b []kvpb.NodeID) (heal func()) {
	var links []linkID
	for _, x := range a {
		for _, y := range b {
			links = append(links, linkID{x, y}, linkID{y, x})
		}
	}
	return n.cutAll(links)
}

func (n *Network) cutAll(ids []linkID) (heal func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		n.linkLocked(id.from, id.to).cut(n.now())
		n.watchLocked(n.linkLocked(id.from, id.to))
	}
	return n.once(func() {
		for _, id := range ids {
			n.linkLocked(id.from, id.to).cuts--
		}
	})
}

// watchLocked ends the calls over a link that has been cut if it still is when its
// connections are given up.
func (n *Network) watchLocked(l *link) {
	for _, c := range n.sortedCallsLocked() {
		if c.back == l || c.back.from == l.to && c.back.to == l.from {
			n.pushLocked(&packet{kind: expire, due: n.now() + l.quality.Timeout, link: c.back, method: c.method,
				call: c, err: unknownOutcome(errTimeout), ifDead: l})
		}
	}
}

// once returns a function that does f under the network's mutex, once.
func (n *Network) once(f func()) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			f()
		})
	}
}

// Flap cuts the link of two nodes, in both directions, for about down after each
// stretch of about up, until heal is called.
func (n *Network) Flap(a, b kvpb.NodeID, up, down time.Duration) (heal func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := &flap{links: []*link{n.linkLocked(a, b), n.linkLocked(b, a)}, up: up, down: down}
	f.rng = rand.New(rand.NewPCG(f.links[0].seed, uint64(n.now())))
	f.next = n.now() + f.draw(up)
	for _, l := range f.links {
		l.flap = append(l.flap, f)
	}
	return n.once(func() {
		f.advance(n.now())
		for _, l := range f.links {
			if f.isDown {
				l.cuts--
			}
			l.flap = slices.DeleteFunc(l.flap, func(g *flap) bool { return f == g })
		}
	})
}

// Degrade changes the quality of a direction of a link until restore is called.
// Several degradations add up.
func (n *Network) Degrade(from, to kvpb.NodeID, worsen func(*Quality)) (restore func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, worse := n.linkLocked(from, to), &worsen
	l.worse = append(l.worse, worse)
	l.refresh()
	return n.once(func() {
		l.worse = slices.DeleteFunc(l.worse, func(p *func(*Quality)) bool { return p == worse })
		l.refresh()
	})
}
