package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// simOffset is how far apart the nodes' clocks may be.
const simOffset = 250 * time.Millisecond

// memTable is so large that the engine flushes only when it is told to: a flush that
// fails because its node was killed is tried again at once and without end, and keeps
// virtual time from passing until the node's end is noticed.
const memTable = 64 << 20

// Methods of the simulated nodes.
const (
	methodFirstRange rpc.Method = 51
	methodLiveness   rpc.Method = 52
	methodCatalog    rpc.Method = 53
)

// startWithin is how long a node may take to start.
const startWithin = 2 * time.Minute

// housekeepEvery is how often a node looks after its replicas, as a server does.
const housekeepEvery = time.Second

// resolveEvery is how many rounds pass until a merge that goes on is taken for given up.
const resolveEvery = 8

// node is one node of a simulated cluster, over its lives.
type node struct {
	id    kvpb.NodeID
	disk  *Disk
	clock *Clock

	mu    sync.Mutex
	life  *life // nil while it is down
	lives int
}

// life is one life of a node: everything above the disk.
type life struct {
	node      *node
	hlc       *hlc.Clock
	began     int64
	ep        *Endpoint
	store     *store.Store
	live      *liveness.Liveness
	router    *dist.Router
	dead      *dist.Deadlocks
	addresses *address.Registry
	db        *kv.DB
	// running are the requests that use the store; ended ends them with the life.
	running sync.WaitGroup
	ended   context.Context
	end     context.CancelFunc

	mu       sync.Mutex
	told     liveness.StoreInfo // what the others hear of its store
	tellings uint64             // how often that has changed
}

func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// cluster is a simulated cluster of key-value nodes.
type cluster struct {
	t       *testing.T
	net     *Network
	packets *Trace
	story   *Trace // what happened, in words
	nodes   []*node
	log     slog.Handler
	// onLife is told of each life that has begun, and ends with it.
	onLife func(*life)
	ttl    time.Duration // store.Options.GCTTL
	lag    time.Duration // store.Options.ClosedLag
	spill  int64         // how large write buffers grow, see kv.DB.SetSpill
	// onEnd is told of each life before its store is closed.
	onEnd func(*life)
	// intercept, if set, stands between the nodes' routers and the replicas they send to.
	intercept func(l *life, s kvpb.Sender) kvpb.Sender
	// muted methods are lost on their way from store to store.
	muted map[rpc.Method]bool

	cutKeys   []string // where ranges may be split
	lastRange atomic.Uint64
	changes   sync.WaitGroup
	ending    sync.WaitGroup           // lives that are over
	changed   [faultKinds]atomic.Int64 // changes that were made, by kind
}

func newCluster(t *testing.T, seed uint64, size int) *cluster {
	c := &cluster{t: t, packets: NewTrace(4000), story: NewTrace(100_000), log: slog.DiscardHandler}
	if os.Getenv("LICHEN_SIM_LOG") != "" {
		c.log = slog.NewTextHandler(os.Stderr, nil)
	}
	q := LAN()
	q.Reorder = seed%2 == 1 // messages of different methods overtake one another, as on several connections
	c.net = NewNetwork(NetworkOptions{Seed: seed, Quality: q, Trace: c.packets})
	for i := range size {
		n := &node{id: kvpb.NodeID(i + 1), disk: NewDisk(seed*100 + uint64(i)), clock: NewClock(0)}
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *cluster) node(id kvpb.NodeID) *node { return c.nodes[id-1] }

// start begins a life of a node. One that does not come up within startWithin stays down,
// which the end of the run finds.
func (c *cluster) start(id kvpb.NodeID) {
	n := c.node(id)
	for began := time.Now(); ; {
		l, err := c.open(n)
		if err == nil {
			n.mu.Lock()
			n.life = l
			n.lives++
			n.mu.Unlock()
			break
		}
		c.story.Addf("node %d does not start: %v", id, err)
		if time.Since(began) > startWithin {
			return
		}
		<-time.After(time.Second) // its disk is full or stalls
	}
	c.story.Addf("node %d serves, life %d", id, n.lives)
	for _, o := range c.nodes {
		if p := o.current(); p != nil {
			for _, q := range c.nodes {
				if r := q.current(); r != nil && q != o {
					p.live.Learn(c.info(q.id, r))
				}
			}
		}
	}
	if c.onLife != nil {
		c.onLife(n.current())
	}
}

func (c *cluster) info(id kvpb.NodeID, l *life) liveness.NodeInfo {
	d := l.store.Disk()
	is := liveness.StoreInfo{ID: kvpb.StoreID(id), Late: d.Late, Slow: d.Slow, Stalled: d.Stalled, Full: d.Full}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told != is {
		l.told = is
		l.tellings++
	}
	return liveness.NodeInfo{ID: id, Life: l.began, Seq: l.tellings, Stores: []liveness.StoreInfo{is}}
}

// waitForClock keeps a restarted node from running ahead of the others: its clock
// begins past the bound that its former life had reserved.
func waitForClock(h *hlc.Clock) {
	for h.Now().WallTime-h.PhysicalNow() > int64(simOffset/4) {
		<-time.After(20 * time.Millisecond)
	}
}

func (c *cluster) open(n *node) (*life, error) {
	l := &life{node: n, hlc: hlc.New(n.clock.Now, simOffset)}
	l.ended, l.end = context.WithCancel(context.Background())
	logger := slog.New(c.log).With("node", n.id)
	s, err := store.Open(store.Options{
		FS: n.disk.FS(), Dir: "store", Clock: l.hlc, CacheBytes: 1 << 20, MemTableBytes: memTable, NoTableStats: true, SegmentBytes: 64 << 10,
		Logger: logger, GCTTL: c.ttl, ClosedLag: c.lag, OnFatal: func(err error) { c.story.Addf("node %d: store failed: %v", n.id, err) },
		OldestRead: func() hlc.Timestamp { return hlc.Timestamp{} },
	})
	if err != nil {
		return nil, err
	}
	l.store = s
	opened := false
	defer func() {
		if opened {
			return
		}
		// Its disk is full or stalls; it is tried again.
		if l.ep != nil {
			c.net.Crash(n.id, Killed)
		}
		l.abandon()
	}()
	past := s.Identity() != store.Identity{}
	if !past {
		id := store.Identity{Cluster: "sim", Node: n.id, Store: kvpb.StoreID(n.id)}
		if n.id == 1 {
			err = s.Bootstrap(id)
		} else {
			err = s.Join(id)
		}
		if err != nil {
			return nil, err
		}
	}
	waitForClock(l.hlc)
	l.began = l.hlc.Now().WallTime
	c.connect(n, l, past, logger)
	if err := s.Start(); err != nil {
		return nil, err
	}
	l.live.Start()
	l.db = kv.NewDB(l.router, l.hlc, kvpb.GatewayLife(n.id, uint64(l.began)>>16))
	l.db.SetMaxOffset(simOffset)
	l.db.SetClocks(l.router.Clocks)
	l.db.SetSpill(c.spill)
	l.dead.SetOver(l.db.Over)
	s.ConnectTxns(l.txnDeps())
	l.running.Go(func() { l.addresses.Run(l.ended, l.db) })
	l.running.Go(func() { c.housekeep(l) })
	opened = true
	return l, nil
}

// gatewaySilence is after how long without a word of a gateway the locks of its
// transactions go to who waits for them, as in a server.
const gatewaySilence = 2 * time.Second

// txnDeps is what replicas ask about transactions.
func (l *life) txnDeps() replica.TxnDeps {
	return replica.TxnDeps{
		Peers: l.router,
		GatewayAlive: func(id kvpb.TxnID) bool {
			i, ok := l.live.Node(id.Gateway())
			life := uint64(i.Life) >> 16 & (1<<48 - 1)
			return !ok || life < id.GatewayStart() || life == id.GatewayStart() && l.live.GatewayAlive(i.ID, i.Life)
		},
		GatewayHeard: func(id kvpb.TxnID) bool { return l.live.Live(id.Gateway()) },
		Over: func(id kvpb.TxnID) bool {
			if id.Gateway() == l.node.id {
				return l.db.Over(id)
			}
			heard := l.live.LastHeard(id.Gateway())
			return !heard.IsZero() && time.Since(heard) > gatewaySilence || l.dead.Over(id)
		},
	}
}

// abandon closes what a life has opened that could not begin.
func (l *life) abandon() {
	l.end()
	if l.router != nil {
		l.router.Close()
		l.dead.Close()
	}
	_ = l.store.Close() // its disk may take nothing
}

// connect gives a life its network.
func (c *cluster) connect(n *node, l *life, past bool, logger *slog.Logger) {
	s := l.store
	l.ep = c.net.Start(n.id, Hooks{Stamp: l.hlc.Reading, Observe: func(ts hlc.Timestamp) { _ = l.hlc.Update(ts) }})
	l.live = liveness.New(liveness.Options{
		Clock: l.hlc, MaxOffset: simOffset, NoPast: !past, Logger: logger,
		ClockOK:  func() bool { return !s.Disk().Stalled },
		Self:     func() liveness.NodeInfo { return c.info(n.id, l) },
		Send:     func(to kvpb.NodeID, msg []byte) bool { return l.ep.Send(to, methodLiveness, msg) },
		OnChange: func(id kvpb.StoreID) { s.SupportChanged(id) },
	})
	l.ep.HandleMessage(methodLiveness, l.live.Receive)
	l.addresses = c.newRegistry(l)
	s.Connect(store.Network{
		Transport: c.transport(l.ep), Support: l.live, OthersAnswer: l.live.OthersAnswer,
		OnLeader: func(r *replica.Replica) {
			c.story.Addf("node %d leads range %d", n.id, r.RangeID())
			l.addresses.Publish(r)
		},
		OnDescriptor: func(r *replica.Replica) {
			if r.Leads() {
				c.story.Addf("node %d: %s", n.id, describe(r.Desc()))
				l.addresses.Publish(r)
			}
		},
	})
	l.dead = dist.NewDeadlocks(func() kvpb.NodeID { return n.id }, s.Waits(), l.ep)
	l.ep.Handle(dist.MethodWaits, l.serving(func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return l.dead.Serve(req)
	}))
	cfg := dist.Config{
		Node: n.id, Local: localRanges{s}, Caller: l.ep, Now: l.hlc.Now, FirstRange: l.addresses.FindFirstRange, Deadlocks: l.dead, ClosedLag: c.lag,
	}
	if c.intercept != nil {
		cfg.Intercept = func(s kvpb.Sender) kvpb.Sender { return c.intercept(l, s) }
	}
	l.router = dist.NewRouter(cfg)
	l.ep.Handle(dist.MethodClock, l.serving(func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		return dist.ServeClock(l.hlc), nil
	}))
	l.ep.Handle(dist.MethodKV, l.serving(func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return dist.Serve(ctx, func(id kvpb.RangeID) (kvpb.Sender, error) {
			r, ok := s.Replica(id)
			switch {
			case !ok || !r.Initialized():
				return nil, &kvpb.RangeMismatchError{Range: id}
			case s.Disk().Stalled:
				return nil, &kvpb.NotLeaderError{Range: id}
			}
			return r, nil
		}, req), nil
	}))
}

// quieted is an endpoint whose muted methods reach nobody.
type quieted struct {
	*Endpoint
	muted map[rpc.Method]bool
}

// Send implements rpc.Transport.
func (q quieted) Send(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	return q.muted[m] || q.Endpoint.Send(to, m, msg)
}

func (c *cluster) transport(ep *Endpoint) rpc.Transport {
	if len(c.muted) == 0 {
		return ep
	}
	return quieted{ep, c.muted}
}

// serving makes a handler one of the requests that end with the life.
func (l *life) serving(h rpc.Handler) rpc.Handler {
	return func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
		if !l.use() {
			return nil, rpc.ErrUnknownOutcome
		}
		defer l.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(l.ended, cancel)()
		return h(ctx, from, req)
	}
}

// newRegistry returns what keeps the addresses of a life's ranges.
func (c *cluster) newRegistry(l *life) *address.Registry {
	b := address.NewRegistry(address.Options{
		Replica: func(id kvpb.RangeID) (*replica.Replica, bool) {
			r, ok := l.store.Replica(id)
			return r, ok && r.Initialized()
		},
		Replicas: l.store.Replicas, Superseded: l.store.Superseded,
		Peers: func() (ids []kvpb.NodeID) {
			for _, o := range c.nodes {
				if o != l.node {
					ids = append(ids, o.id)
				}
			}
			return ids
		},
		Ask: func(ctx context.Context, id kvpb.NodeID) (*kvpb.RangeDescriptor, error) {
			p, err := l.ep.Call(ctx, id, methodFirstRange, nil)
			if err != nil {
				return nil, err
			}
			return apply.DecodeDescriptor(p)
		},
	})
	l.ep.Handle(methodFirstRange, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		if d := b.Known(); d != nil {
			return apply.EncodeDescriptor(d), nil
		}
		return nil, errors.New("not known here")
	})
	return b
}

// housekeep does what a server does for its replicas once in a while.
func (c *cluster) housekeep(l *life) {
	tick := time.NewTicker(housekeepEvery)
	defer tick.Stop()
	round := 0
	for {
		select {
		case <-l.ended.Done():
			return
		case <-tick.C:
		}
		for _, r := range l.store.Replicas() {
			if !r.Leads() {
				r.Reclaim()
			} else if len(r.Desc().Replicas) > 1 {
				r.Progress(func([]replica.FollowerProgress) {})
			}
		}
		if l.store.Disk().Full {
			c.shed(l, round)
		}
		if round++; round%resolveEvery == 0 {
			c.resolveMerges(l)
		}
	}
}

type localRanges struct{ s *store.Store }

func (l localRanges) Replica(id kvpb.RangeID) (kvpb.Sender, bool) {
	r, ok := l.s.Replica(id)
	if !ok || !r.Initialized() || l.s.Disk().Stalled {
		return nil, false
	}
	return r, true
}

// shed has the leaders of a store whose disk is full offer their ranges to others.
func (c *cluster) shed(l *life, round int) {
	for _, r := range l.store.Replicas() {
		if !r.Leads() {
			continue
		}
		d := r.Desc()
		for i := range d.Replicas {
			rep := d.Replicas[(i+round)%len(d.Replicas)]
			if o := c.node(rep.Node).current(); rep.Replica != r.ReplicaID() && rep.Type == kvpb.Voter && o != nil && well(o.store.Disk()) {
				r.TransferLeader(rep.Replica)
				break
			}
		}
	}
}

func well(d store.DiskState) bool { return !d.Stalled && !d.Full && !d.Slow }

// use notes that a request uses a life; it reports false when that has ended.
func (l *life) use() bool {
	n := l.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.ended.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

// stop ends a life of a node; network and disk may have gone before. What remains of
// the life comes to its end in the background, where it reaches nobody any more.
func (c *cluster) stop(id kvpb.NodeID) {
	if l := c.retire(id); l != nil {
		c.ending.Go(func() { c.end(l) })
	}
}

// leave ends a life of a node in good order.
func (c *cluster) leave(id kvpb.NodeID) {
	if l := c.retire(id); l != nil {
		c.end(l)
	}
}

// retire takes a node's life out of use and returns it.
func (c *cluster) retire(id kvpb.NodeID) *life {
	n := c.node(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.life
	n.life = nil
	if l != nil {
		l.end()
		c.story.Addf("node %d ends", id)
	}
	return l
}

// end closes what a life consists of.
func (c *cluster) end(l *life) {
	l.live.Close()
	l.running.Wait()
	l.router.Close()
	l.dead.Close()
	if c.onEnd != nil {
		c.onEnd(l)
	}
	_ = l.store.Close() // its disk may be gone
}

// close ends all nodes and the network.
func (c *cluster) close() {
	for _, n := range c.nodes {
		c.stop(n.id)
	}
	c.ending.Wait()
	<-time.After(time.Minute) // what ended lives still try fails by then
	c.net.Close()
}

// lives returns the present lives of all nodes.
func (c *cluster) lives() (out []*life) {
	for _, n := range c.nodes {
		if l := n.current(); l != nil {
			out = append(out, l)
		}
	}
	return out
}

// led runs fn on the leader of a range, wherever it is, until it succeeds.
func (c *cluster) led(id kvpb.RangeID, fn func(r *replica.Replica) error) {
	c.t.Helper()
	var last error
	for range 3000 {
		for _, l := range c.lives() {
			if r, ok := l.store.Replica(id); ok && r.Leads() {
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
	for _, n := range c.nodes {
		c.start(n.id)
	}
	for _, n := range c.nodes[1:min(replicas, len(c.nodes))] {
		for _, k := range []replica.ChangeKind{replica.AddLearner, replica.Promote} {
			ch := []replica.Change{{Kind: k, Node: n.id, Store: kvpb.StoreID(n.id)}}
			c.led(1, func(r *replica.Replica) error { return r.ChangeReplicas(ctx, ch) })
		}
	}
	c.lastRange.Store(1)
	all := append([]string{metaEnd}, cuts...)
	for i := len(all) - 1; i >= 0; i-- {
		id := kvpb.RangeID(c.lastRange.Add(1))
		c.led(1, func(r *replica.Replica) error { return r.Split(ctx, []byte(all[i]), id) })
	}
}

func describe(d *kvpb.RangeDescriptor) string {
	s := fmt.Sprintf("range %d [%q,%q) generation %d:", d.RangeID, d.StartKey, d.EndKey, d.Generation)
	for _, r := range d.Replicas {
		s += fmt.Sprintf(" %d@%d/%v", r.Replica, r.Store, r.Type)
	}
	return s
}
