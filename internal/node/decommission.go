package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// LostRange is a range without a quorum. It neither moves nor answers until some of its nodes are
// back.
type LostRange struct {
	Range  kvpb.RangeID
	Holds  []string      // descriptions of its keys, mostly tables
	Silent []kvpb.NodeID // its nodes that do not answer
}

// maxHolds bounds LostRange.Holds.
const maxHolds = 4

// lost describes a range without a quorum; nil if it has one.
func (n *Node) lost(d *kvpb.RangeDescriptor) *LostRange {
	voters := 0
	var silent []kvpb.NodeID
	for _, r := range d.Replicas {
		if !r.Type.Votes() {
			continue
		}
		if voters++; r.Node != n.NodeID() && !n.answers(r.Node) {
			silent = append(silent, r.Node)
		}
	}
	if voters-len(silent) > voters/2 {
		return nil
	}
	return &LostRange{Range: d.RangeID, Holds: n.holds(d), Silent: silent}
}

// holds names what a range holds.
func (n *Node) holds(d *kvpb.RangeDescriptor) (out []string) {
	tables := keys.TableDataSpan()
	switch {
	case keys.MetaSpan().Contains(d.StartKey):
		out = append(out, "the addresses of the ranges")
	case bytes.Compare(d.StartKey, tables.Start) < 0:
		out = append(out, "records of the cluster")
	}
	if n.serving.Load() != nil && bytes.Compare(tables.Start, d.EndKey) < 0 {
		out = append(out, n.SQL.Catalog().TablesWithin(d.StartKey, d.EndKey, maxHolds)...)
	}
	if len(out) == 0 {
		out = append(out, keys.Pretty(d.StartKey))
	}
	return out
}

// explain adds to an error the nodes that did not answer.
func (n *Node) explain(err error) error {
	var down *kvpb.UnavailableError
	if !errors.As(err, &down) {
		return err
	}
	var silent []string
	for _, i := range n.KV.Live.Nodes() {
		if i.ID != n.NodeID() && !i.Removed && !n.answers(i.ID) {
			silent = append(silent, fmt.Sprintf("node %d", i.ID))
		}
	}
	if len(silent) == 0 {
		return err
	}
	return fmt.Errorf("the records of the cluster can't be reached while these nodes do not answer: %s; start enough of them again (%w)",
		strings.Join(silent, ", "), err)
}

// RemainingRequest asks which replicas a node still has, and why their number does not fall.
type RemainingRequest struct {
	Node kvpb.NodeID
	Why  bool
}

// Remaining is what a node still has, and whether it can be given up.
type Remaining struct {
	Ranges   int
	Examples []kvpb.RangeDescriptor // a few of them
	Others   []kvpb.NodeID          // live nodes that could receive them
	Live     bool                   // the node itself answered
	Reasons  []string               // leaders' reasons why ranges can't move
	Lost     int                    // how many of the ranges have no quorum
	LostSome []LostRange            // a few of them
}

// maxExamples bounds Remaining.Examples and Remaining.LostSome.
const maxExamples = 8

// handleRemaining answers with what the node itself reports or, if it does not answer or knows of
// nothing, with what the ranges' addresses show: the node may not have heard yet of a replica that
// a leader gives it.
func (n *Node) handleRemaining(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r RemainingRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if n.KV.Gateway() == nil || n.KV.Live == nil {
		return nil, errNotInitialized
	}
	if r.Node == 0 {
		r.Node = n.NodeID()
	}
	if _, err := n.everMember(ctx, r.Node); err != nil {
		return nil, err
	}
	h := n.askRemaining(ctx, r.Node, req)
	if h.Ranges == 0 {
		live, err := h.Live, error(nil)
		if h, err = n.remainingByAddress(ctx, r.Node); err != nil {
			return nil, n.explain(err)
		}
		h.Live = live
	}
	h.Others = n.receivers(r.Node)
	if r.Why {
		h.Reasons = n.allBlocked(ctx)
	}
	return json.Marshal(h)
}

// askRemaining returns what a node itself reports; nothing if it does not answer.
func (n *Node) askRemaining(ctx context.Context, id kvpb.NodeID, req []byte) (h Remaining) {
	if id == n.NodeID() {
		return n.remaining()
	}
	if !n.KV.Live.Live(id) {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	p, err := n.RPC.Call(ctx, id, MethodRemaining, req)
	if err != nil || json.Unmarshal(p, &h) != nil {
		return Remaining{}
	}
	return h
}

// receivers returns the live nodes that could receive the ranges of a node.
func (n *Node) receivers(of kvpb.NodeID) (ids []kvpb.NodeID) {
	for _, o := range n.KV.Live.Nodes() {
		if o.ID != of && n.KV.Live.Live(o.ID) && !o.Removed && !o.Decommissioning {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// blocked returns why ranges that this node leads are not where they belong.
func (n *Node) blocked() []string {
	if !n.ready.Load() {
		return nil
	}
	out := n.KV.Balance.Blocked()
	for i, why := range out {
		out[i] = fmt.Sprintf("node %d: %s", n.NodeID(), why)
	}
	return out
}

// allBlocked asks all live nodes.
func (n *Node) allBlocked(ctx context.Context) []string {
	out := n.blocked()
	for _, o := range n.KV.Live.Nodes() {
		if o.ID == n.NodeID() || !n.KV.Live.Live(o.ID) {
			continue
		}
		c, cancel := context.WithTimeout(ctx, callDeadline)
		p, err := n.RPC.Call(c, o.ID, methodBlocked, nil)
		cancel()
		var theirs []string
		if err == nil && json.Unmarshal(p, &theirs) == nil {
			out = append(out, theirs...)
		}
	}
	return out
}

// remaining returns the replicas of this node that their ranges know of.
func (n *Node) remaining() Remaining {
	h := Remaining{Live: true}
	for _, r := range n.KV.Store.Replicas() {
		n.addRemaining(&h, r.Desc(), n.NodeID())
	}
	return h
}

// remainingByAddress returns the ranges whose addresses name a node. An address that an
// earlier boundary left behind lies within a newer range and does not count.
func (n *Node) remainingByAddress(ctx context.Context, id kvpb.NodeID) (Remaining, error) {
	all := map[kvpb.RangeID]*kvpb.RangeDescriptor{}
	err := n.scan(ctx, keys.MetaSpan(), func(_, value []byte) error {
		d, err := apply.DecodeDescriptor(value)
		if err != nil {
			return err
		}
		if old := all[d.RangeID]; old == nil || old.Generation < d.Generation {
			all[d.RangeID] = d
		}
		return nil
	})
	h := Remaining{}
	for _, d := range all {
		n.addRemaining(&h, d, id)
	}
	return h, err
}

// addRemaining adds a range to what a node has, if that has a replica of it.
func (n *Node) addRemaining(h *Remaining, d *kvpb.RangeDescriptor, id kvpb.NodeID) {
	if !slices.ContainsFunc(d.Replicas, func(r kvpb.ReplicaDescriptor) bool { return r.Node == id }) {
		return
	}
	h.Ranges++
	if len(h.Examples) < maxExamples {
		h.Examples = append(h.Examples, *d)
	}
	if l := n.lost(d); l != nil {
		if h.Lost++; len(h.LostSome) < maxExamples {
			h.LostSome = append(h.LostSome, *l)
		}
	}
}

// scan calls row with the records of a span, in a transaction of its own.
func (n *Node) scan(ctx context.Context, span keys.Span, row func(key, value []byte) error) error {
	return n.KV.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		return kv.Each(ctx, t, span, func(key, value []byte) (bool, error) { return true, row(key, value) })
	})
}
