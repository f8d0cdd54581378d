package liveness

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

const maxOffset = 250 * time.Millisecond

// network carries messages with delay, loss and broken links, all drawn from
// one seed.
type network struct {
	t   *testing.T
	mu  sync.Mutex
	rng *rand.Rand

	nodes      map[kvpb.NodeID]*node
	minDelay   time.Duration
	moreDelay  time.Duration
	loss       float64
	cut        map[[2]kvpb.NodeID]bool // from, to
	withClocks bool                    // messages carry the sender's clock
	messages   atomic.Int64
	withdrawn  int // supports that ended at their supporter
}

// node is one node with what outlives its process: the bound of its clock.
type node struct {
	net   *network
	id    kvpb.NodeID
	skew  atomic.Int64 // of the physical clock
	bound int64

	mu    sync.Mutex
	info  NodeInfo
	l     *Liveness // nil while down
	clock *hlc.Clock
	hooks hooks
	// promised is, per requester and epoch, the furthest grant; ended the clock's
	// time when it was withdrawn, or at which a restarted node would vote.
	promised map[promise]int64
	ended    map[promise]int64
}

// hooks are what a test hears from a node and tells it.
type hooks struct {
	onNode   func(NodeInfo)
	onChange func(kvpb.StoreID)
	clockBad bool
	oldest   int64
}

func (nd *node) hook() hooks {
	nd.mu.Lock()
	defer nd.mu.Unlock()
	return nd.hooks
}

func (nd *node) setHooks(h hooks) {
	nd.mu.Lock()
	defer nd.mu.Unlock()
	nd.hooks = h
}

type promise struct {
	to    kvpb.NodeID
	epoch int64
}

func newNetwork(t *testing.T, seed uint64, nodes int) *network {
	n := &network{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), nodes: map[kvpb.NodeID]*node{}, cut: map[[2]kvpb.NodeID]bool{},
		minDelay: time.Millisecond,
	}
	for i := 1; i <= nodes; i++ {
		n.add(kvpb.NodeID(i))
	}
	return n
}

func store(id kvpb.NodeID) kvpb.StoreID { return kvpb.StoreID(id) * 10 }

func (n *network) add(id kvpb.NodeID) *node {
	nd := &node{net: n, id: id, promised: map[promise]int64{}, ended: map[promise]int64{}}
	nd.info = NodeInfo{
		ID: id, Addr: fmt.Sprintf("host%d:1", id), Seq: 1,
		Stores: []StoreInfo{{ID: store(id)}, {ID: store(id) + 1}},
	}
	n.nodes[id] = nd
	return nd
}

// start starts nd, which knows the addresses of others.
func (nd *node) start(others ...kvpb.NodeID) {
	past := nd.bound > 0
	clock := hlc.New(func() int64 { return time.Now().UnixNano() + nd.skew.Load() }, maxOffset)
	if err := clock.Start(nd.bound, func(b int64) error { nd.bound = b; return nil }, nil); err != nil {
		nd.net.t.Fatal(err)
	}
	nd.mu.Lock()
	nd.info.Incarnation = clock.Now().WallTime
	nd.clock = clock
	nd.mu.Unlock()
	l := New(Options{
		Clock: clock, MaxOffset: maxOffset, NoPast: !past,
		Self: func() NodeInfo {
			_ = clock.Refresh() // as the owner of a clock does
			nd.mu.Lock()
			defer nd.mu.Unlock()
			return nd.info
		},
		Send: func(to kvpb.NodeID, msg []byte) bool { return nd.net.send(nd, clock, to, msg) },
		OnNode: func(i NodeInfo) {
			if f := nd.hook().onNode; f != nil {
				f(i)
			}
		},
		OnChange: func(s kvpb.StoreID) {
			if f := nd.hook().onChange; f != nil {
				f(s)
			}
		},
		ClockOK:    func() bool { return !nd.hook().clockBad },
		OldestRead: func() hlc.Timestamp { return hlc.Timestamp{WallTime: nd.hook().oldest} },
	})
	for _, o := range others {
		if o != nd.id {
			l.Learn(NodeInfo{ID: o, Addr: fmt.Sprintf("host%d:1", o)})
		}
	}
	nd.mu.Lock()
	nd.l = l
	nd.mu.Unlock()
	l.Start()
}

// mayStart reports whether the wall has reached the bound of the latest incarnation: a
// server waits for it, lest its clock be too far ahead of the others'.
func (nd *node) mayStart() bool { return time.Now().UnixNano()+nd.skew.Load() >= nd.bound }

// stop ends nd's process without a trace but the bound of its clock.
func (nd *node) stop() {
	nd.mu.Lock()
	l := nd.l
	nd.l = nil
	nd.mu.Unlock()
	l.Close()
}

func (nd *node) live() *Liveness {
	nd.mu.Lock()
	defer nd.mu.Unlock()
	return nd.l
}

func (n *network) send(from *node, clock *hlc.Clock, to kvpb.NodeID, msg []byte) bool {
	n.messages.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[[2]kvpb.NodeID{from.id, to}] || n.nodes[to] == nil {
		return false
	}
	if n.rng.Float64() < n.loss {
		return true
	}
	delay := n.minDelay
	if n.moreDelay > 0 {
		delay += time.Duration(n.rng.Int64N(int64(n.moreDelay)))
	}
	var ts hlc.Timestamp
	if n.withClocks {
		ts = clock.Now()
	}
	time.AfterFunc(delay, func() { n.deliver(from.id, to, msg, ts) })
	return true
}

func (n *network) deliver(from, to kvpb.NodeID, msg []byte, ts hlc.Timestamp) {
	nd := n.nodes[to]
	nd.mu.Lock()
	l, clock := nd.l, nd.clock
	nd.mu.Unlock()
	if l == nil {
		return
	}
	if !ts.IsEmpty() {
		_ = clock.Update(ts) // too far ahead: the clock stays
	}
	l.Receive(from, msg)
}

// observe records what every node promises, and fails when a node counts what
// its supporter has withdrawn or never granted.
func (n *network) observe() {
	for _, f := range n.nodes {
		if l := f.live(); l != nil {
			f.observePromises(l)
		}
	}
	for _, r := range n.nodes {
		l := r.live()
		if l == nil {
			continue
		}
		for _, f := range n.nodes {
			if f != r {
				n.checkCell(r, f, l)
			}
		}
	}
}

// observePromises looks at the grants of f, and withdraws those that are over.
func (f *node) observePromises(l *Liveness) {
	for _, r := range f.net.nodes {
		if r == f {
			continue
		}
		g := l.Granted(store(r.id))
		if g.Epoch != 0 {
			p := promise{r.id, g.Epoch}
			if at, over := f.ended[p]; over {
				f.net.t.Fatalf("node %d supports %d again in epoch %d, which ended at %d", f.id, r.id, g.Epoch, at)
			}
			if ahead := g.Until.WallTime - f.clock.Now().WallTime; ahead > int64(SupportFor+maxOffset) {
				f.net.t.Fatalf("node %d granted %v ahead of its clock", f.id, time.Duration(ahead))
			}
			f.promised[p] = max(f.promised[p], g.Until.WallTime)
		}
		if !l.MayVote() {
			continue
		}
		for p, until := range f.promised {
			if _, over := f.ended[p]; over || p.to != r.id || p.epoch == g.Epoch {
				continue
			}
			// From here on f may vote against r.
			now := f.clock.Now().WallTime
			if now <= until {
				f.net.t.Fatalf("node %d at %d took back from %d what it had granted until %d", f.id, now, r.id, until)
			}
			f.ended[p] = now
			f.net.withdrawn++
		}
	}
}

func (n *network) checkCell(r, f *node, l *Liveness) {
	s := l.From(store(f.id)).Support()
	if s.Epoch == 0 {
		return
	}
	p := promise{r.id, s.Epoch}
	granted, ok := f.promised[p]
	if !ok || s.Until.WallTime > granted {
		n.t.Fatalf("node %d counts on %d until %v in epoch %d, granted were %d", r.id, f.id, s.Until, s.Epoch, granted)
	}
	if at, over := f.ended[p]; over && s.Until.WallTime >= at {
		n.t.Fatalf("node %d counts on %d until %v, which may vote since %d", r.id, f.id, s.Until, at)
	}
}

// run lets time pass and observes in steps shorter than any message takes: a
// grant is recorded before its requester has it.
func (n *network) run(d time.Duration, every func()) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		synctest.Wait()
		n.observe()
		if every != nil {
			every()
		}
	}
}

func (n *network) ids() []kvpb.NodeID {
	var ids []kvpb.NodeID
	for i := 1; i <= len(n.nodes); i++ {
		ids = append(ids, kvpb.NodeID(i))
	}
	return ids
}

func (n *network) startAll() {
	for _, id := range n.ids() {
		n.nodes[id].start(n.ids()...)
	}
}

func (n *network) stopAll() {
	for _, nd := range n.nodes {
		if nd.live() != nil {
			nd.stop()
		}
	}
	time.Sleep(time.Second) // messages under way
}

// supported counts the ordered pairs of which the first node is supported by the
// second.
func (n *network) supported() int {
	pairs := 0
	for _, r := range n.nodes {
		for _, f := range n.nodes {
			if l := r.live(); r != f && l != nil && r.clock.Now().Less(l.From(store(f.id)).Until()) {
				pairs++
			}
		}
	}
	return pairs
}

// TestSafety lets clocks drift and jump within the maximum offset, links break
// one-way and both, messages be lost and late, and nodes restart with lost
// memory.
func TestSafety(t *testing.T) {
	seeds := uint64(9)
	if testing.Short() {
		seeds = 3
	}
	total := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { total += faults(t, seed) })
		})
	}
	if total < 20*int(seeds) {
		t.Fatalf("only %d supports ended: the faults do nothing", total)
	}
}

func faults(t *testing.T, seed uint64) int {
	n := newNetwork(t, seed, 3+int(seed%3))
	defer n.stopAll()
	n.withClocks = seed%2 == 0
	n.loss = []float64{0, 0.05, 0.4}[seed%3]
	n.moreDelay = []time.Duration{2, 50, 700}[seed/3%3] * time.Millisecond
	rng := rand.New(rand.NewPCG(seed, 2))
	id := func() kvpb.NodeID { return kvpb.NodeID(1 + rng.IntN(len(n.nodes))) }
	n.startAll()
	n.run(20*time.Second, func() {
		if rng.IntN(40) != 0 {
			return
		}
		switch nd := n.nodes[id()]; rng.IntN(5) {
		case 0: // any two clocks stay within maxOffset
			nd.skew.Store(rng.Int64N(int64(maxOffset)) - int64(maxOffset)/2)
		case 1:
			drift := nd.skew.Load() + rng.Int64N(int64(maxOffset)/20)
			nd.skew.Store(min(drift, int64(maxOffset)/2))
		case 2:
			n.mu.Lock()
			n.cut[[2]kvpb.NodeID{nd.id, id()}] = true
			n.mu.Unlock()
		case 3:
			if rng.IntN(2) == 0 {
				n.mu.Lock()
				clear(n.cut)
				n.mu.Unlock()
			}
		case 4:
			if nd.live() == nil {
				if nd.mayStart() {
					nd.start(1, 2)
				}
			} else if rng.IntN(4) == 0 {
				nd.stop()
			}
		}
	})
	// Healed, everyone supports everyone.
	n.mu.Lock()
	clear(n.cut)
	n.loss, n.moreDelay = 0, time.Millisecond
	n.mu.Unlock()
	for _, nd := range n.nodes {
		nd.skew.Store(0)
	}
	n.run(hlc.BoundWindow+maxOffset, nil)
	for _, nd := range n.nodes {
		if nd.live() == nil {
			nd.start(n.ids()...)
		}
	}
	n.run(4*time.Second, nil)
	if want := len(n.nodes) * (len(n.nodes) - 1); n.supported() != want {
		t.Fatalf("%d of %d pairs after the faults", n.supported(), want)
	}
	for id, nd := range n.nodes {
		if nd.l.digest != n.nodes[1].l.digest {
			t.Fatalf("nodes 1 and %d have different registries: %+v and %+v", id, n.nodes[1].l.Nodes(), nd.l.Nodes())
		}
	}
	return n.withdrawn
}
