package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
)

// wire joins the stores of a test: messages take a millisecond, unless the link is
// cut.
type wire struct {
	mu    sync.Mutex
	nodes map[kvpb.NodeID]*port
	cut   map[[2]kvpb.NodeID]bool
	// lost, if not nil, says which messages get lost.
	lost func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool
	// onCall, if not nil, sees each call before it arrives; its error is what the
	// caller gets.
	onCall func(from, to kvpb.NodeID, m rpc.Method, req []byte) error
}

type port struct {
	w        *wire
	id       kvpb.NodeID
	clock    *hlc.Clock
	handlers map[rpc.Method]rpc.Handler
	messages map[rpc.Method]rpc.MessageHandler
	down     atomic.Bool
}

func (p *port) Handle(m rpc.Method, h rpc.Handler)               { p.handlers[m] = h }
func (p *port) HandleMessage(m rpc.Method, h rpc.MessageHandler) { p.messages[m] = h }

func (p *port) target(to kvpb.NodeID) *port {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	o := p.w.nodes[to]
	if o == nil || o.down.Load() || p.down.Load() || p.w.cut[[2]kvpb.NodeID{p.id, to}] {
		return nil
	}
	return o
}

func (p *port) Send(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	now := p.clock.Reading() // as rpc does
	time.AfterFunc(time.Millisecond, func() {
		if o := p.target(to); o != nil && o.messages[m] != nil && !p.loses(to, m, msg) {
			_ = o.clock.Update(now)
			o.messages[m](p.id, msg)
		}
	})
	return true
}

func (p *port) loses(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	p.w.mu.Lock()
	lost := p.w.lost
	p.w.mu.Unlock()
	return lost != nil && lost(p.id, to, m, msg)
}

// lose sets which messages get lost from now on.
func (w *wire) lose(lost func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool) {
	w.mu.Lock()
	w.lost = lost
	w.mu.Unlock()
}

func (p *port) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	time.Sleep(time.Millisecond)
	o := p.target(to)
	if o == nil || o.handlers[m] == nil {
		return nil, rpc.ErrNotSent
	}
	if p.w.onCall != nil {
		req = bytes.Clone(req)
		if err := p.w.onCall(p.id, to, m, req); err != nil {
			return nil, err
		}
	}
	return o.handlers[m](ctx, p.id, req)
}

// testNode is a store with what it needs of a node.
type testNode struct {
	id   kvpb.NodeID
	s    *Store
	live *liveness.Liveness
	// support is live as the store sees it.
	support *supportOnce
	port    *port
	fs      *fs.MemFS
	life    int64
	told    toldOfDisk
	wrap    func(fs.FS) fs.FS // of the file system
	// onClock, if set, is called by who looks at the clock next, once.
	onClock atomic.Pointer[func()]
}

// toldOfDisk is what a node has told the others of its disk.
type toldOfDisk struct {
	mu   sync.Mutex
	late bool
	seq  uint64
}

func (d *toldOfDisk) info(id kvpb.NodeID, life int64, is DiskState) liveness.NodeInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late != is.Late {
		d.late = is.Late
		d.seq++
	}
	return liveness.NodeInfo{ID: id, Life: life, Seq: d.seq, Stores: []liveness.StoreInfo{{ID: kvpb.StoreID(id), Late: d.late}}}
}

type testCluster struct {
	ttl    atomic.Int64 // of all ranges; 0 for the default
	limits SnapshotLimits
	t      *testing.T
	wire   *wire
	nodes  []*testNode
}

func newTestCluster(t *testing.T, n int) *testCluster {
	return newTestClusterWith(t, n, SnapshotLimits{})
}

func newTestClusterWith(t *testing.T, n int, limits SnapshotLimits) *testCluster {
	c := &testCluster{t: t, limits: limits, wire: &wire{nodes: map[kvpb.NodeID]*port{}, cut: map[[2]kvpb.NodeID]bool{}}}
	for i := range n {
		nd := &testNode{id: kvpb.NodeID(i + 1), fs: fs.NewCrashableMem()}
		c.nodes = append(c.nodes, nd)
		c.open(nd)
	}
	c.introduce()
	return c
}

func (c *testCluster) logger(nd *testNode) *slog.Logger {
	if os.Getenv("LICHEN_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", nd.id)
}

func (c *testCluster) open(nd *testNode) {
	c.t.Helper()
	clock := hlc.New(func() int64 {
		if stop := nd.onClock.Swap(nil); stop != nil {
			(*stop)()
		}
		return time.Now().UnixNano()
	}, 250*time.Millisecond)
	var disk fs.FS = nd.fs
	if nd.wrap != nil {
		disk = nd.wrap(disk)
	}
	s, err := Open(Options{
		FS: disk, Dir: "s", Clock: clock, Logger: c.logger(nd), CacheBytes: 1 << 20, MemTableBytes: 1 << 20, Snapshots: c.limits,
		TTL: func(_, _ []byte) time.Duration {
			if ttl := c.ttl.Load(); ttl != 0 {
				return time.Duration(ttl)
			}
			return DefaultGCTTL
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	nd.s = s
	nd.life = clock.Now().WallTime
	past := s.Identity() != Identity{}
	if !past {
		id := Identity{Cluster: "test", Node: nd.id, Store: kvpb.StoreID(nd.id)}
		if nd.id == 1 {
			err = s.Bootstrap(id)
		} else {
			err = s.Join(id)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	nd.port = &port{w: c.wire, id: nd.id, clock: clock, handlers: map[rpc.Method]rpc.Handler{}, messages: map[rpc.Method]rpc.MessageHandler{}}
	c.wire.mu.Lock()
	c.wire.nodes[nd.id] = nd.port
	c.wire.mu.Unlock()
	nd.live = liveness.New(liveness.Options{
		Clock: clock, MaxOffset: 250 * time.Millisecond, NoPast: !past,
		Self: func() liveness.NodeInfo {
			return nd.told.info(nd.id, nd.life, s.Disk())
		},
		Send:     func(to kvpb.NodeID, msg []byte) bool { return nd.port.Send(to, 99, msg) },
		OnChange: func(id kvpb.StoreID) { nd.s.SupportChanged(id) },
	})
	nd.port.HandleMessage(99, nd.live.Receive)
	nd.support = &supportOnce{Liveness: nd.live}
	s.Connect(Network{Transport: nd.port, Support: nd.support, OthersAnswer: nd.live.OthersAnswer})
	if err := s.Start(); err != nil {
		c.t.Fatal(err)
	}
	nd.live.Start()
}

// introduce tells all nodes of one another.
func (c *testCluster) introduce() {
	for _, a := range c.nodes {
		for _, b := range c.nodes {
			if a != b {
				a.live.Learn(liveness.NodeInfo{ID: b.id, Life: b.life, Stores: []liveness.StoreInfo{{ID: kvpb.StoreID(b.id)}}})
			}
		}
	}
}

func (c *testCluster) close(nd *testNode) {
	if nd.port.down.Load() {
		return
	}
	nd.port.down.Store(true)
	nd.live.Close()
	if err := nd.s.Close(); err != nil {
		c.t.Error(err)
	}
}

func (c *testCluster) closeAll() {
	for _, nd := range c.nodes {
		c.close(nd)
	}
}

// leader returns the replica that leads a range, nil if none does.
func (c *testCluster) leader(id kvpb.RangeID) *replica.Replica {
	for _, nd := range c.nodes {
		if r, ok := nd.s.Replica(id); ok && !nd.port.down.Load() && r.Leads() {
			return r
		}
	}
	return nil
}

// do runs fn against the leader of a range until it succeeds.
func (c *testCluster) do(id kvpb.RangeID, fn func(r *replica.Replica) error) time.Duration {
	c.t.Helper()
	start := time.Now()
	var last error
	for time.Since(start) < 20*time.Second {
		if r := c.leader(id); r != nil {
			if last = fn(r); last == nil {
				return time.Since(start)
			}
			var nl *kvpb.NotLeaderError
			if !errors.As(last, &nl) && !errors.Is(last, replica.ErrBusy) && !errors.Is(last, replica.ErrBehind) {
				c.t.Logf("retry: %v", last)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, nd := range c.nodes {
		if r, ok := nd.s.Replica(id); ok && !nd.port.down.Load() {
			c.t.Logf("node %d: %s", nd.id, r.Describe(ctx))
			for _, o := range c.nodes {
				sid := kvpb.StoreID(o.id)
				c.t.Logf("  store %d: from it %+v, to it %+v", o.id, nd.live.From(sid).Support(), nd.live.Granted(sid))
			}
		}
	}
	c.t.Fatalf("no success within 20 s: %v", last)
	return 0
}

func meta(nd *testNode, n uint64) *kvpb.TxnMeta {
	ts := nd.port.clock.Now()
	return &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: uint64(nd.id), Lo: n}, ReadTS: ts, StartTS: ts}
}

var txnCount uint64

func (c *testCluster) put(id kvpb.RangeID, key, value string) time.Duration {
	c.t.Helper()
	return c.do(id, func(r *replica.Replica) error {
		txnCount++
		m := meta(c.nodes[0], txnCount)
		m.Isolation = kvpb.ReadCommitted
		return r.Commit(context.Background(), &kvpb.CommitRequest{
			Txn: m, Writes: []kvpb.Write{{Key: []byte(key), Value: []byte(value)}},
		}, &kvpb.CommitResponse{})
	})
}

func (c *testCluster) get(id kvpb.RangeID, key string) (v string) {
	c.t.Helper()
	c.do(id, func(r *replica.Replica) error {
		txnCount++
		var resp kvpb.GetResponse
		ts := c.leaderClock(r).Now()
		m := &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: 1, Lo: txnCount}, ReadTS: ts, StartTS: ts}
		err := r.Get(context.Background(), &kvpb.GetRequest{Txn: m, Key: []byte(key)}, &resp)
		v = string(resp.Value)
		return err
	})
	return v
}

func (c *testCluster) leaderClock(r *replica.Replica) *hlc.Clock {
	for _, nd := range c.nodes {
		if o, ok := nd.s.Replica(r.RangeID()); ok && o == r {
			return nd.port.clock
		}
	}
	return c.nodes[0].port.clock
}

// replicate gives a range replicas on all nodes.
func (c *testCluster) replicate(id kvpb.RangeID) {
	c.t.Helper()
	for _, nd := range c.nodes[1:] {
		for _, k := range []replica.ChangeKind{replica.AddLearner, replica.Promote} {
			c.do(id, func(r *replica.Replica) error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				return r.ChangeReplicas(ctx, []replica.Change{{Kind: k, Node: nd.id, Store: kvpb.StoreID(nd.id)}})
			})
			time.Sleep(time.Second)
		}
	}
}

func TestReplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.put(1, "\x10a", "1")
		c.replicate(1)
		d := c.leader(1).Desc()
		if len(d.Replicas) != 3 {
			t.Fatalf("replicas: %v", d.Replicas)
		}
		for i := range 50 {
			c.put(1, fmt.Sprintf("\x10k%d", i), "v")
		}
		time.Sleep(time.Second)
		want := c.leader(1).AppliedIndex()
		for _, nd := range c.nodes {
			r, ok := nd.s.Replica(1)
			if !ok || r.AppliedIndex() != want {
				t.Errorf("node %d: applied %v", nd.id, r)
			}
		}
		if v := c.get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
	})
}

func TestLeaderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		for round := range 6 {
			key := fmt.Sprintf("\x10r%d", round)
			c.put(1, key, "old")
			var dead *testNode
			lead := c.leader(1)
			for _, nd := range c.nodes {
				if r, ok := nd.s.Replica(1); ok && r == lead {
					dead = nd
				}
			}
			c.close(dead)
			// Support lasts for 1.2 s; an election that fails is repeated soon.
			if took := c.put(1, key, "new"); took > 3*time.Second {
				t.Errorf("round %d: writes took %v to succeed again", round, took)
			}
			if v := c.get(1, key); v != "new" {
				t.Errorf("%s = %q", key, v)
			}
			c.open(dead)
			c.introduce()
			time.Sleep(5 * time.Second)
			if r, _ := dead.s.Replica(1); r.AppliedIndex() != c.leader(1).AppliedIndex() {
				t.Errorf("round %d: node %d did not catch up: %d, leader %d", round, dead.id, r.AppliedIndex(), c.leader(1).AppliedIndex())
			}
		}
	})
}

func TestSplitReplicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		for i := range 10 {
			c.put(1, fmt.Sprintf("\x10%c", 'a'+i), "v")
		}
		c.do(1, func(r *replica.Replica) error { return r.Split(context.Background(), []byte("\x10f"), 2) })
		c.put(2, "\x10z", "right")
		c.put(1, "\x10a", "left")
		if v := c.get(2, "\x10g"); v != "v" {
			t.Errorf("g = %q", v)
		}
		err := c.leader(1).Get(context.Background(), &kvpb.GetRequest{Txn: meta(c.nodes[0], 1<<40), Key: []byte("\x10z")}, &kvpb.GetResponse{})
		var mm *kvpb.RangeMismatchError
		if !errors.As(err, &mm) {
			t.Errorf("a key of the right half at the left: %v", err)
		}
	})
}

// A node whose engine is from before the range had other replicas finds them in its
// log, and does not take itself for the only voter.
func TestRestartBeforeReplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		first := c.nodes[0]
		c.replicate(1)
		c.put(1, "\x10a", "1")
		// The process dies: the log is there, the engine as of its last flush.
		first.port.down.Store(true)
		first.live.Close()
		disk := fs.CrashClone(first.fs, 0, 1)
		old := first.s
		first.fs = disk
		c.open(first)
		c.introduce()
		if r, ok := first.s.Replica(1); !ok || len(r.Desc().Replicas) != 3 {
			t.Errorf("the replica's descriptor after the restart: %+v", r.Desc())
		}
		if v := c.get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
		_ = old.Close()
	})
}
