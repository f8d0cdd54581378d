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

// Options are what a Node is built over.
type Options struct {
	// Store says how to open the stores in Dirs. New adds what the other parts tell the
	// store: the time to live of old versions, what is protected, and, unless OldestRead is
	// set, the oldest read.
	Store store.Options
	Dirs  []string
	// Transport connects the node with the others.
	Transport rpc.Transport
	// Alone: the node is a cluster by itself.
	Alone     bool
	MaxOffset time.Duration
	// Self is what the node tells the others about itself.
	Self     func() liveness.NodeInfo
	Locality string
	// ClockOK reports whether the node's clock may be relied upon, RoundTrip the time of a
	// round trip to another node, if that was measured.
	ClockOK   func() bool
	RoundTrip func(kvpb.NodeID) (time.Duration, bool)
	// Ready reports whether the node takes part in changes of ranges that others ask for,
	// Check why it can't answer for the cluster yet.
	Ready func() bool
	Check func() error
	// Capacity is rangestats.Options.Capacity.
	Capacity func(*store.Store) (total, used, own int64)
	// OnNode is called for nodes that became known or have changed, OnLeader for ranges that are led
	// here from now on, OnDescriptor of changed descriptors of such ranges; nil: nobody is.
	OnNode       func(liveness.NodeInfo)
	OnLeader     func(*replica.Replica)
	OnDescriptor func(*replica.Replica)
	OnFatal      func(error)
	Settings     *setting.Live
	// Go runs a function that ends before the store is closed.
	Go func(func())
	// Memory is what write buffers and large values read count against, Spill how large they grow, if it is set.
	Memory *quota.Pool
	Spill  int64
	// Intercept, if set, stands between the gateway and the replicas: for tests.
	Intercept func(kvpb.Sender) kvpb.Sender
	// MergeAfter and Pace are those of rebalance.Options: for tests.
	MergeAfter, Pace time.Duration
	Logger           *slog.Logger
}

// Node is the key-value part of a node. What a node by itself does without is nil.
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

// New opens the stores and builds all parts but the gateway. It waits until the clock may be
// shown.
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

// clockPoll is how often a starting node looks whether its clock may be shown.
const clockPoll = 20 * time.Millisecond

// awaitClock waits until the wall clock has reached the time that the clock's former
// incarnation may have shown: it begins there, up to hlc.BoundWindow ahead of the other
// nodes', who would refuse it. That takes up to three seconds after a crash: nobody
// knows then how much of the window the former incarnation had used, and times that it
// showed must not be shown again. A graceful stop leaves a bound that has passed.
func (n *Node) awaitClock() {
	for n.Clock.Now().WallTime-n.Clock.PhysicalNow() > int64(n.o.MaxOffset/4) {
		<-time.After(clockPoll)
	}
}

// oldestRead returns the oldest timestamp at which a gateway of the cluster may still
// read, zero if none does: what is visible there is not collected.
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

// OpenGateway builds what sends requests to ranges. The node has its id by now.
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
		n.Deadlocks.SetOver(n.DB.Over)
	}
	n.db.Store(n.DB)
	n.Store.ConnectTxns(n.txnDeps())
	if !n.o.Alone {
		n.o.Go(func() { n.Addresses.Run(ctx, n.DB) })
	}
}

// Disconnect closes all parts but the store. What still uses them fails.
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
