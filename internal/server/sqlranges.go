package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/sql"
)

const (
	// addressPatience is how long a view of the ranges waits for the addresses of
	// ranges that have just been split off.
	addressPatience = 3 * time.Second
	// splitAttempts bounds how often a split follows a range that changes meanwhile.
	splitAttempts = 20
)

// sqlRanges implements sql.Ranges.
type sqlRanges struct{ n *Node }

var _ sql.Ranges = sqlRanges{}

// Ranges implements sql.Ranges.
func (s sqlRanges) Ranges(ctx context.Context, span keys.Span) ([]sql.RangeInfo, error) {
	n := s.n
	list, err := n.rangesIn(ctx, span)
	if err != nil {
		return nil, err
	}
	borders, err := n.bordersIn(ctx, span)
	if err != nil {
		return nil, err
	}
	localities := map[kvpb.NodeID]string{}
	for _, i := range n.nodeInfos() {
		localities[i.ID] = i.Locality
	}
	now := n.clock.Now()
	out := make([]sql.RangeInfo, len(list))
	for i := range list {
		r := sql.RangeInfo{
			Desc: list[i].Desc, Leader: list[i].Leader, SizeBytes: list[i].Size, Localities: map[kvpb.NodeID]string{},
		}
		for _, rep := range r.Desc.Replicas {
			r.Localities[rep.Node] = localities[rep.Node]
		}
		if until := borders[string(r.Desc.StartKey)]; now.Less(until) {
			r.SplitUntil = until
		}
		out[i] = r
	}
	return out, nil
}

// rangesIn returns the ranges that share a key with span, in order. The addresses
// may be behind; the ranges themselves know better. Where both leave a gap, a new
// range's address is on its way.
func (n *Node) rangesIn(ctx context.Context, span keys.Span) ([]replicaInfo, error) {
	var list []replicaInfo
	wait, cancel := context.WithTimeout(ctx, addressPatience)
	defer cancel()
	err := watch(wait, func() (bool, error) {
		descs, err := n.addressesIn(ctx, span)
		if err != nil {
			return false, err
		}
		known := n.askReplicas(ctx, descs)
		list = list[:0]
		seen := map[kvpb.RangeID]bool{}
		for i := range descs {
			info, ok := known[descs[i].RangeID]
			if !ok || info.Desc.Generation < descs[i].Generation {
				info.Desc = descs[i]
			}
			if d := &info.Desc; !seen[d.RangeID] && span.Overlaps(keys.Span{Start: d.StartKey, End: d.EndKey}) {
				seen[d.RangeID] = true
				list = append(list, info)
			}
		}
		slices.SortFunc(list, func(a, b replicaInfo) int { return bytes.Compare(a.Desc.StartKey, b.Desc.StartKey) })
		return covers(list, span), nil
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return list, nil // as far as it is known
	}
	return list, err
}

// covers reports whether ranges in order hold all of span and none overlap.
func covers(list []replicaInfo, span keys.Span) bool {
	at := span.Start
	for i := range list {
		d := &list[i].Desc
		if i == 0 && bytes.Compare(d.StartKey, at) > 0 || i > 0 && !bytes.Equal(d.StartKey, at) {
			return false
		}
		at = d.EndKey
	}
	all := keys.ReplicatedSpan()
	if len(list) == 0 {
		return !span.Overlaps(all)
	}
	return span.IsPoint() || bytes.Compare(at, span.End) >= 0 || bytes.Equal(at, all.End)
}

// addressesIn returns the addresses of the ranges that share a key with span, as
// they are recorded.
func (n *Node) addressesIn(ctx context.Context, span keys.Span) ([]kvpb.RangeDescriptor, error) {
	var out []kvpb.RangeDescriptor
	if n.cfg.SingleNode {
		for _, r := range n.store.Replicas() {
			if d := r.Desc(); span.Overlaps(keys.Span{Start: d.StartKey, End: d.EndKey}) {
				out = append(out, *d)
			}
		}
		return out, nil
	}
	err := n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		out = out[:0]
		start := keys.Next(keys.Meta(span.Start))
		return scanAll(ctx, t, start, keys.MetaSpan().End, func(k, v []byte) (bool, error) {
			d, err := apply.DecodeDescriptor(v)
			if err != nil {
				return false, fmt.Errorf("the address at %s: %w", keys.Pretty(k), err)
			}
			end := keys.Next(span.Start)
			if !span.IsPoint() {
				end = span.End
			}
			if bytes.Compare(d.StartKey, end) < 0 {
				out = append(out, *d)
			}
			// The record of a range ends with its last key: the next one begins there.
			return bytes.Compare(d.EndKey, end) < 0, nil
		})
	})
	return out, err
}

// rangeAt returns the range that holds key.
func (n *Node) rangeAt(ctx context.Context, key []byte) (*kvpb.RangeDescriptor, error) {
	if n.cfg.SingleNode {
		_, d, err := n.store.Lookup(key)
		return d, err
	}
	list, err := n.rangesIn(ctx, keys.Span{Start: key})
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Desc.ContainsKey(key) {
			return &list[i].Desc, nil
		}
	}
	return nil, fmt.Errorf("no range is known to hold %s", keys.Pretty(key))
}

// SplitAt implements sql.Ranges.
func (s sqlRanges) SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error {
	// The record comes first: nothing merges the new range away in between.
	if err := s.n.putBorder(ctx, key, until); err != nil {
		return err
	}
	return s.n.eachRange(ctx, key, func(d *kvpb.RangeDescriptor) (*rangeOp, bool) {
		return &rangeOp{Kind: opSplit, Range: d.RangeID, Key: key}, !bytes.Equal(d.StartKey, key)
	})
}

// eachRange has the leader of the range that holds key do what next says, unless it
// says that nothing is to be done, and follows the range when it changes meanwhile.
func (n *Node) eachRange(ctx context.Context, key []byte, next func(d *kvpb.RangeDescriptor) (*rangeOp, bool)) error {
	var last error
	for range splitAttempts {
		d, err := n.rangeAt(ctx, key)
		if err != nil {
			return err
		}
		op, ok := next(d)
		if !ok {
			return nil
		}
		last = n.atLeader(ctx, op, d)
		var mm *kvpb.RangeMismatchError
		if !errors.As(last, &mm) {
			return last
		}
	}
	return last
}

// Unsplit implements sql.Ranges.
func (s sqlRanges) Unsplit(ctx context.Context, key []byte) error {
	return s.n.putBorder(ctx, key, hlc.Timestamp{})
}

// Nodes implements sql.Ranges.
func (s sqlRanges) Nodes(context.Context) ([]sql.NodeInfo, error) {
	var out []sql.NodeInfo
	for _, i := range s.n.nodeInfos() {
		if i.Removed {
			continue
		}
		o := sql.NodeInfo{Node: i.ID, Locality: i.Locality}
		for _, st := range i.Stores {
			o.Stores = append(o.Stores, st.ID)
		}
		out = append(out, o)
	}
	return out, nil
}

// nodeInfos returns what is known of the cluster's nodes.
func (n *Node) nodeInfos() []liveness.NodeInfo {
	if n.cfg.SingleNode {
		return []liveness.NodeInfo{n.info()}
	}
	return n.live.Nodes()
}

// Scatter implements sql.Ranges. A replica goes only to a store of the same locality,
// which is as good for every rule, and leadership only where nobody prefers another
// place.
func (s sqlRanges) Scatter(ctx context.Context, span keys.Span) error {
	n := s.n
	if n.cfg.SingleNode {
		return nil
	}
	list, err := n.rangesIn(ctx, span)
	if err != nil {
		return err
	}
	for i := range list {
		if err := n.scatter(ctx, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) scatter(ctx context.Context, r *replicaInfo) error {
	d := &r.Desc
	var at []liveness.NodeInfo // where replicas may be
	locality := map[kvpb.NodeID]string{}
	taken := map[kvpb.NodeID]bool{}
	for _, i := range n.live.Nodes() {
		locality[i.ID] = i.Locality
		alive := i.ID == n.NodeID() || n.live.Live(i.ID)
		if alive && !i.Removed && !i.Draining && !i.Decommissioning && len(i.Stores) > 0 {
			at = append(at, i)
		}
	}
	for _, rep := range d.Replicas {
		taken[rep.Node] = true
	}
	next := []kvpb.StoreID{r.Leader}
	for _, rep := range d.Replicas {
		if rep.Type != kvpb.Voter || rep.Store == r.Leader {
			continue
		}
		to := placement.Target{Node: rep.Node, Store: rep.Store}
		rand.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		for _, i := range at[:rand.IntN(len(at)+1)] {
			if i.Locality == locality[rep.Node] && !taken[i.ID] {
				to = placement.Target{Node: i.ID, Store: i.Stores[rand.IntN(len(i.Stores))].ID}
			}
		}
		if to.Store != rep.Store {
			from := placement.Target{Node: rep.Node, Store: rep.Store}
			err := n.atLeader(ctx, &rangeOp{Kind: opReplicas, Range: d.RangeID, Changes: []placement.Change{
				{Kind: placement.AddVoter, Target: to}, {Kind: placement.RemoveVoter, Target: from},
			}}, d)
			if err != nil {
				return fmt.Errorf("range %d: %w", d.RangeID, err)
			}
			taken[to.Node], taken[rep.Node] = true, false
		}
		if n.mayLead(d.StartKey, to.Node) {
			next = append(next, to.Store)
		}
	}
	if to := next[rand.IntN(len(next))]; to != r.Leader {
		if err := n.atLeader(ctx, &rangeOp{Kind: opLeader, Range: d.RangeID, Store: to}, d); err != nil {
			return fmt.Errorf("range %d: %w", d.RangeID, err)
		}
	}
	return nil
}

// mayLead reports whether a node that works may lead the range that begins at key
// for all that is preferred.
func (n *Node) mayLead(key []byte, node kvpb.NodeID) bool {
	rules := n.rules.now.Load()
	if rules == nil || node != n.NodeID() && !n.live.Live(node) {
		return false
	}
	cfg, _ := rules.zones.At(key)
	return len(cfg.LeasePreferences) == 0
}
