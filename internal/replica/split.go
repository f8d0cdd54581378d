package replica

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/rangestate"
)

// Split splits the range at key. This range keeps the keys below. The new range id gets the rest, with
// replicas on the same stores. Split returns when this replica has applied it.
func (r *Replica) Split(ctx context.Context, key []byte, id kvpb.RangeID) error {
	// A split moves the row locks of the right half. So, like any request that changes locks, it excludes
	// their export.
	var in lockSection
	defer in.leave()
	fence, err := in.admit(ctx, r)
	if err != nil {
		return err
	}
	d := r.Desc()
	if bytes.Compare(key, d.StartKey) <= 0 || bytes.Compare(key, d.EndKey) >= 0 {
		return r.mismatch()
	}
	left, right, err := rangestate.Split(d, key, id)
	if err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.Split(left, right)
	return r.group.Propose(fence, b.Bytes())
}

// makeRight creates the replica of the right half, which does not start yet. It returns nil if this store
// has none, or after an error, which it logs.
func (r *Replica) makeRight(right *kvpb.RangeDescriptor) *Replica {
	n, err := r.deps.Split(r, right)
	if err != nil {
		r.deps.Logger.Error("split: the new range's replica", "range", right.RangeID, "err", err)
		return nil
	}
	return n
}

// split starts the right half's replica n after the split was applied. At the leader, n inherits the locks
// and the timestamp cache of the right half.
func (r *Replica) split(n *Replica, right *kvpb.RangeDescriptor) {
	r.formerRight.Store(right)
	r.intents.Split(right.StartKey)
	if n == nil {
		return
	}
	n.finished.CopyFrom(&r.finished) // the right half's history is that of this range
	if r.deps.Closing != nil {
		r.deps.Closing.Inherit(r.id, n.id, r.applied.Load())
	}
	n.election.SplitOff(r.splitLeader())
	if r.lease.Load() != nil {
		r.records.Split(right.StartKey)
		n.inheritMu.Lock()
		n.right.Store(r.right.Load())
		r.right.Store(n) // from now on releases of the moved locks go there too
		n.inherits = true
		n.inherit = r.locks.Extract(right.StartKey, right.EndKey)
		if plant.On(plant.SplitDropsLocks) {
			n.inherit = n.inherit[:0]
		}
		n.inheritLockTableID = r.lockTableID.Load()
		n.inheritSubsumed = r.merging.subsumedLockTables.Load()
		if !plant.On(plant.SplitForgetsReads) {
			n.reads.Inherit(r.reads) // later reads find the new bounds (invariant 7)
		}
		n.inheritMu.Unlock()
		if !n.onlyVoter() { // Start makes an only voter the leader
			n.splitOff.Store(true) // while the left half is still led here
			defer n.tasks.run(func() {
				defer n.splitOff.Store(false)
				ctx, cancel := n.tasks.context(splitElection)
				defer cancel()
				n.campaignUntilLed(ctx)
			})
		}
	}
	if err := n.Start(); err != nil {
		r.deps.Logger.Error("split: the new range's replica", "range", right.RangeID, "err", err)
	}
}

// splitLeader returns the leader that may still serve the keys of the right half under the old bounds,
// since it has not applied the split. A leader of a later term applied the split before it served.
func (r *Replica) splitLeader() (l lease.SplitLeader) {
	lead, ok := r.Leader()
	if !ok || r.deps.Support == nil || r.transfers.appliedTerm != r.group.Raft().BasicStatus().GetTerm() {
		return l
	}
	if l.Epoch = r.deps.Support.Granted(lead.Store).Epoch; l.Epoch != 0 {
		l.Store = lead.Store
	}
	return l
}
