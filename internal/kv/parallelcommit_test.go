package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// ranges is a node with several ranges and, beside its own gateway, others with routers whose
// messages can be made to fail.
type ranges struct {
	*clustertest.Node
	t     testing.TB
	name  string // of the case, in messages
	store *store.Store
	clock *hlc.Clock
	alive sync.Map // high half of transaction ids → bool, true where missing
	gates uint64
	gws   []*gateway
	peers *gateway
}

// gateway is one gateway of the cluster.
type gateway struct {
	c           *ranges
	incarnation uint64
	router      *dist.Router
	db          *kv.DB
	direct      bool // its messages are calls of the replicas, as on the node that leads the ranges

	mu sync.Mutex
	// meet is called before and after each message; an error stops it, or replaces
	// its answer.
	meet func(op string, key []byte, after bool) error
	// record is given each message of a commit across ranges, to send it again.
	record func(op string, send func() error)
	// onCommit replaces the way of a commit to its replica.
	onCommit func(s kvpb.Sender, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error
}

var errLost = errors.New("the message got lost")

// newRanges opens a store whose ranges begin at the given keys.
func newRanges(t testing.TB, f fs.FS, boundaries ...string) *ranges {
	t.Helper()
	n := clustertest.OpenWith(t, store.Options{FS: f, SegmentBytes: 1 << 18, MemTableBytes: 1 << 18, CacheBytes: 1 << 20})
	c := &ranges{Node: n, t: t, store: n.Store, clock: n.Clock, gates: uint64(n.Clock.Now().WallTime)}
	for i, b := range boundaries {
		_, d, err := c.store.Lookup(key(b))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(d.StartKey, key(b)) {
			continue // from an earlier incarnation of the store
		}
		r, _ := c.store.Replica(d.RangeID)
		if err := r.Split(context.Background(), key(b), kvpb.RangeID(2+i)); err != nil {
			t.Fatal(err)
		}
		c.waitFor(b)
	}
	c.peers = c.gateway()
	c.connect()
	return c
}

// restart closes the store and opens it again, for the same gateways. Nothing is applied
// anew, so that no replica remembers what happened before.
func (c *ranges) restart(f fs.FS, boundaries ...string) {
	c.t.Helper()
	if err := c.store.Engine().Flush(); err != nil {
		c.fatal(err)
	}
	c.Close()
	next := newRanges(c.t, f, boundaries...)
	c.Node, c.store = next.Node, next.store
	c.connect()
}

// waitFor waits until the range that holds a key has a leader.
func (c *ranges) waitFor(name string) {
	for range 1000 {
		if _, _, err := c.store.Lookup(key(name)); err == nil {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (c *ranges) connect() {
	for _, r := range c.store.Replicas() {
		r.ConnectTxns(replica.TxnDeps{Peers: c.peers.router, GatewayAlive: c.isAlive})
	}
}

// fatal reports an error that ends the case; it may run in any goroutine.
func (c *ranges) fatal(err error) {
	c.t.Helper()
	c.t.Errorf(c.name+"%v", err)
	runtime.Goexit()
}

func (c *ranges) isAlive(id kvpb.TxnID) bool {
	v, ok := c.alive.Load(id.Hi)
	return !ok || v.(bool)
}

func (c *ranges) close() {
	for _, g := range c.gws {
		g.set(nil)
		g.router.Close()
	}
	c.Close()
}

// local returns a gateway on the node of the replicas.
func (c *ranges) local() *gateway {
	g := c.gateway()
	g.direct = true
	return g
}

func (c *ranges) gateway() *gateway {
	c.gates++
	g := &gateway{c: c, incarnation: c.gates}
	g.router = dist.New(g, nil)
	g.db = kv.NewDB(g.router, c.clock, g.incarnation)
	c.gws = append(c.gws, g)
	return g
}

func (g *gateway) set(meet func(op string, key []byte, after bool) error) {
	g.mu.Lock()
	g.meet = meet
	g.mu.Unlock()
}

func (g *gateway) call(op string, key []byte, fn func() error) error {
	g.mu.Lock()
	meet := g.meet
	g.mu.Unlock()
	if meet == nil {
		return fn()
	}
	if err := meet(op, key, false); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	return meet(op, key, true)
}

// Lookup implements dist.Locator.
func (g *gateway) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	s, d, err := g.c.store.Lookup(key)
	if g.direct {
		return s, d, err
	}
	return &line{Sender: s, g: g}, d, err
}

// line is the way from a gateway to a replica.
type line struct {
	kvpb.Sender
	g *gateway
}

func (l *line) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if l.g.onCommit != nil {
		return l.g.onCommit(l.Sender, req, resp)
	}
	key := req.Anchor
	if len(req.Writes) > 0 {
		key = req.Writes[0].Key
	}
	return l.g.call("commit", key, func() error { return l.Sender.Commit(ctx, req, resp) })
}

func (l *line) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	return l.g.call("refresh", req.Spans[0].Key, func() error { return l.Sender.Refresh(ctx, req) })
}

func (l *line) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	return l.g.call("release", req.Locks[0], func() error { return l.Sender.Release(ctx, req) })
}

func (l *line) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	k := req.Anchor
	if len(req.Writes) > 0 {
		k = req.Writes[0].Key
	} else if len(req.Locks) > 0 {
		k = req.Locks[0]
	}
	copied, meta := *req, *req.Txn
	copied.Txn = &meta
	copied.Keys = cloneAll(req.Keys)
	copied.Locks = cloneAll(req.Locks)
	copied.Writes = nil
	for _, w := range req.Writes {
		copied.Writes = append(copied.Writes, kvpb.Write{Key: bytes.Clone(w.Key), Value: bytes.Clone(w.Value)})
	}
	copied.Anchor = bytes.Clone(req.Anchor)
	l.g.note("stage", func() error { return l.Sender.Stage(ctx, &copied, &kvpb.StageResponse{}) })
	return l.g.call("stage", k, func() error { return l.Sender.Stage(ctx, req, resp) })
}

func (l *line) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	op := [...]string{"end", "abort", "forget"}[req.Action]
	copied, meta := *req, *req.Txn
	copied.Txn = &meta
	l.g.note(op, func() error { return l.Sender.EndTxn(ctx, &copied, &kvpb.EndTxnResponse{}) })
	return l.g.call(op, req.Anchor, func() error { return l.Sender.EndTxn(ctx, req, resp) })
}

func (l *line) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	k := req.Span.Key
	if len(req.Keys) > 0 {
		k = req.Keys[0]
	}
	copied := *req
	l.g.note("resolve", func() error { return l.Sender.Resolve(ctx, &copied) })
	return l.g.call("resolve", k, func() error { return l.Sender.Resolve(ctx, req) })
}

func (l *line) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	return l.g.call("query", req.Keys[0], func() error { return l.Sender.QueryStaged(ctx, req, resp) })
}

func cloneAll(in [][]byte) [][]byte {
	out := make([][]byte, len(in))
	for i := range in {
		out[i] = bytes.Clone(in[i])
	}
	return out
}

func (g *gateway) note(op string, send func() error) {
	if g.record != nil {
		g.record(op, send)
	}
}

// setAll writes val to the keys under locks.
func setAll(ctx context.Context, txn *kv.Txn, val string, names ...string) error {
	for _, n := range names {
		if _, err := txn.Lock(ctx, key(n), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		if err := txn.Put(key(n), []byte(val)); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a transaction and its first statement.
func (g *gateway) begin(o kv.TxnOptions) *kv.Txn {
	txn := g.db.Begin(o)
	txn.BeginStatement()
	return txn
}

// writing begins a transaction that has written val to the keys under locks.
func (g *gateway) writing(o kv.TxnOptions, val string, names ...string) *kv.Txn {
	g.c.t.Helper()
	txn := g.begin(o)
	if err := setAll(context.Background(), txn, val, names...); err != nil {
		g.c.fatal(err)
	}
	return txn
}

func (g *gateway) mustSet(val string, names ...string) {
	g.c.t.Helper()
	ctx := context.Background()
	err := g.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error { return setAll(ctx, txn, val, names...) })
	if err != nil {
		g.c.fatal(err)
	}
}

// get reads keys in one transaction and returns their values.
func (g *gateway) get(names ...string) string {
	g.c.t.Helper()
	var out []string
	err := g.db.Run(context.Background(), func(ctx context.Context, txn *kv.Txn) error {
		out = out[:0]
		for _, n := range names {
			v, _, err := txn.Get(ctx, key(n))
			if err != nil {
				return err
			}
			out = append(out, string(v))
		}
		return nil
	})
	if err != nil {
		g.c.fatal(err)
	}
	return fmt.Sprint(out)
}

// clean fails the test if something provisional is left in the store.
func (c *ranges) clean() {
	c.t.Helper()
	for _, r := range c.store.Replicas() {
		if parts, records := r.Provisional(); parts+records > 0 {
			c.t.Errorf(c.name+"range %d: %d parts and %d records are left", r.RangeID(), parts, records)
		}
	}
}

func TestParallelCommit(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	g := c.gateway()
	g.mustSet("1", "a", "i", "q")
	if got := g.get("a", "i", "q"); got != "[1 1 1]" {
		t.Fatal(got)
	}
	other := c.gateway()
	other.mustSet("2", "q", "a")
	if got := other.get("a", "i", "q"); got != "[2 1 2]" {
		t.Fatal(got)
	}
	g.router.Wait()
	other.router.Wait()
	c.clean()
}

// dropLocks makes the leaders forget a transaction's row locks, as they do when
// its gateway has died.
func (c *ranges) dropLocks(id kvpb.TxnID, locked ...[]byte) {
	for _, k := range locked {
		_, d, err := c.store.Lookup(k)
		if err != nil {
			c.t.Fatal(err)
		}
		r, _ := c.store.Replica(d.RangeID)
		r.Locks().ReleaseAll(concurrency.TxnID(id), k)
	}
}

// unlockFor does the same for a gateway that lives: its client has gone.
func (c *ranges) unlockFor(id kvpb.TxnID, names ...string) {
	for _, n := range names {
		c.dropLocks(id, key(n))
	}
}
