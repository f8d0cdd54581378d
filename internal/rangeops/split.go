package rangeops

import (
	"context"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// Split implements balance.Changer. A key that may lie within a row, or begin no row, is moved
// to the next one.
func (a *Admin) Split(ctx context.Context, id kvpb.RangeID, key []byte) error {
	at, ok := RowStart(key)
	if r, here := a.o.Store.Replica(id); !ok && here {
		next, err := a.firstRow(key, r.Desc())
		if err != nil {
			return err
		}
		if at = next; at == nil {
			return fmt.Errorf("range %d: no row begins at %s or behind it", id, keys.Pretty(key))
		}
	}
	return a.Do(ctx, &Op{Kind: Split, Range: id, Key: at}, nil)
}

// splitRange makes a range that is led here end at key, where a new one begins. A range that
// begins there itself is renewed: a merge that was on its way does not happen.
func (a *Admin) splitRange(ctx context.Context, r *replica.Replica, key []byte) error {
	d := r.Desc()
	switch {
	case string(d.StartKey) == string(key):
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		defer cancel()
		return untilFree(ctx, func() error { return r.Renew(ctx) })
	case !d.ContainsKey(key):
		return &kvpb.RangeMismatchError{Range: d.RangeID, Known: []kvpb.RangeDescriptor{*d}}
	case d.RangeID == address.FirstRange && !a.o.Alone && string(key) != string(keys.MetaSpan().End):
		return errors.New("the range of the meta records can't be split")
	}
	id, err := a.newRangeID(ctx)
	if err != nil {
		return fmt.Errorf("an id for a new range: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := untilFree(ctx, func() error { return r.Split(ctx, key, id) }); err != nil {
		return err
	}
	a.o.Stats.Of(r).Load.Reset()
	if a.o.Alone {
		return nil
	}
	if err := awaitGeneration(ctx, r, d.Generation); err != nil {
		return nil // it was split all the same
	}
	a.recordSplit(ctx, r, id)
	return nil
}

// recordSplit writes the addresses of the halves of a range, so that whoever looks next finds
// the new one. The publisher goes on if it fails.
func (a *Admin) recordSplit(ctx context.Context, left *replica.Replica, right kvpb.RangeID) {
	descs := []*kvpb.RangeDescriptor{left.Desc()}
	err := watch(ctx, func() (bool, error) {
		r, ok := a.o.Store.Replica(right)
		if ok = ok && r.Initialized(); ok {
			descs = append(descs, r.Desc())
		}
		return ok, nil
	})
	if err == nil {
		err = a.o.Addresses.Write(ctx, a.o.DB(), descs...)
	}
	if err != nil {
		a.o.Logger.Warn("addresses after a split", "range", left.RangeID(), "new", right, "err", err)
	}
}

// SplitFirstRange leaves only the meta records in the first range, which never splits later: at
// the founding of a cluster it holds everything. Where it is done, or the range is led by
// another node, there is nothing to do.
func (a *Admin) SplitFirstRange(ctx context.Context) error {
	r, ok := a.o.Store.Replica(address.FirstRange)
	end := keys.MetaSpan().End
	if !ok || !r.Leads() || string(r.Desc().EndKey) <= string(end) {
		return nil
	}
	return a.splitRange(ctx, r, end)
}
