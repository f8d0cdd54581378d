package kvnode

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/balance/storepool"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/consistency"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/rebalance"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/spanconfig"
	"github.com/lichendb/lichen/internal/store"
)

// Options are the surroundings of a Node, and its configuration.
type Options struct {
	// Store are the options of the stores in Dirs. New adds the hooks of the other parts: the time to
	// live of old versions, the protected timestamps and, unless OldestRead is set, the oldest read.
	Store store.Options
	Dirs  []string
	// Transport connects the node with the others.
	Transport rpc.Transport
	// Alone: the node is a cluster by itself.
	Alone     bool
	MaxOffset time.Duration
	// Self returns the node's info for the others.
	Self     func() liveness.NodeInfo
	Locality string
	// ClockOK reports whether the node's clock is near enough to the others'. RoundTrip returns the
	// measured time of a round trip to another node, and false without one.
	ClockOK   func() bool
	RoundTrip func(kvpb.NodeID) (time.Duration, bool)
	// Ready reports whether the node may take part in changes of ranges on behalf of others. Check
	// returns why the node can't answer for the cluster yet.
	Ready func() bool
	Check func() error
	// Capacity is rangestats.Options.Capacity.
	Capacity func(*store.Store) (total, used, own int64)
	// OnNode is called for nodes that became known or have changed, OnLeader for leaderships that begin
	// here, OnDescriptor for changed descriptors of ranges that are led here. Each may be nil.
	OnNode       func(liveness.NodeInfo)
	OnLeader     func(*replica.Replica)
	OnDescriptor func(*replica.Replica)
	OnFatal      func(error)
	Settings     *setting.Live
	// Go runs a function on a goroutine. The caller waits for its end before it closes the store.
	Go func(func())
	// Memory is the quota of write buffers and of large values that are read. Spill, if it is set, is the
	// size up to which a write buffer grows.
	Memory *quota.Pool
	Spill  int64
	// Intercept, if set, wraps the replicas to which the gateway sends: for tests.
	Intercept func(kvpb.Sender) kvpb.Sender
	// MergeAfter and Pace are those of rebalance.Options: for tests.
	MergeAfter, Pace time.Duration
	Logger           *slog.Logger
}

// Node is the key-value part of a node. The parts that a node alone does not need are nil.
type Node struct {
	o           Options
	Clock       *hlc.Clock
	Incarnation int64      // when this process of the node began, by its clock
	Store       *store.Set // all stores of the node
	Live        *liveness.Liveness
	Addresses   *address.Registry
	Deadlocks   *dist.Deadlocks
	// Router and DB are there from OpenGateway on.
	Router      *dist.Router
	DB          *kv.DB
	db          atomic.Pointer[kv.DB]
	newGateways newGateways

	Config  *spanconfig.Watcher
	Stats   *rangestats.Collector
	Admin   *rangeops.Admin
	Stores  *storepool.Pool
	Balance *rebalance.Rebalancer // from StartRanges on
	Checker *consistency.Checker
}

// New opens the stores and builds all parts but the gateway. It waits for the clock (awaitClock).
func New(o Options) (*Node, error) {
	if o.Store.Values == nil {
		o.Store.Values = quota.NewValues(o.Memory)
	}
	n := &Node{o: o, Clock: o.Store.Clock}
	n.Config = spanconfig.NewWatcher(spanconfig.Options{
		DB: n.Gateway, Node: n.ID, Clock: n.Clock, GCTTL: o.Store.GCTTL, Settings: n.applySettings, Pace: o.Pace, Logger: o.Logger,
	})
	s := o.Store
	s.TTL, s.Protected, s.OnFatal = n.Config.TTL, n.Config.Protected, o.OnFatal
	if s.OldestRead == nil {
		s.OldestRead = n.oldestRead
	}
	var err error
	if n.Store, err = store.OpenSet(s, o.Dirs...); err != nil {
		return nil, err
	}
	if !o.Alone {
		n.awaitClock()
	}
	n.Incarnation = n.Clock.Now().WallTime // never the same twice, across restarts too
	n.Addresses = n.newAddresses()
	if !o.Alone {
		n.Live = n.newLiveness()
		n.Deadlocks = dist.NewDeadlocks(n.ID, n.Store.Waits(), o.Transport)
	}
	n.newRanges()
	if !o.Alone {
		n.connect()
	}
	return n, nil
}

// ID returns the node's id in its cluster, 0 before it has one.
func (n *Node) ID() kvpb.NodeID { return n.Store.Identity().Node }

// Gateway returns the gateway; nil until it is open.
func (n *Node) Gateway() *kv.DB { return n.db.Load() }

// clockPoll is the interval at which a starting node checks its clock.
const clockPoll = 20 * time.Millisecond

// awaitClock waits until the wall clock has almost reached the node's hybrid clock. That begins at the bound
// of its former incarnation, since no time may be shown twice: up to hlc.BoundWindow ahead of the
// other nodes' clocks, which would refuse it. After a crash the wait takes up to three seconds. A graceful
// stop leaves a bound that has passed.
func (n *Node) awaitClock() {
	for n.Clock.Now().WallTime-n.Clock.PhysicalNow() > int64(n.o.MaxOffset/4) {
		<-time.After(clockPoll)
	}
}

// oldestRead returns the oldest timestamp at which a gateway of the cluster may still read, zero if none
// does. The versions that are visible there are not collected.
func (n *Node) oldestRead() hlc.Timestamp {
	oldest := n.ownOldestRead()
	if n.Live == nil {
		return oldest
	}
	if others := n.Live.OldestRead(); oldest.IsEmpty() || !others.IsEmpty() && others.Less(oldest) {
		return others
	}
	return oldest
}

func (n *Node) ownOldestRead() hlc.Timestamp {
	if db := n.Gateway(); db != nil {
		return db.OldestRead()
	}
	return hlc.Timestamp{}
}

// OpenGateway builds the Router and the DB. The node has its id by now.
func (n *Node) OpenGateway(ctx context.Context) {
	if n.o.Alone {
		n.Router = dist.New(n.Store.First(), n.o.OnFatal)
	} else {
		n.Router = dist.NewRouter(dist.Config{
			Node: n.ID(), Local: localRanges{n}, Caller: n.o.Transport, FirstRange: n.Addresses.FindFirstRange, Now: n.Clock.Now,
			Deadlocks: n.Deadlocks, Distance: n.distance, Live: n.Live.Live, ClosedLag: n.o.Store.ClosedLag, OnFatal: n.o.OnFatal, Intercept: n.o.Intercept,
		})
	}
	n.DB = kv.NewDB(n.Router, n.Clock, n.GatewayIncarnation())
	n.DB.SetMemory(n.o.Memory)
	if n.o.Spill > 0 {
		n.DB.SetSpill(n.o.Spill)
	}
	n.DB.SetMaxOffset(n.Clock.MaxOffset())
	n.DB.SetClocks(n.Router.Clocks)
	if n.Deadlocks != nil {
		n.Deadlocks.SetFinalized(n.DB.Finalized)
	}
	n.db.Store(n.DB)
	n.Store.ConnectTxns(n.txnDeps())
	if !n.o.Alone {
		n.o.Go(func() { n.Addresses.Run(ctx, n.DB) })
	}
}

// Disconnect closes all parts but the store. Requests that still use them fail.
func (n *Node) Disconnect() {
	if n.Live != nil {
		n.Live.Close()
	}
	if n.Router != nil {
		n.Router.Close()
	}
	if n.Deadlocks != nil {
		n.Deadlocks.Close()
	}
}
