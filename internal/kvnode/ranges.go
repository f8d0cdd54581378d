package kvnode

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/balance/storepool"
	"github.com/lichendb/lichen/internal/consistency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/rebalance"
	"github.com/lichendb/lichen/internal/replica"
)

// newRanges builds the parts that measure, place, split, merge and check ranges.
func (n *Node) newRanges() {
	o := &n.o
	n.Stores = storepool.New(n.Known(), n.ID)
	n.Stats = rangestats.NewCollector(rangestats.Options{
		Store: n.Store, Capacity: o.Capacity, OnDescriptor: n.Stores.NoteDescriptor, OnLeader: n.resolveMerge, Pace: o.Pace, Logger: o.Logger,
	})
	n.Admin = rangeops.New(rangeops.Options{
		Store: n.Store, Transport: o.Transport, Node: n.ID, Alone: o.Alone, Live: n.Live, Addresses: n.Addresses,
		DB: n.Gateway, Cached: n.cached, Ready: o.Ready, Clock: n.Clock, Config: n.Config, Stats: n.Stats, Go: o.Go, Logger: o.Logger,
	})
	n.Checker = consistency.New(consistency.Options{
		Store: n.Store, Transport: o.Transport, Node: n.ID, Logger: o.Logger, Ready: o.Check,
		Live: func(id kvpb.NodeID) bool { return n.Live.Live(id) }, Known: n.mustKnow,
		Recorded: func(ctx context.Context) ([]kvpb.RangeDescriptor, error) {
			return n.Admin.Recorded(ctx, keys.ReplicatedSpan())
		},
	})
	n.Checker.Handle()
}

// mustKnow fails if there is no such node.
func (n *Node) mustKnow(id kvpb.NodeID) error {
	if n.Live != nil {
		if _, ok := n.Live.Node(id); ok {
			return nil
		}
	}
	return fmt.Errorf("there is no node %d in this cluster", id)
}

func (n *Node) resolveMerge(ctx context.Context, r *replica.Replica) { n.Admin.ResolveMerge(ctx, r) }

// Known returns the infos of the cluster's nodes, with this one.
func (n *Node) Known() storepool.Nodes {
	if n.o.Alone {
		return storepool.Alone(n.o.Self)
	}
	return n.Live
}

// StartRanges begins to measure ranges, to end abandoned merges, and to watch the configuration and the
// disks. The gateway is open by now.
func (n *Node) StartRanges(ctx context.Context) {
	o := &n.o
	n.Balance = rebalance.New(rebalance.Options{
		Store: n.Store, Admin: n.Admin, Stats: n.Stats, Config: n.Config, Stores: n.Stores, Nodes: n.Known(), Settings: o.Settings, Clock: n.Clock,
		Alone: o.Alone, MergeAfter: o.MergeAfter, Pace: o.Pace, Seed: uint64(n.ID()) ^ uint64(n.Incarnation), Logger: o.Logger,
	})
	o.Go(func() { n.Stats.Run(ctx) })
	o.Go(func() { n.Admin.Run(ctx) })
	o.Go(func() { n.Config.AnnounceSplits(ctx) })
	o.Go(func() { n.Config.Run(ctx) })
	o.Go(func() { n.watchDisks(ctx) })
	if !o.Alone {
		o.Go(func() { n.Checker.Run(ctx) })
	}
}

// StartPlacement begins to place, split and merge ranges.
func (n *Node) StartPlacement(ctx context.Context) {
	n.o.Go(func() { n.Balance.Run(ctx) })
}

// cached returns the descriptors in the gateway's range cache. A node alone has none.
func (n *Node) cached() []*kvpb.RangeDescriptor {
	if c := n.Router.Cache(); c != nil {
		return c.Known()
	}
	return nil
}
