package replica

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Split cuts the range at key: this range keeps the keys below, the new range id
// gets the rest, with replicas on the same stores. It returns when this replica
// has applied the split.
func (r *Replica) Split(ctx context.Context, key []byte, id kvpb.RangeID) error {
	under, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	d := r.Desc()
	if bytes.Compare(key, d.StartKey) <= 0 || bytes.Compare(key, d.EndKey) >= 0 {
		return r.mismatch()
	}
	left, right := cloneDescriptor(d), cloneDescriptor(d)
	left.EndKey = bytes.Clone(key)
	left.Generation++
	left.Borders = left.Generation
	right.RangeID, right.StartKey = id, left.EndKey
	right.Generation, right.Borders = left.Generation, left.Generation
	for _, rep := range d.Replicas {
		if rep.Type == kvpb.VoterIncoming || rep.Type == kvpb.VoterOutgoing {
			return fmt.Errorf("range %d: %w", d.RangeID, ErrBusy)
		}
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.Split(left, right)
	return r.group.propose(under, b.Bytes())
}

// split makes the new range's replica after the split was applied. What the leader
// knows of the right half's locks and reads goes with it.
func (r *Replica) split(old, left, right *kvpb.RangeDescriptor) {
	r.formerRight.Store(right)
	n, err := r.deps.Split(r, right)
	if err != nil {
		r.deps.Logger.Error("split: the new range's replica", "range", right.RangeID, "err", err)
		return
	}
	if n == nil {
		return
	}
	if lead, ok := r.Leader(); ok {
		n.presumed = lead.Store
	}
	if r.lease.Load() != nil {
		n.inherit = r.locks.Extract(right.StartKey, right.EndKey)
		n.inheritEpoch = r.epoch.Load()
		defer n.Campaign()
	}
	if err := n.Start(); err != nil {
		r.deps.Logger.Error("split: the new range's replica", "range", right.RangeID, "err", err)
	}
}
