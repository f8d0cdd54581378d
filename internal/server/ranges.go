package server

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/balance/storepool"
	"github.com/lichendb/lichen/internal/consistency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/rebalance"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/spanconfig"
)

// rangeParts are the parts that look after ranges: what is configured and measured of them, how they
// are changed, placed and checked.
type rangeParts struct {
	config  *spanconfig.Watcher
	stats   *rangestats.Collector
	admin   *rangeops.Admin
	stores  *storepool.Pool
	balance *rebalance.Rebalancer
	checker *consistency.Checker
}

// newConfig builds what the store asks about the life of old versions.
func (n *Node) newConfig() {
	n.ranges.config = spanconfig.NewWatcher(spanconfig.Options{
		DB: n.gateway, Node: n.NodeID, Clock: n.clock, GCTTL: n.cfg.GCTTL, Settings: n.applySettings, Pace: n.cfg.RangePace, Logger: n.log,
	})
}

// gateway returns the node's gateway; nil until it is open.
func (n *Node) gateway() *kv.DB { return n.openDB.Load() }

// newRanges builds the parts that look after ranges, over the store, the transport and liveness.
func (n *Node) newRanges() {
	r := &n.ranges
	r.stores = storepool.New(n.nodesKnown(), n.NodeID)
	r.stats = rangestats.NewCollector(rangestats.Options{
		Store: n.store, Capacity: n.capacity, OnDescriptor: r.stores.NoteDescriptor,
		OnLeader: func(ctx context.Context, rep *replica.Replica) { r.admin.ResolveMerge(ctx, rep) },
		Pace:     n.cfg.RangePace, Logger: n.log,
	})
	r.admin = rangeops.New(rangeops.Options{
		Store: n.store, Transport: n.rpc, Node: n.NodeID, Alone: n.cfg.SingleNode, Live: n.live, Addresses: n.addresses,
		DB: n.gateway, Cached: n.cached, Ready: n.ready.Load,
		Clock: n.clock, Config: r.config, Stats: r.stats, Go: n.background.Go, Logger: n.log,
	})
	r.checker = consistency.New(consistency.Options{
		Store: n.store, Transport: n.rpc, Node: n.NodeID, Logger: n.log,
		Live:  func(id kvpb.NodeID) bool { return n.live.Live(id) },
		Known: func(id kvpb.NodeID) error { _, err := n.known(id); return err },
		Recorded: func(ctx context.Context) ([]kvpb.RangeDescriptor, error) {
			return r.admin.Recorded(ctx, keys.ReplicatedSpan())
		},
		Ready: func() error {
			if n.openDB.Load() == nil {
				return errNotInitialized
			}
			return nil
		},
	})
	r.checker.Handle()
}

// nodesKnown tells what is known of the cluster's nodes.
func (n *Node) nodesKnown() storepool.Nodes {
	if n.cfg.SingleNode {
		return storepool.Alone(n.info)
	}
	return n.live
}

// newRebalancer builds what places ranges, once the node has its id.
func (n *Node) newRebalancer() *rebalance.Rebalancer {
	r := &n.ranges
	return rebalance.New(rebalance.Options{
		Store: n.store, Admin: r.admin, Stats: r.stats, Config: r.config, Stores: r.stores, Nodes: n.nodesKnown(), Settings: n.settings, Clock: n.clock,
		Alone: n.cfg.SingleNode, MergeAfter: n.cfg.MergeAfter, Pace: n.cfg.RangePace, Seed: uint64(n.NodeID()) ^ uint64(n.life), Logger: n.log,
	})
}

// startRanges begins to measure ranges and to have them placed.
func (n *Node) startRanges(ctx context.Context) error {
	r := &n.ranges
	r.balance = n.newRebalancer()
	n.background.Go(func() { r.stats.Run(ctx) })
	n.background.Go(func() { r.admin.Run(ctx) })
	n.background.Go(func() { r.config.AnnounceSplits(ctx) })
	if n.cfg.SingleNode {
		n.background.Go(func() { r.config.Run(ctx) })
	} else {
		if err := n.again(ctx, "the first range", r.admin.SplitFirstRange); err != nil {
			return fmt.Errorf("splitting the first range: %w", err)
		}
		n.background.Go(func() { r.checker.Run(ctx) })
	}
	n.background.Go(func() { r.balance.Run(ctx) })
	return nil
}

// noteLeader hears of a range that is led here from now on.
func (n *Node) noteLeader(r *replica.Replica) {
	n.addresses.Publish(r)
	n.ranges.admin.NoteLeader(r)
}

// cached returns the descriptors that the gateway has cached; a node by itself needs none.
func (n *Node) cached() []*kvpb.RangeDescriptor {
	if c := n.router.Cache(); c != nil {
		return c.Known()
	}
	return nil
}

// distance says how far a node is; false if it does not answer.
func (n *Node) distance(id kvpb.NodeID) (int64, bool) {
	if id == n.NodeID() {
		return 0, true
	}
	i, ok := n.live.Node(id)
	if !ok || i.Removed || !n.live.Live(id) {
		return 0, false
	}
	_, rtt, ok := n.rpc.Offset(id)
	return storepool.Distance(n.cfg.Locality, i.Locality, rtt, ok), true
}
