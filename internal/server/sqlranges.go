package server

import (
	"context"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rebalance"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// sqlRanges implements ranges.Cluster.
type sqlRanges struct{ n *Node }

var _ ranges.Cluster = sqlRanges{}

// Ranges implements ranges.Cluster.
func (s sqlRanges) Ranges(ctx context.Context, span keys.Span) ([]ranges.Info, error) {
	n := s.n
	list, err := n.kv.Admin.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	splits, err := n.kv.Config.Splits(ctx, span)
	if err != nil {
		return nil, err
	}
	localities := map[kvpb.NodeID]string{}
	for _, i := range n.kv.Known().Nodes() {
		localities[i.ID] = i.Locality
	}
	now := n.clock.Now()
	view := n.kv.Balance.View()
	out := make([]ranges.Info, len(list))
	for i := range list {
		r := ranges.Info{
			Desc: list[i].Desc, Leader: list[i].Leader, SizeBytes: list[i].Size, Localities: map[kvpb.NodeID]string{},
		}
		for _, rep := range r.Desc.Replicas {
			r.Localities[rep.Node] = localities[rep.Node]
		}
		if until := splits[string(r.Desc.StartKey)]; now.Less(until) {
			r.SplitUntil = until
		}
		describe(&r, view)
		out[i] = r
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
func (s sqlRanges) Size(ctx context.Context, span keys.Span) (int64, error) {
	return s.n.kv.Admin.Size(ctx, span)
}

// SplitAt implements ranges.Cluster.
func (s sqlRanges) SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error {
	// The record comes first: nothing merges the new range away in between.
	if err := s.n.kv.Config.SetSplit(ctx, key, until); err != nil {
		return err
	}
	// A merge may have looked for the record before. So the leader is asked even where a
	// range begins at key: it renews the range.
	return s.n.kv.Admin.SplitAt(ctx, key)
}

// Unsplit implements ranges.Cluster.
func (s sqlRanges) Unsplit(ctx context.Context, key []byte) error {
	return s.n.kv.Config.SetSplit(ctx, key, hlc.Timestamp{})
}

// Scatter implements ranges.Cluster.
func (s sqlRanges) Scatter(ctx context.Context, span keys.Span) error {
	return s.n.kv.Balance.Scatter(ctx, span)
}

// Nodes implements ranges.Cluster.
func (s sqlRanges) Nodes(context.Context) ([]ranges.Node, error) {
	var out []ranges.Node
	for _, i := range s.n.kv.Known().Nodes() {
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
