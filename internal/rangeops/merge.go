package rangeops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// resolveTimeout bounds one attempt to end a merge that was given up; the next measurement
// makes another.
const resolveTimeout = 10 * time.Second

// errMustSplit says that two ranges must not be merged.
var errMustSplit = errors.New("a range has to begin where it ends")

// Merge implements balance.Changer.
func (a *Admin) Merge(ctx context.Context, left kvpb.RangeID) error {
	return a.Do(ctx, &Op{Kind: Merge, Range: left}, nil)
}

// mergeRange has a range that is led here subsume the one to its right. That one must be led
// here as well, and have its replicas on the same stores.
func (a *Admin) mergeRange(ctx context.Context, l *replica.Replica) error {
	d := l.Desc()
	right := a.o.Store.Of(l).At(d.EndKey)
	if right == nil || !right.Leads() {
		return fmt.Errorf("range %d: the next range is not led by the same node", d.RangeID)
	}
	if !a.merging.enter(d.RangeID) {
		return replica.ErrBusy
	}
	defer a.merging.leave(d.RangeID)
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := l.MergeIf(ctx, right, func(ctx context.Context) error {
		split, err := a.o.Config.MustSplit(ctx, d.EndKey)
		if err == nil && split {
			err = fmt.Errorf("range %d: %w", d.RangeID, errMustSplit)
		}
		return err
	})
	if err != nil {
		if l.Desc().Merging != 0 {
			a.resolveMerge(context.WithoutCancel(ctx), l)
		}
		return err
	}
	s := a.o.Stats.Of(l)
	s.Load.Reset()
	s.Grow(a.o.Stats.Of(right).Size())
	if !a.o.Alone {
		if err := a.o.Addresses.Write(ctx, a.o.DB(), l.Desc()); err != nil {
			a.o.Logger.Warn("address after a merge", "range", d.RangeID, "err", err) // the publisher goes on
		}
	}
	return nil
}

// ResolveMerge ends a merge of a range that is led here, if one was begun and nobody is at it
// any more: the node that was has lost leadership, or died.
func (a *Admin) ResolveMerge(ctx context.Context, r *replica.Replica) {
	if r.Desc().Merging == 0 || !a.merging.enter(r.RangeID()) {
		return
	}
	a.o.Go(func() {
		defer a.merging.leave(r.RangeID())
		a.resolveMerge(ctx, r)
	})
}

// NoteLeader takes in a range that is led here from now on.
func (a *Admin) NoteLeader(r *replica.Replica) {
	if r.Desc().Merging == 0 {
		return
	}
	select {
	case a.halfMerged <- struct{}{}:
	default:
	}
}

// Run ends merges as soon as the node takes over ranges with one, until ctx ends: clients wait
// at the other half.
func (a *Admin) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.halfMerged:
		}
		for _, r := range a.o.Store.Replicas() {
			if r.Desc().Merging != 0 && r.Leads() {
				a.ResolveMerge(ctx, r)
			}
		}
	}
}

func (a *Admin) resolveMerge(ctx context.Context, l *replica.Replica) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	err := l.ResolveMerge(ctx, func(ctx context.Context, right, left kvpb.RangeID, generation uint64) error {
		return a.Do(ctx, &Op{Kind: unfreeze, Range: right, Left: left, Generation: generation}, nil)
	})
	if err != nil && l.Desc().Merging != 0 && ctx.Err() == nil {
		a.o.Logger.Warn("ending a merge", "range", l.RangeID(), "err", err)
	}
}
