package sim

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clustersetting "github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sqlnode"
	"github.com/lichendb/lichen/internal/store"
)

// simOffset is how far apart the nodes' clocks may be.
const simOffset = 250 * time.Millisecond

// memTable is so large that the engine flushes only when it is told to: a flush that
// fails because its node was killed is tried again at once and without end, and keeps
// virtual time from passing until the node's end is noticed.
const memTable = 64 << 20

// simMemory is what the statements and the write buffers of a node may take.
const simMemory = 64 << 20

// openPause is the pause between two attempts of a node to serve SQL.
const openPause = 200 * time.Millisecond

// startWithin is how long a node may take to start.
const startWithin = 2 * time.Minute

// machine is where the incarnations of a node of a simulated cluster run.
type machine struct {
	id    kvpb.NodeID
	disk  *Disk
	clock *Clock

	mu           sync.Mutex
	incarnation  *incarnation // nil while it is down
	incarnations int
	last         store.Identity // of the latest incarnation that was ready
	// Of whole nodes: booting is the incarnation that is not ready yet, down says that an operator keeps
	// the machine down.
	booting *incarnation
	down    bool
}

// incarnation is one process of a node: everything above the disk, as a server runs it. The SQL part opens
// while the node serves others.
type incarnation struct {
	node   *machine
	hlc    *hlc.Clock
	ep     *nettest.Endpoint
	kv     *kvnode.Node
	sql    *sqlnode.Node      // nil unless cluster.sql
	began  int64              // kv.Incarnation
	store  *store.Store       // the only one of kv.Store
	live   *liveness.Liveness // kv.Live
	router *dist.Router       // kv.Router
	db     *kv.DB             // kv.DB
	member *member            // nil unless cluster.whole
	// running are the requests that use the store; ended ends them with the incarnation.
	running sync.WaitGroup
	ended   context.Context
	end     context.CancelFunc
}

func (n *machine) current() *incarnation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.incarnation
}

// identity returns that of the store, which the machine has while it is down as well.
func (n *machine) identity() store.Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// cluster is a simulated cluster of key-value nodes.
type cluster struct {
	t       *testing.T
	net     *nettest.Network
	packets *nettest.Trace
	story   *nettest.Trace // what happened, in words
	nodes   []*machine
	log     slog.Handler
	ttl     time.Duration // store.Options.GCTTL
	lag     time.Duration // store.Options.ClosedLag
	spill   int64         // how large write buffers grow, see kv.DB.SetSpill
	online  bool          // indexes are all built online, see sql.Config.IngestAlways
	// onEnd is called for each incarnation before its store is closed.
	onEnd func(*incarnation)
	// intercept, if set, stands between the nodes' routers and the replicas they send to.
	intercept func(inc *incarnation, s kvpb.Sender) kvpb.Sender
	// places has replicas placed as by a server, once the cluster is founded; else they stay
	// where the test puts them.
	places  bool
	founded bool
	// sql has the nodes serve SQL.
	sql bool
	// whole has the machines run whole nodes, which get their ids from the cluster.
	whole bool
	// onFatal is told of a whole node that ended by itself and should not have.
	onFatal func(error)
	// muted methods are lost on their way from store to store.
	muted map[rpc.Method]bool

	cutKeys []string // where ranges may be split
	changes sync.WaitGroup
	ending  sync.WaitGroup           // incarnations that have ended
	changed [faultKinds]atomic.Int64 // changes that were made, by kind
}

func newCluster(t *testing.T, seed uint64, size int) *cluster {
	c := &cluster{t: t, packets: nettest.NewTrace(4000), story: nettest.NewTrace(100_000), log: slog.DiscardHandler}
	if os.Getenv("LICHEN_SIM_LOG") != "" {
		c.log = slog.NewTextHandler(os.Stderr, nil)
	}
	q := nettest.LAN()
	q.Reorder = seed%2 == 1 // messages of different methods overtake one another, as on several connections
	c.online = seed%2 == 0
	c.net = nettest.NewNetwork(nettest.NetworkOptions{Seed: seed, Quality: q, Trace: c.packets})
	for i := range size {
		n := &machine{id: kvpb.NodeID(i + 1), disk: NewDisk(seed*100 + uint64(i)), clock: NewClock(0)}
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *cluster) node(id kvpb.NodeID) *machine { return c.nodes[id-1] }

// start starts a node. One that does not come up within startWithin stays down,
// which the end of the run finds.
func (c *cluster) start(id kvpb.NodeID) {
	n := c.node(id)
	if c.whole {
		c.boot(n, nil)
		return
	}
	for began := time.Now(); ; {
		inc, err := c.open(n)
		if err == nil {
			n.mu.Lock()
			n.incarnation, n.last = inc, inc.store.Identity()
			n.incarnations++
			n.mu.Unlock()
			break
		}
		c.story.Addf("node %d does not start: %v", id, err)
		if time.Since(began) > startWithin {
			return
		}
		<-time.After(time.Second) // its disk is full or stalls
	}
	c.story.Addf("node %d serves, incarnation %d", id, n.incarnations)
	for _, o := range c.nodes {
		if p := o.current(); p != nil {
			for _, q := range c.nodes {
				if r := q.current(); r != nil && q != o {
					p.live.Learn(c.info(q.id, r))
				}
			}
		}
	}
}

func (c *cluster) info(id kvpb.NodeID, inc *incarnation) liveness.NodeInfo {
	return liveness.NodeInfo{ID: id, Incarnation: inc.kv.Incarnation, Seq: inc.kv.Stats.Seq(), Stores: inc.kv.StoreInfos()}
}

func (c *cluster) open(n *machine) (*incarnation, error) {
	inc := &incarnation{node: n, hlc: hlc.New(n.clock.Now, simOffset)}
	inc.ended, inc.end = context.WithCancel(context.Background())
	opened := false
	defer func() {
		if opened {
			return
		}
		// Its disk is full or stalls; it is tried again.
		if inc.ep != nil {
			c.net.Crash(n.id, nettest.Killed)
		}
		inc.abandon()
	}()
	var err error
	o := c.options(inc)
	if inc.kv, err = kvnode.New(o); err != nil {
		return nil, err
	}
	inc.store, inc.live, inc.began = inc.kv.Store.First(), inc.kv.Live, inc.kv.Incarnation
	if inc.store.Identity() == (store.Identity{}) {
		id := store.Identity{Cluster: "sim", Node: n.id, Store: kvpb.StoreID(n.id)}
		if n.id == 1 {
			err = inc.store.Bootstrap(id)
		} else {
			err = inc.store.Join(id)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := inc.kv.Store.Start(); err != nil {
		return nil, err
	}
	inc.live.Start()
	inc.kv.OpenGateway(inc.ended)
	inc.router, inc.db = inc.kv.Router, inc.kv.DB
	inc.kv.StartRanges(inc.ended)
	if c.places && c.founded {
		inc.kv.StartPlacement(inc.ended)
	}
	if c.sql {
		inc.sql = sqlnode.New(sqlnode.Options{
			KV: inc.kv, Transport: o.Transport, Settings: o.Settings, Go: o.Go, Memory: o.Memory, Version: "simulated", Logger: o.Logger,
			IngestAlways: c.online,
		})
		inc.running.Go(func() { c.serveSQL(inc) })
	}
	opened = true
	return inc, nil
}

// serveSQL opens the SQL part of an incarnation, once the ranges of the catalog are led.
func (c *cluster) serveSQL(inc *incarnation) {
	for inc.ended.Err() == nil {
		err := inc.sql.Open(inc.ended)
		if err == nil {
			inc.sql.Start(inc.ended)
			c.story.Addf("node %d serves SQL", inc.node.id)
			return
		}
		c.story.Addf("node %d does not serve SQL yet: %v", inc.node.id, err)
		<-time.After(openPause)
	}
}

// options returns the options of an incarnation: the network, the disk and the clock are simulated.
func (c *cluster) options(inc *incarnation) kvnode.Options {
	n, logger := inc.node, slog.New(c.log).With("node", inc.node.id)
	o := kvnode.Options{
		Store: store.Options{
			FS: n.disk.FS(), Clock: inc.hlc, CacheBytes: 1 << 20, MemTableBytes: memTable, NoTableStats: true, SegmentBytes: 64 << 10,
			Logger: logger, GCTTL: c.ttl, ClosedLag: c.lag,
			OldestRead: func() hlc.Timestamp { return hlc.Timestamp{} }, // nobody waits for readers that are behind
		},
		Dirs: []string{"store"}, Transport: &incarnationTransport{inc: inc, c: c}, MaxOffset: simOffset,
		Self:      func() liveness.NodeInfo { return c.info(n.id, inc) },
		ClockOK:   func() bool { return true },
		RoundTrip: func(kvpb.NodeID) (time.Duration, bool) { return 0, false },
		Ready:     func() bool { return true },
		Check:     func() error { return nil },
		Capacity:  func(*store.Store) (total, used, own int64) { return simDisk, 0, 0 },
		OnLeader:  func(r *replica.Replica) { c.story.Addf("node %d leads range %d", n.id, r.RangeID()) },
		OnDescriptor: func(r *replica.Replica) {
			c.story.Addf("node %d: %s", n.id, describe(r.Desc()))
		},
		OnFatal:  func(err error) { c.story.Addf("node %d: store failed: %v", n.id, err) },
		Settings: clustersetting.NewLive(clustersetting.Default()), Go: inc.running.Go, Spill: c.spill, Logger: logger, Memory: quota.NewPool("node", simMemory),
	}
	if c.intercept != nil {
		o.Intercept = func(s kvpb.Sender) kvpb.Sender { return c.intercept(inc, s) }
	}
	return o
}

// simDisk is the size that disks are said to have.
const simDisk = 1 << 40

// abandon closes the parts of an incarnation that could not start.
func (inc *incarnation) abandon() {
	inc.end()
	if inc.kv != nil {
		inc.running.Wait()
		inc.kv.Disconnect()
		_ = inc.kv.Store.Close() // its disk may take nothing
	}
}

// incarnationTransport is the transport of an incarnation. Its endpoint starts with the first handler, when
// the clock may be shown; its requests end with the incarnation.
type incarnationTransport struct {
	inc *incarnation
	c   *cluster
}

func (t *incarnationTransport) endpoint() *nettest.Endpoint {
	if inc := t.inc; inc.ep == nil {
		inc.ep = t.c.net.Start(inc.node.id, nettest.Hooks{Stamp: inc.hlc.Reading, Observe: func(ts hlc.Timestamp) { _ = inc.hlc.Update(ts) }})
	}
	return t.inc.ep
}

// Handle implements rpc.Transport.
func (t *incarnationTransport) Handle(m rpc.Method, h rpc.Handler) {
	t.endpoint().Handle(m, t.inc.serving(h))
}

// HandleMessage implements rpc.Transport.
func (t *incarnationTransport) HandleMessage(m rpc.Method, h rpc.MessageHandler) {
	t.endpoint().HandleMessage(m, h)
}

// Call implements rpc.Transport.
func (t *incarnationTransport) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	return t.inc.ep.Call(ctx, to, m, req)
}

// Send implements rpc.Transport. Muted methods reach nobody.
func (t *incarnationTransport) Send(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	return t.c.muted[m] || t.inc.ep.Send(to, m, msg)
}

// serving makes a handler one of the requests that end with the incarnation.
func (inc *incarnation) serving(h rpc.Handler) rpc.Handler {
	return func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
		if !inc.use() {
			return nil, rpc.ErrUnknownOutcome
		}
		defer inc.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(inc.ended, cancel)()
		return h(ctx, from, req)
	}
}

// use counts a request that uses the incarnation; it returns false if that has ended.
func (inc *incarnation) use() bool {
	n := inc.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if inc.ended.Err() != nil {
		return false
	}
	inc.running.Add(1)
	return true
}

// stop ends a node's process, whose network and disk may have gone before. The rest of the process ends in
// the background, where it reaches nobody any more.
func (c *cluster) stop(id kvpb.NodeID) {
	if inc := c.retire(id); inc != nil {
		c.ending.Go(func() { c.end(inc) })
	}
}

// leave shuts a node down in good order.
func (c *cluster) leave(id kvpb.NodeID) {
	if inc := c.retire(id); inc != nil {
		c.end(inc)
	}
}

// retire takes a node's present incarnation out of use and returns it.
func (c *cluster) retire(id kvpb.NodeID) *incarnation {
	n := c.node(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	inc := n.incarnation
	if inc == nil {
		inc = n.booting
	}
	n.incarnation, n.booting = nil, nil
	if inc != nil {
		inc.end()
		c.story.Addf("node %d ends", id)
	}
	return inc
}

// end closes the parts of an incarnation.
func (c *cluster) end(inc *incarnation) {
	if inc.member != nil {
		inc.member.end()
		return
	}
	inc.live.Close()
	if inc.sql != nil {
		inc.kv.Router.FailFast() // what its sessions still clean up reaches nobody
	}
	inc.running.Wait()
	if inc.sql != nil {
		_ = inc.sql.Close(inc.ended) // nor does what it would tell
	}
	inc.kv.Disconnect()
	if c.onEnd != nil {
		c.onEnd(inc)
	}
	_ = inc.kv.Store.Close() // its disk may be gone
}

// close ends all nodes and the network.
func (c *cluster) close() {
	for _, n := range c.nodes {
		n.keepDown(true)
		c.stop(n.id)
	}
	c.ending.Wait()
	<-time.After(time.Minute) // what ended processes still try fails by then
	c.net.Close()
}

// running returns the present incarnations of all nodes.
func (c *cluster) running() (out []*incarnation) {
	for _, n := range c.nodes {
		if inc := n.current(); inc != nil {
			out = append(out, inc)
		}
	}
	return out
}

// of returns the present incarnation of a node of the cluster; nil if it is down.
func (c *cluster) of(id kvpb.NodeID) *incarnation {
	for _, inc := range c.running() {
		if inc.kv.ID() == id {
			return inc
		}
	}
	return nil
}

// led runs fn on the leader of a range, wherever it is, until it succeeds.
func (c *cluster) led(id kvpb.RangeID, fn func(r *replica.Replica) error) {
	c.t.Helper()
	var last error
	for range 3000 {
		for _, inc := range c.running() {
			if r, ok := inc.store.Replica(id); ok && r.Leads() {
				if last = fn(r); last == nil {
					return
				}
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	c.t.Fatalf("range %d: %v", id, last)
}

// found starts all nodes, gives range 1 replicas on the first three and cuts it: the
// meta records by themselves, and at keys.
func (c *cluster) found(cuts ...string) {
	ctx := context.Background()
	if c.whole {
		c.foundWhole(cuts)
		return
	}
	for _, n := range c.nodes {
		c.start(n.id)
	}
	for _, n := range c.nodes[1:min(replicas, len(c.nodes))] {
		for _, k := range []replica.ChangeKind{replica.AddLearner, replica.Promote} {
			ch := []replica.Change{{Kind: k, Node: n.id, Store: kvpb.StoreID(n.id)}}
			c.led(1, func(r *replica.Replica) error { return r.ChangeReplicas(ctx, ch) })
		}
	}
	all := append([]string{metaEnd}, cuts...)
	for i := len(all) - 1; i >= 0; i-- {
		id := c.newRangeID()
		c.led(1, func(r *replica.Replica) error { return r.Split(ctx, []byte(all[i]), id) })
	}
	c.founded = true
	for _, inc := range c.running() {
		if c.places {
			inc.kv.StartPlacement(inc.ended)
		}
	}
}

// newRangeID returns an id that no range has had.
func (c *cluster) newRangeID() kvpb.RangeID {
	c.t.Helper()
	var last error
	for range 1000 {
		id, err := c.nodes[0].current().db.Increment(context.Background(), "range-id", 1)
		if err == nil {
			return kvpb.RangeID(id)
		}
		last = err
		<-time.After(20 * time.Millisecond)
	}
	c.t.Fatalf("an id for a range: %v", last)
	return 0
}

func describe(d *kvpb.RangeDescriptor) string {
	s := fmt.Sprintf("range %d [%q,%q) generation %d:", d.RangeID, d.StartKey, d.EndKey, d.Generation)
	for _, r := range d.Replicas {
		s += fmt.Sprintf(" %d@%d/%v", r.Replica, r.Store, r.Type)
	}
	return s
}
