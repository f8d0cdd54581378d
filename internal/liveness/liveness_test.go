package liveness

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// bubble runs f with a network of so many nodes, all started and knowing one
// another, in virtual time.
func bubble(t *testing.T, nodes int, f func(t *testing.T, n *network)) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, 1, nodes)
		n.withClocks = true
		n.startAll()
		defer n.stopAll()
		f(t, n)
	})
}

func (n *network) sever(from, to kvpb.NodeID, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]kvpb.NodeID{from, to}] = cut
}

func TestSupportForms(t *testing.T) {
	bubble(t, 4, func(t *testing.T, n *network) {
		n.run(20*time.Millisecond, nil) // no heartbeat interval is waited for
		if got := n.supported(); got != 12 {
			t.Fatalf("%d of 12 pairs", got)
		}
		l := n.nodes[1].l
		cell := l.From(store(2))
		if cell != l.From(store(2)) || cell.Until() != l.From(store(2)+1).Until() {
			t.Fatal("the cell of a store moved, or a store of the same node has other support")
		}
		epoch := cell.Support().Epoch
		n.run(10*time.Second, func() {
			if left := cell.Until().WallTime - n.nodes[1].clock.PhysicalNow(); left < int64(SupportFor-HeartbeatEvery)-int64(10*time.Millisecond) {
				t.Fatalf("only %v of support left", time.Duration(left))
			}
		})
		if cell.Support().Epoch != epoch {
			t.Fatal("a support without a gap got a new epoch")
		}
		if own := l.From(store(1)); own.Until() != hlc.MaxTimestamp || !l.Supports(store(1)) {
			t.Fatalf("own store until %v", own.Until())
		}
		if l.Supports(999) || !l.From(999).Until().IsEmpty() || !l.Granted(999).Until.IsEmpty() {
			t.Fatal("support with an unknown store")
		}
	})
}

// TestDeath shows when support ends after a node's death, that both directions
// are told of it then, and that a new incarnation waits for the end of the old one's support.
func TestDeath(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		var mu sync.Mutex
		events := 0
		l := n.nodes[1].l
		n.nodes[1].setHooks(hooks{onChange: func(s kvpb.StoreID) {
			mu.Lock()
			defer mu.Unlock()
			if s != store(2) && s != store(2)+1 {
				t.Errorf("a change of store %d", s)
			}
			events++
		}})
		n.run(2*time.Second, nil)
		if events != 4 { // granted and received, two stores
			t.Fatalf("%d events of support that began once", events)
		}
		granted, counted := l.Granted(store(2)), l.From(store(2)).Support()
		n.nodes[2].stop()
		died := time.Now()
		for l.Supports(store(2)) {
			granted = l.Granted(store(2))
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if d := time.Since(died); d < SupportFor-HeartbeatEvery || d > SupportFor+10*time.Millisecond {
			t.Fatalf("support was withdrawn %v after the death", d)
		}
		time.Sleep(HeartbeatEvery)
		synctest.Wait()
		if events != 8 || !l.From(store(2)).Until().IsEmpty() {
			t.Fatalf("%d events, %v left", events, l.From(store(2)).Until())
		}
		time.Sleep(5 * time.Second)
		n.nodes[2].start(1)
		n.run(50*time.Millisecond, nil)
		again := l.Granted(store(2))
		if got := l.From(store(2)).Support(); again.Epoch <= granted.Epoch || got.Epoch <= counted.Epoch {
			t.Fatalf("epochs %d after %d, %d after %d", again.Epoch, granted.Epoch, got.Epoch, counted.Epoch)
		}
	})
}

func TestNewIncarnationWaitsForTheOld(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		l := n.nodes[1].l
		old := l.Granted(store(2))
		n.nodes[2].stop()
		n.nodes[2].start(1)
		sawGap := false
		n.run(4*time.Second+hlc.BoundWindow, func() {
			switch g := l.Granted(store(2)); {
			case g.Epoch == 0:
				sawGap = true
			case g.Epoch == old.Epoch && g.Until.WallTime > old.Until.WallTime+int64(HeartbeatEvery):
				t.Fatal("the new incarnation renews the support of the old one")
			}
		})
		if g := l.Granted(store(2)); !sawGap || g.Epoch <= old.Epoch {
			t.Fatalf("gap %v, epoch %d after %d", sawGap, g.Epoch, old.Epoch)
		}
	})
}

// TestDeafNode shows that a node that no answer reaches loses the support of
// those that it still talks to, so that they can elect another leader: not much later
// than that of one that is gone.
func TestDeafNode(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		n.sever(2, 1, true)
		n.run(echoFor+50*time.Millisecond, nil)
		if n.nodes[2].l.Supports(store(1)) || !n.nodes[3].l.Supports(store(1)) {
			t.Fatal("node 2 supports a node that does not hear it, or node 3 does not support one that does")
		}
		if !n.nodes[1].l.Supports(store(2)) == n.nodes[2].clock.Now().Less(n.nodes[2].l.From(store(1)).Until()) {
			t.Fatal("node 1 can't hear node 2 and yet supports it")
		}
		n.sever(2, 1, false)
		n.run(2*time.Second, nil)
		if n.supported() != 6 {
			t.Fatalf("%d of 6 pairs after healing", n.supported())
		}
	})
}

func TestMayVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, 1, 1)
		nd := n.nodes[1]
		nd.start()
		if !nd.l.MayVote() {
			t.Fatal("a node without a past has to wait")
		}
		nd.stop()
		time.Sleep(10 * time.Second)
		nd.start()
		began := time.Now()
		for !nd.l.MayVote() {
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(began); d < SupportFor+maxOffset || d > SupportFor+maxOffset+5*time.Millisecond {
			t.Fatalf("voted after %v", d)
		}
		if New(Options{Clock: nd.clock}).MayVote() {
			t.Fatal("voted before Start")
		}
		nd.stop()
	})
}

func TestClockNotOK(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		n.nodes[1].setHooks(hooks{clockBad: true})
		n.run(2*time.Second, nil)
		if n.nodes[2].l.Supports(store(1)) || !n.nodes[1].l.Supports(store(2)) {
			t.Fatal("a node with a wrong clock asked for support, or gave none")
		}
		n.nodes[1].setHooks(hooks{})
		n.run(time.Second, nil)
		if n.supported() != 2 {
			t.Fatal("no support after the clock is right")
		}
	})
}

// TestIdleCost counts the messages: two heartbeats and their answers per pair and
// interval, and nothing else.
func TestIdleCost(t *testing.T) {
	bubble(t, 5, func(t *testing.T, n *network) {
		time.Sleep(5*time.Second + HeartbeatEvery/2)
		synctest.Wait()
		before := n.messages.Load()
		time.Sleep(10 * HeartbeatEvery)
		synctest.Wait()
		if got := n.messages.Load() - before; got != 10*5*4*2 {
			t.Fatalf("%d messages of 5 nodes in 10 intervals", got)
		}
	})
}

func TestJoin(t *testing.T) {
	bubble(t, 5, func(t *testing.T, n *network) {
		n.run(3*time.Second, nil)
		n.add(6).start(4) // knows one of them
		n.run(time.Second, nil)
		n.known(t, 6)
		if n.supported() != 30 {
			t.Fatalf("%d of 30 pairs support each other", n.supported())
		}
		moved := n.nodes[6]
		moved.mu.Lock()
		moved.info.Addr, moved.info.Seq = "elsewhere:1", 2
		moved.info.Draining = true
		moved.mu.Unlock()
		n.run(HeartbeatEvery+10*time.Millisecond, nil)
		for id, nd := range n.nodes {
			if got, _ := nd.l.Node(6); got.Addr != "elsewhere:1" || !got.Draining {
				t.Fatalf("node %d has %+v", id, got)
			}
		}
	})
}

// known checks that everyone who runs knows so many nodes.
func (n *network) known(t *testing.T, want int) {
	t.Helper()
	for id, nd := range n.nodes {
		if l := nd.live(); l != nil {
			if got := l.Nodes(); len(got) != want {
				t.Fatalf("node %d knows %d of %d nodes: %+v", id, len(got), want, got)
			}
			for i, info := range l.Nodes() {
				if info.ID != kvpb.NodeID(i+1) || len(info.Stores) != 2 {
					t.Fatalf("node %d has %+v", id, info)
				}
			}
		}
	}
}

// TestIndirectSpread shows that infos pass through third nodes.
func TestIndirectSpread(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		n.sever(1, 3, true)
		n.sever(3, 1, true)
		n.nodes[3].mu.Lock()
		n.nodes[3].info.Locality, n.nodes[3].info.Seq = "region=x", 9
		n.nodes[3].mu.Unlock()
		n.run(4*HeartbeatEvery, nil)
		if got, _ := n.nodes[1].l.Node(3); got.Locality != "region=x" {
			t.Fatalf("node 1 has %+v", got)
		}
	})
}

func TestRemoved(t *testing.T) {
	bubble(t, 4, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		n.nodes[4].stop()
		n.nodes[1].l.Learn(NodeInfo{ID: 4, Removed: true})
		n.run(time.Second, nil)
		for id := kvpb.NodeID(1); id < 4; id++ {
			got, _ := n.nodes[id].l.Node(4)
			if !got.Removed || got.Addr != "host4:1" || n.nodes[id].l.GatewayAlive(4, got.Incarnation) || n.nodes[id].l.Live(4) {
				t.Fatalf("node %d has %+v", id, got)
			}
		}
		n.run(4*time.Second, nil)
		notified := make(chan NodeInfo, 10)
		back := n.nodes[4]
		back.setHooks(hooks{onNode: func(i NodeInfo) {
			if i.ID == 4 {
				notified <- i
			}
		}})
		back.start(2)
		n.run(2*time.Second, nil)
		if len(notified) != 1 || !(<-notified).Removed {
			t.Fatal("the removed node was not told, or more than once")
		}
		if self, _ := back.l.Node(4); !self.Removed {
			t.Fatalf("the removed node says %+v", self)
		}
		for id := kvpb.NodeID(1); id < 4; id++ {
			if n.nodes[id].l.Supports(store(4)) || !back.l.From(store(id)).Until().IsEmpty() {
				t.Fatalf("node %d supports the removed one", id)
			}
		}
	})
}

// TestMutualRemoval shows that two nodes that think each other removed do not
// talk in circles.
func TestMutualRemoval(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		n.nodes[1].l.Learn(NodeInfo{ID: 2, Removed: true})
		n.nodes[2].l.Learn(NodeInfo{ID: 1, Removed: true})
		n.run(time.Second, nil)
		before := n.messages.Load()
		n.run(4*time.Second, nil)
		if got := n.messages.Load() - before; got > 0 {
			t.Fatalf("%d messages", got)
		}
	})
}

func TestAlive(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		l := n.nodes[1].l
		incarnation := n.nodes[2].info.Incarnation
		self := n.nodes[1].info.Incarnation
		if !l.Live(2) || !l.Live(1) || l.Live(7) || !l.GatewayAlive(2, incarnation) || !l.GatewayAlive(1, self) || l.GatewayAlive(1, self-1) {
			t.Fatal("who is alive is not")
		}
		if !l.LastContact(7).IsZero() || time.Since(l.LastContact(2)) > HeartbeatEvery {
			t.Fatal("last heard")
		}
		if !l.GatewayAlive(7, 1) { // it may just have joined
			t.Fatal("a node not heard of yet is taken for dead")
		}
		n.nodes[2].stop()
		n.run(LiveFor+10*time.Millisecond, nil)
		if l.Live(2) || !l.GatewayAlive(2, incarnation) {
			t.Fatal("after LiveFor")
		}
		n.run(DeadGatewayAfter, nil)
		if l.GatewayAlive(2, incarnation) || l.GatewayAlive(7, 1) {
			t.Fatal("after DeadGatewayAfter")
		}
		n.nodes[2].start(1)
		n.run(50*time.Millisecond, nil)
		if l.GatewayAlive(2, incarnation) || !l.GatewayAlive(2, n.nodes[2].info.Incarnation) {
			t.Fatal("after a restart")
		}
	})
}

// TestOthersKnowBetter shows that a node hears when the others have a newer
// info about it, and that what it says next is newer still.
func TestOthersKnowBetter(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		n.run(time.Second, nil)
		notified := make(chan NodeInfo, 10)
		n.nodes[3].setHooks(hooks{onNode: func(i NodeInfo) {
			if i.ID != 3 {
				return
			}
			notified <- i
			n.nodes[3].mu.Lock()
			defer n.nodes[3].mu.Unlock()
			n.nodes[3].info.Decommissioning = i.Decommissioning
			n.nodes[3].info.Seq++
		}})
		info, _ := n.nodes[1].l.Node(3)
		info.Decommissioning = true
		info.Seq += 100
		n.nodes[1].l.Learn(info)
		n.run(2*time.Second, nil)
		if len(notified) != 1 || !(<-notified).Decommissioning {
			t.Fatal("node 3 was not told, or more than once")
		}
		for id, nd := range n.nodes {
			if got, _ := nd.l.Node(3); !got.Decommissioning || got.Seq <= info.Seq {
				t.Fatalf("node %d has %+v", id, got)
			}
		}
	})
}

// TestSelfAmongTheKnown shows that a node that loads an node registry with its
// own earlier incarnation in it is none of its peers.
func TestSelfAmongTheKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, 1, 1)
		nd := n.nodes[1]
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, maxOffset)
		nd.info.Incarnation = clock.Now().WallTime
		earlier := nd.info
		earlier.Incarnation, earlier.Seq = 5, 50
		l := New(Options{Clock: clock, Self: func() NodeInfo { return nd.info }})
		l.Learn(earlier)
		l.Start()
		if got := l.Nodes(); len(got) != 1 || got[0].Incarnation != nd.info.Incarnation || l.digest != got[0].mix() {
			t.Fatalf("%+v", got)
		}
		if !l.Supports(store(1)) || l.From(store(1)).Until() != hlc.MaxTimestamp {
			t.Fatal("no support for the own store")
		}
		l.Close()
		l.Close()
	})
}

func TestBadInput(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		var log strings.Builder
		l := n.nodes[1].l
		n.run(time.Second, nil)
		l.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for range 3 {
			l.Receive(2, []byte("nonsense"))
			l.Receive(2, nil)
		}
		l.Receive(0, []byte("nonsense"))
		if got := strings.Count(log.String(), "heartbeat refused"); got != 1 {
			t.Fatalf("%d lines: %s", got, log.String())
		}
		l.Learn(NodeInfo{ID: 3, Addr: strings.Repeat("x", maxString+1)})
		l.Learn(NodeInfo{})
		if len(l.Nodes()) != 2 {
			t.Fatal("a bad info was learnt")
		}
		l.Learn(NodeInfo{ID: 3, Stores: []StoreInfo{{ID: store(1)}, {ID: store(2)}}})
		if !strings.Contains(log.String(), "two nodes have one store") || !l.Supports(store(1)) || !l.Supports(store(2)) {
			t.Fatalf("a node with others' stores: %s", log.String())
		}
		// A request for ever, and one for a time that has passed.
		for _, ask := range []int64{1 << 62, 1, -5} {
			e := newMessage(n.nodes[2].info.Incarnation, 1<<40, l.sinceStart(), n.nodes[1].info.Incarnation, version{})
			e.requestUntil(ask)
			l.Receive(2, e.b)
		}
		if until := l.Granted(store(2)).Until.WallTime; until > n.nodes[1].clock.Now().WallTime+int64(SupportFor+maxOffset) {
			t.Fatalf("granted until %d", until)
		}
	})
}

// TestConcurrentUse lets readers meet renewals and withdrawals; it is for the
// race detector, and checks that an epoch does not come back.
func TestConcurrentUse(t *testing.T) {
	clock := hlc.New(func() int64 { return 1 }, 0) // moves by one with each look
	l := New(Options{Clock: clock, NoPast: true, Self: func() NodeInfo {
		return NodeInfo{ID: 1, Incarnation: 7, Stores: []StoreInfo{{ID: 1}}}
	}})
	l.Start()
	defer l.Close()
	l.Learn(NodeInfo{ID: 2, Incarnation: 5, Stores: []StoreInfo{{ID: 2}}})
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 3 {
		wg.Go(func() {
			var last, ended int64
			for !done.Load() {
				switch g := l.Granted(2); {
				case g.Epoch == 0:
					ended = last
				case g.Epoch < last || g.Epoch == ended:
					t.Errorf("epoch %d after %d, which ended: %v", g.Epoch, last, ended == last)
					return
				default:
					last = g.Epoch
				}
				l.From(2).Until()
			}
		})
	}
	for range 20000 {
		e := newMessage(5, 1, l.sinceStart(), 7, version{})
		e.requestUntil(clock.Now().WallTime + 5)
		l.Receive(2, e.b)
	}
	done.Store(true)
	wg.Wait()
}
