package rebalance

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/replica"
)

// ranges implements balance.Ranges.
type ranges struct{ b *Rebalancer }

// Led implements balance.Ranges.
func (l ranges) Led() []balance.RangeInfo {
	var out []balance.RangeInfo
	for _, r := range l.b.o.Store.Replicas() {
		if r.Leads() {
			out = append(out, l.b.local(r))
		}
	}
	return out
}

// Get implements balance.Ranges.
func (l ranges) Get(id kvpb.RangeID) (balance.RangeInfo, bool) {
	r, ok := l.b.o.Store.Replica(id)
	if !ok || !r.Leads() {
		return balance.RangeInfo{}, false
	}
	return l.b.local(r), true
}

// Right implements balance.Ranges.
func (l ranges) Right(ctx context.Context, id kvpb.RangeID) (balance.RangeInfo, bool) {
	left, ok := l.b.o.Store.Replica(id)
	if !ok {
		return balance.RangeInfo{}, false
	}
	d := left.Desc()
	if r := l.b.o.Store.At(d.EndKey); r != nil && r.Leads() {
		return l.b.local(r), true
	}
	i, ok := l.b.o.Admin.Right(ctx, d)
	if !ok {
		return balance.RangeInfo{}, false
	}
	return l.b.remote(i), true
}

// describe says what the configuration asks of a range.
func (b *Rebalancer) describe(d *kvpb.RangeDescriptor) balance.RangeInfo {
	c, now := b.o.Config.Config(), b.o.Clock.Now()
	at := c.At(d.StartKey)
	i := balance.RangeInfo{
		Range: placement.Range{Desc: d}, Zone: &at, NoSplit: d.RangeID == address.FirstRange,
		SplitKeys:  c.SplitKeys(d.StartKey, d.EndKey),
		FixedStart: c.MustSplit(d.StartKey, now), FixedEnd: c.MustSplit(d.EndKey, now),
	}
	if until, ok := c.SplitUntil(d.StartKey); ok {
		i.SplitUntil = time.Unix(0, until.WallTime)
	}
	return i
}

// local says what is known of a range that is led here.
func (b *Rebalancer) local(r *replica.Replica) balance.RangeInfo {
	i, s := b.describe(r.Desc()), b.o.Stats.Of(r)
	i.Leader, i.Size, i.QPS, i.WriteBytes = b.o.Store.Of(r).Identity().Store, s.Size(), s.QPS(), s.WriteBytes()
	i.Progress = progress(s.Followers(), b.o.Nodes.Live)
	if b.o.Settings.Get().SplitByLoad {
		i.Load = &s.Load
	}
	return i
}

// remote is local for a range that is led by another node.
func (b *Rebalancer) remote(o *rangeops.Info) balance.RangeInfo {
	i := b.describe(&o.Desc)
	i.Leader, i.Size, i.QPS = o.Leader, o.Size, o.QPS
	for _, rep := range o.Desc.Replicas {
		// Its leader would not be asked if it did not hold its followers for well.
		i.Progress = append(i.Progress, placement.Progress{Store: rep.Store, Active: true})
	}
	return i
}

// progress tells placement how far followers are. One that has acknowledged nothing yet is left
// out.
func progress(list []replica.FollowerProgress, live func(kvpb.NodeID) bool) []placement.Progress {
	var out []placement.Progress
	for _, f := range list {
		if f.Match > 0 {
			out = append(out, placement.Progress{Store: f.Replica.Store, Behind: f.Behind, Active: live(f.Replica.Node)})
		}
	}
	return out
}
