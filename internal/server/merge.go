package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// resolveTimeout bounds one attempt to end a merge that was given up; the next
	// measurement makes another.
	resolveTimeout = 10 * time.Second
	// queueMergeAfter is how long a range must be small and cold before it is merged.
	queueMergeAfter = 2 * time.Minute
)

// errFixedBorder says that two ranges must not be merged.
var errFixedBorder = errors.New("a range has to begin there")

// mergeRange takes the range to the right of one that is led here in. That one must be
// led here as well, and have its replicas on the same stores.
func (n *Node) mergeRange(ctx context.Context, l *replica.Replica) error {
	d := l.Desc()
	right := n.store.Of(l).At(d.EndKey)
	if right == nil || !right.Leads() {
		return fmt.Errorf("range %d: the next range is not led by the same node", d.RangeID)
	}
	m := n.measured.of(l)
	if !m.merging.CompareAndSwap(false, true) {
		return replica.ErrBusy
	}
	defer m.merging.Store(false)
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := l.MergeIf(ctx, right, func(ctx context.Context) error {
		fixed, err := n.fixedForNow(ctx, d)
		if err == nil && fixed {
			err = fmt.Errorf("range %d: %w", d.RangeID, errFixedBorder)
		}
		return err
	})
	if err != nil {
		if l.Desc().Merging != 0 {
			n.resolveMerge(context.WithoutCancel(ctx), l)
		}
		return err
	}
	m.load.Reset()
	m.size.Add(n.measured.of(right).size.Load()) // until it is measured again
	if !n.cfg.SingleNode {
		if err := n.writeAddress(ctx, l.Desc()); err != nil {
			n.log.Warn("address after a merge", "range", d.RangeID, "err", err) // the publisher goes on
		}
	}
	return nil
}

// fixedForNow reports whether the border at the end of a range must stay, by the
// records as they are now: a split by hand writes its record before it splits, and has
// the range renewed if it begins there already.
func (n *Node) fixedForNow(ctx context.Context, d *kvpb.RangeDescriptor) (bool, error) {
	rules := n.rules.now.Load()
	if rules == nil || rules.fixed(d.EndKey, n.clock.Now()) {
		return true, nil
	}
	borders, err := n.bordersIn(ctx, keys.Span{Start: d.EndKey})
	if err != nil {
		return false, err
	}
	until, ok := borders[string(d.EndKey)]
	return ok && n.clock.Now().Less(until), nil
}

// fixed reports whether a range has to begin at key: it is the end of the meta records
// or of all keys, zones differ there, or it was split by hand.
func (r *rules) fixed(key []byte, now hlc.Timestamp) bool {
	if bytes.Equal(key, keys.MetaSpan().End) || bytes.Compare(key, keys.ReplicatedSpan().End) >= 0 {
		return true
	}
	for _, s := range r.zones.Spans() {
		if bytes.Equal(s.Start, key) || bytes.Equal(s.End, key) {
			return true
		}
	}
	until, ok := r.borders[string(key)]
	return ok && now.Less(until)
}

// endMerge ends a merge of a range that is led here, if one was begun and nobody is at
// it any more: the node that was has lost leadership, or died.
func (n *Node) endMerge(ctx context.Context, m *measured) {
	if m.Desc().Merging == 0 || !m.merging.CompareAndSwap(false, true) {
		return
	}
	n.background.Go(func() {
		defer m.merging.Store(false)
		n.resolveMerge(ctx, m.Replica)
	})
}

// endMerges is endMerge for all ranges.
func (n *Node) endMerges(ctx context.Context) {
	for _, r := range n.store.Replicas() {
		if r.Desc().Merging != 0 && r.Leads() {
			n.endMerge(ctx, n.measured.of(r))
		}
	}
}

// noteLeader hears of a range that is led here from now on.
func (n *Node) noteLeader(r *replica.Replica) {
	n.publish(r)
	if r.Desc().Merging == 0 {
		return
	}
	select {
	case n.measured.halfMerged <- struct{}{}:
	default:
	}
}

func (n *Node) resolveMerge(ctx context.Context, l *replica.Replica) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	err := l.ResolveMerge(ctx, func(ctx context.Context, right, left kvpb.RangeID, generation uint64) error {
		return n.atLeader(ctx, &rangeOp{Kind: opUnfreeze, Range: right, Left: left, Generation: generation}, nil)
	})
	if err != nil && l.Desc().Merging != 0 && ctx.Err() == nil {
		n.log.Warn("ending a merge", "range", l.RangeID(), "err", err)
	}
}

// rightOf returns what is known of the range after one that is led here, from its
// leader.
func (n *Node) rightOf(ctx context.Context, id kvpb.RangeID) (balance.RangeInfo, bool) {
	l, ok := n.store.Replica(id)
	if !ok {
		return balance.RangeInfo{}, false
	}
	at := l.Desc().EndKey
	if r := n.store.At(at); r != nil && r.Leads() {
		return n.rangeInfo(r), true
	}
	list, err := n.rangesIn(ctx, keys.Span{Start: at})
	if err != nil {
		return balance.RangeInfo{}, false
	}
	for i := range list {
		if d := &list[i].Desc; list[i].Leads && bytes.Equal(d.StartKey, at) {
			return n.remoteInfo(&list[i]), true
		}
	}
	return balance.RangeInfo{}, false
}

// remoteInfo is rangeInfo for a range that is led by another node.
func (n *Node) remoteInfo(i *replicaInfo) balance.RangeInfo {
	rules, d := n.rules.now.Load(), &i.Desc
	cfg, _ := rules.zones.At(d.StartKey)
	now := n.clock.Now()
	out := balance.RangeInfo{
		Range: placement.Range{Desc: d, Leader: i.Leader, Size: i.Size, QPS: i.QPS},
		Zone:  &cfg, NoSplit: d.RangeID == firstRange,
		FixedStart: rules.fixed(d.StartKey, now), FixedEnd: rules.fixed(d.EndKey, now),
	}
	for _, rep := range d.Replicas {
		// Its leader would not be asked if it did not hold its followers for well.
		out.Progress = append(out.Progress, placement.Progress{Store: rep.Store, Active: true})
	}
	return out
}

// mergeAlone merges ranges on a node by itself, which has no queue: there are several
// ranges only where SPLIT AT made them, until UNSPLIT or its time is over.
func (n *Node) mergeAlone(ctx context.Context) {
	after := queueMergeAfter
	if n.cfg.MergeAfter > 0 {
		after = n.cfg.MergeAfter
	}
	changed := map[kvpb.RangeID]time.Time{} // by the right one of two
	t := time.NewTicker(n.paced(queueScanIdle))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		all := n.store.Replicas()
		v := n.settings.Get()
		if len(all) < 2 || n.rules.now.Load() == nil || !v.Merge {
			continue
		}
		o := balance.Options{MergeQPS: float64(v.SplitQPS) / 4}
		for i := len(all) - 1; i > 0 && ctx.Err() == nil; i-- { // from the right: what is taken in is looked at no more
			l, r := n.rangeInfo(all[i-1]), n.rangeInfo(all[i])
			id := r.Desc.RangeID
			if why := balance.Mergeable(&l, &r, time.Now(), &o); why != "" {
				delete(changed, id)
			} else if since, ok := changed[id]; !ok {
				changed[id] = time.Now()
			} else if time.Since(since) >= after {
				delete(changed, id)
				if err := n.mergeRange(ctx, all[i-1]); err != nil {
					n.log.Info("merging ranges", "range", l.Desc.RangeID, "err", err)
				}
			}
		}
	}
}
