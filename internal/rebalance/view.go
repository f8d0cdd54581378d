package rebalance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/spanconfig"
)

// View is what the node knows at one time of the stores and of the configuration.
type View struct {
	stores *placement.Cluster
	config *spanconfig.Config // nil: not known yet
	alone  bool
}

// View returns what is known now.
func (b *Rebalancer) View() *View {
	return &View{
		stores: placement.NewCluster(time.Now(), b.o.Stores.Stores(), Params(b.o.Settings.Get())),
		config: b.o.Config.Config(), alone: b.o.Alone,
	}
}

// zone returns what is configured for the range that begins at key. A node by itself has the
// only replica, however many are asked for once there are others.
func (v *View) zone(key []byte) *zone.Config {
	c := zone.Default()
	if v.config != nil {
		c = v.config.At(key)
	}
	if v.alone {
		one := 1
		c.NumReplicas, c.NumVoters = &one, nil
	}
	return &c
}

// Survives returns the failures that the placement of a range survives.
func (v *View) Survives(d *kvpb.RangeDescriptor) []placement.Failures {
	s := v.stores.Survives([]*kvpb.RangeDescriptor{d})
	return append([]placement.Failures{s.Nodes}, s.Tiers...)
}

// Problems returns what is not as it should be with a range.
func (v *View) Problems(d *kvpb.RangeDescriptor, leader kvpb.StoreID) []placement.Problem {
	return v.stores.Problems(d, leader, v.zone(d.StartKey))
}

// scatterAtOnce bounds the ranges that Scatter moves at a time.
const scatterAtOnce = 4

// Scatter moves the ranges of a span to stores drawn at random. It fails if no range could be
// moved.
func (b *Rebalancer) Scatter(ctx context.Context, span keys.Span) error {
	if b.o.Alone {
		return nil
	}
	list, err := b.o.Admin.Ranges(ctx, span)
	if err != nil {
		return err
	}
	v := b.View() // the places of all ranges are drawn by one
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	slots := make(chan struct{}, scatterAtOnce)
	for i := range list {
		r := &list[i]
		moves, leader := v.stores.Scatter(
			&placement.Range{Desc: &r.Desc, Leader: r.Leader, Size: r.Size}, v.zone(r.Desc.StartKey), rand.IntN)
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = b.move(ctx, r, moves, leader)
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

// move carries out what was drawn for a range.
func (b *Rebalancer) move(ctx context.Context, r *rangeops.Info, moves []placement.Action, leader kvpb.StoreID) error {
	ops := make([]rangeops.Op, 0, len(moves)+1)
	for _, m := range moves {
		ops = append(ops, rangeops.Op{Kind: rangeops.ChangeReplicas, Range: r.Desc.RangeID, Changes: m.Changes()})
	}
	if leader != r.Leader && leader != 0 {
		ops = append(ops, rangeops.Op{Kind: rangeops.TransferLeader, Range: r.Desc.RangeID, Store: leader})
	}
	for i := range ops {
		if err := b.o.Admin.Do(ctx, &ops[i], &r.Desc); err != nil {
			b.o.Logger.Warn("scatter", "range", r.Desc.RangeID, "err", err)
			return fmt.Errorf("range %d: %w", r.Desc.RangeID, err)
		}
	}
	return nil
}
