package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

const (
	// addressTimeout is how long a view of the ranges waits for the addresses of
	// ranges that have just been split off.
	addressTimeout = 3 * time.Second
	// splitAttempts bounds how often a split follows a range that changes meanwhile.
	splitAttempts = 20
)

// sqlRanges implements ranges.Cluster.
type sqlRanges struct{ n *Node }

var _ ranges.Cluster = sqlRanges{}

// Ranges implements ranges.Cluster.
func (s sqlRanges) Ranges(ctx context.Context, span keys.Span) ([]ranges.Info, error) {
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
	state := n.picture()
	out := make([]ranges.Info, len(list))
	for i := range list {
		r := ranges.Info{
			Desc: list[i].Desc, Leader: list[i].Leader, SizeBytes: list[i].Size, Localities: map[kvpb.NodeID]string{},
		}
		for _, rep := range r.Desc.Replicas {
			r.Localities[rep.Node] = localities[rep.Node]
		}
		if until := borders[string(r.Desc.StartKey)]; now.Less(until) {
			r.SplitUntil = until
		}
		state.tell(&r)
		out[i] = r
	}
	return out, nil
}

// picture is what the node knows of the stores, and the placement rules; without any
// until they are known.
type picture struct {
	stores *placement.Cluster
	zones  *zone.Set
	alone  bool // the node is a cluster by itself
}

func (n *Node) picture() picture {
	p := picture{stores: placement.NewCluster(time.Now(), stores{n}.Stores(), n.placementParams()), alone: n.cfg.SingleNode}
	if r := n.rules.now.Load(); r != nil {
		p.zones = r.zones
	}
	return p
}

// config returns what is configured for the range that begins at key. A node by itself has
// the only replica, however many are asked for once there are others.
func (p *picture) config(key []byte) *zone.Config {
	c := zone.Default()
	if p.zones != nil {
		c, _ = p.zones.At(key)
	}
	if p.alone {
		one := 1
		c.NumReplicas, c.NumVoters = &one, nil
	}
	return &c
}

// tell adds to a range what its placement survives, and what is not as it should be.
func (p *picture) tell(r *ranges.Info) {
	sv := p.stores.Survives([]*kvpb.RangeDescriptor{&r.Desc})
	for _, f := range append([]placement.Failures{sv.Nodes}, sv.Tiers...) {
		t := ranges.Tolerance{Of: f.Of, Any: f.Any}
		if f.Any == 0 && f.Domains > 1 {
			t.Weakest = f.Domain
		}
		r.Survives = append(r.Survives, t)
	}
	for _, pr := range p.stores.Problems(&r.Desc, r.Leader, p.config(r.Desc.StartKey)) {
		r.Problems = append(r.Problems, ranges.Problem{
			Unavailable: pr.Kind == placement.LostQuorum, UnderReplicated: pr.Kind == placement.UnderReplicated,
			Misplaced: pr.Kind == placement.Misplaced || pr.Kind == placement.Unsatisfiable, Text: pr.Text,
		})
	}
}

// rangesIn returns the ranges that share a key with span, in order. The addresses
// may be behind; the ranges themselves know better. Where both leave a gap, a new
// range's address is on its way.
func (n *Node) rangesIn(ctx context.Context, span keys.Span) ([]replicaInfo, error) {
	var list []replicaInfo
	wait, cancel := context.WithTimeout(ctx, addressTimeout)
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

// SplitAt implements ranges.Cluster.
func (s sqlRanges) SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error {
	// The record comes first: nothing merges the new range away in between.
	if err := s.n.putBorder(ctx, key, until); err != nil {
		return err
	}
	// A merge may have looked for it before: also where a range begins its leader is asked.
	return s.n.eachRange(ctx, key, func(d *kvpb.RangeDescriptor) (*rangeOp, bool) {
		return &rangeOp{Kind: opSplit, Range: d.RangeID, Key: key}, true
	})
}

// eachRange has the leader of the range that holds key do what next says, unless it
// says that nothing is to be done, and follows the range when it changes meanwhile.
func (n *Node) eachRange(ctx context.Context, key []byte, next func(d *kvpb.RangeDescriptor) (*rangeOp, bool)) error {
	begun := time.Now()
	for detours := 0; ; {
		d, err := n.rangeAt(ctx, key)
		if err != nil {
			return err
		}
		op, ok := next(d)
		if !ok {
			return nil
		}
		err = n.seekLeader(ctx, op, d, readdress)
		var mm *kvpb.RangeMismatchError
		switch {
		case errors.As(err, &mm) && detours < splitAttempts:
			detours++
		case errors.Is(err, errNoLeader) && time.Since(begun) < opTimeout:
		default:
			return err
		}
	}
}

// Unsplit implements ranges.Cluster.
func (s sqlRanges) Unsplit(ctx context.Context, key []byte) error {
	return s.n.putBorder(ctx, key, hlc.Timestamp{})
}

// Nodes implements ranges.Cluster.
func (s sqlRanges) Nodes(context.Context) ([]ranges.Node, error) {
	var out []ranges.Node
	for _, i := range s.n.nodeInfos() {
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

// nodeInfos returns what is known of the cluster's nodes.
func (n *Node) nodeInfos() []liveness.NodeInfo {
	if n.cfg.SingleNode {
		return []liveness.NodeInfo{n.info()}
	}
	return n.live.Nodes()
}

// scatterAtOnce is how many ranges SCATTER moves at a time.
const scatterAtOnce = 4

// Scatter implements ranges.Cluster. Places are drawn for all ranges first.
func (s sqlRanges) Scatter(ctx context.Context, span keys.Span) error {
	n := s.n
	if n.cfg.SingleNode {
		return nil
	}
	list, err := n.rangesIn(ctx, span)
	if err != nil {
		return err
	}
	state := n.picture()
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	slots := make(chan struct{}, scatterAtOnce)
	for i := range list {
		r := &list[i]
		moves, leader := state.stores.Scatter(
			&placement.Range{Desc: &r.Desc, Leader: r.Leader, Size: r.Size}, state.config(r.Desc.StartKey), rand.IntN)
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = n.scatter(ctx, r, moves, leader)
			<-slots
		})
	}
	wg.Wait()
	// A range that has changed in the meantime stays where it is.
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(failed) > 0 && (ctx.Err() != nil || len(failed) == len(list)) {
		return failed[0]
	}
	return nil
}

// scatter carries out what was drawn for a range.
func (n *Node) scatter(ctx context.Context, r *replicaInfo, moves []placement.Action, leader kvpb.StoreID) error {
	ops := make([]rangeOp, 0, len(moves)+1)
	for _, m := range moves {
		ops = append(ops, rangeOp{Kind: opReplicas, Range: r.Desc.RangeID, Changes: m.Changes()})
	}
	if leader != r.Leader && leader != 0 {
		ops = append(ops, rangeOp{Kind: opLeader, Range: r.Desc.RangeID, Store: leader})
	}
	for i := range ops {
		if err := n.atLeader(ctx, &ops[i], &r.Desc); err != nil {
			n.log.Warn("scatter", "range", r.Desc.RangeID, "err", err)
			return fmt.Errorf("range %d: %w", r.Desc.RangeID, err)
		}
	}
	return nil
}
