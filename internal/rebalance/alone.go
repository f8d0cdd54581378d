package rebalance

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/kvpb"
)

// mergeAlone merges ranges on a node by itself, which has no queue: there are several ranges
// only where SPLIT AT made them, until UNSPLIT or its time is over.
func (b *Rebalancer) mergeAlone(ctx context.Context) {
	interval := scanIdle
	if b.o.Pace > 0 {
		interval = min(interval, b.o.Pace)
	}
	mergeable := map[kvpb.RangeID]time.Time{} // since when a range could be merged into the one before it
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		all := b.o.Store.Replicas()
		v := b.o.Settings.Get()
		if len(all) < 2 || b.o.Config.Config() == nil || !v.Merge {
			continue
		}
		o := balance.Options{MergeQPS: float64(v.SplitQPS) / 4}
		for i := len(all) - 1; i > 0 && ctx.Err() == nil; i-- { // from the right: a range that was merged is looked at no more
			left, right := b.local(all[i-1]), b.local(all[i])
			id := right.Desc.RangeID
			if why := balance.Mergeable(&left, &right, time.Now(), &o); why != "" {
				delete(mergeable, id)
			} else if since, ok := mergeable[id]; !ok {
				mergeable[id] = time.Now()
			} else if time.Since(since) >= b.o.MergeAfter {
				delete(mergeable, id)
				if err := b.o.Admin.Merge(ctx, left.Desc.RangeID); err != nil {
					b.o.Logger.Info("merging ranges", "range", left.Desc.RangeID, "err", err)
				}
			}
		}
	}
}
