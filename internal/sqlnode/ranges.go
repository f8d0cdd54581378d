package sqlnode

import (
	"context"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rebalance"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// cluster implements ranges.Cluster.
type cluster struct{ kv *kvnode.Node }

// Ranges returns the ranges of the cluster as SQL sees them. The node's ranges are started.
func (n *Node) Ranges() ranges.Cluster { return cluster{n.kv} }

// Ranges implements ranges.Cluster.
func (c cluster) Ranges(ctx context.Context, span keys.Span) ([]ranges.Info, error) {
	list, err := c.kv.Admin.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	splits, err := c.kv.Config.Splits(ctx, span)
	if err != nil {
		return nil, err
	}
	localities := map[kvpb.NodeID]string{}
	for _, i := range c.kv.Known().Nodes() {
		localities[i.ID] = i.Locality
	}
	now := c.kv.Clock.Now()
	view := c.kv.Balance.View()
	out := make([]ranges.Info, len(list))
	for i := range list {
		info := ranges.Info{
			Desc: list[i].Desc, Leader: list[i].Leader, SizeBytes: list[i].Size, QPS: list[i].QPS, Localities: map[kvpb.NodeID]string{},
		}
		for _, rep := range info.Desc.Replicas {
			info.Localities[rep.Node] = localities[rep.Node]
		}
		if until := splits[string(info.Desc.StartKey)]; now.Less(until) {
			info.SplitUntil = until
		}
		describe(&info, view)
		out[i] = info
	}
	return out, nil
}

// describe adds to a range what its placement survives, and what is not as it should be.
func describe(r *ranges.Info, v *rebalance.View) {
	for _, f := range v.Survives(&r.Desc) {
		t := ranges.Tolerance{Of: f.Of, Any: f.Any}
		if f.Any == 0 && f.Domains > 1 {
			t.Weakest = f.Domain
		}
		r.Survives = append(r.Survives, t)
	}
	for _, p := range v.Problems(&r.Desc, r.Leader) {
		r.Problems = append(r.Problems, ranges.Problem{
			Unavailable: p.Kind == placement.LostQuorum, UnderReplicated: p.Kind == placement.UnderReplicated,
			Misplaced: p.Kind == placement.Misplaced || p.Kind == placement.Unsatisfiable, Text: p.Text,
		})
	}
}

// Size implements ranges.Cluster.
func (c cluster) Size(ctx context.Context, span keys.Span) (int64, error) {
	return c.kv.Admin.Size(ctx, span)
}

// SplitAt implements ranges.Cluster.
func (c cluster) SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error {
	// The record comes first: nothing merges the new range away in between.
	if err := c.kv.Config.SetSplit(ctx, key, until); err != nil {
		return err
	}
	// A merge may have looked for the record before. So the leader is asked even where a
	// range begins at key: it renews the range.
	return c.kv.Admin.SplitAt(ctx, key)
}

// Unsplit implements ranges.Cluster.
func (c cluster) Unsplit(ctx context.Context, key []byte) error {
	return c.kv.Config.SetSplit(ctx, key, hlc.Timestamp{})
}

// Scatter implements ranges.Cluster.
func (c cluster) Scatter(ctx context.Context, span keys.Span) error {
	return c.kv.Balance.Scatter(ctx, span)
}

// Nodes implements ranges.Cluster.
func (c cluster) Nodes(context.Context) ([]ranges.Node, error) {
	var out []ranges.Node
	for _, i := range c.kv.Known().Nodes() {
		if i.Removed {
			continue
		}
		o := ranges.Node{ID: i.ID, Locality: i.Locality}
		for _, st := range i.Stores {
			o.Stores = append(o.Stores, st.ID)
		}
		out = append(out, o)
	}
	return out, nil
}
