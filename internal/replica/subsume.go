package replica

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// freezeTimeout bounds the wait of a request at a frozen range. It polls after freezePoll, and then
	// at intervals that double up to freezePollMost.
	freezeTimeout  = 3 * time.Second
	freezePoll     = time.Millisecond
	freezePollMost = 20 * time.Millisecond
	// gateWait bounds the wait of new parts of transactions at a range that is about to be frozen.
	gateWait = time.Second
	// maxSubsumedLockTables bounds the leaderships of subsumed ranges whose locks still count. Locks of older
	// ones are lost.
	maxSubsumedLockTables = 4096
)

// merging is a replica's state of merges, as the left or the right range.
type merging struct {
	// barrier is set while the range is about to be frozen (awaitFreezeBarrier).
	barrier atomic.Pointer[chan struct{}]
	// into is the replica of the range that has subsumed this one.
	into atomic.Pointer[successor]
	// mu is held while the leader's state moves to the left range.
	mu sync.Mutex
	// subsumedLockTables are the lock tables of subsumed ranges. Their locks count like those of Replica.lockTableID. The
	// slice is copied on write.
	subsumedLockTables atomic.Pointer[[]uint64]
}

// wait waits until the leader's state has moved, if it is moving.
func (m *merging) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
}

// successor is the replica that took another one's place, and its descriptor then.
type successor struct {
	*Replica
	desc *kvpb.RangeDescriptor
}

// present returns the newest known descriptor of the range that now holds the keys.
func (s *successor) present() *kvpb.RangeDescriptor {
	for n := s; ; {
		next := n.merging.into.Load()
		if next == nil {
			if d := n.Desc(); d.Generation > n.desc.Generation {
				return d
			}
			return n.desc
		}
		n = next
	}
}

// Gone reports whether the range is part of another one now.
func (r *Replica) Gone() bool { return r.merging.into.Load() != nil }

// raiseFreezeBarrier makes new parts of transactions wait in awaitFreezeBarrier until open is called.
func (r *Replica) raiseFreezeBarrier() (open func()) {
	barrier := make(chan struct{})
	r.merging.barrier.Store(&barrier)
	return func() {
		r.merging.barrier.CompareAndSwap(&barrier, nil)
		close(barrier)
	}
}

// awaitFreezeBarrier waits while the range is about to be frozen. A transaction that already has intents here does
// not wait, since the freeze waits for its end.
func (r *Replica) awaitFreezeBarrier(ctx context.Context, id kvpb.TxnID) {
	barrier := r.merging.barrier.Load()
	if barrier == nil {
		return
	}
	if r.intents.Get(id) != nil {
		return
	}
	t := time.NewTimer(gateWait)
	defer t.Stop()
	select {
	case <-*barrier:
	case <-t.C:
	case <-ctx.Done():
	}
}

// awaitUnfreeze waits while the range is frozen. It returns RangeMismatchError if the range was subsumed.
func (r *Replica) awaitUnfreeze(ctx context.Context) error {
	poll := freezePoll
	for began := time.Now(); ; {
		switch {
		case r.Gone():
			return r.mismatch()
		case r.Desc().Into == 0:
			return nil
		case r.lease.Load() == nil || time.Since(began) > freezeTimeout:
			return r.notLeader()
		}
		if err := sleep.For(ctx, poll); err != nil {
			return err
		}
		poll = min(2*poll, freezePollMost)
	}
}

// subsume makes the store's replica of the right range apply its log up to the freeze, and stops it. It is a
// part of the application of the merge.
func (g *group) subsume(t *apply.Trigger) (*Replica, error) {
	id := t.Merge.Right.RangeID
	right, ok := g.r.deps.Neighbour(id)
	if !ok {
		return nil, fmt.Errorf("range %d: range %d, which is to be merged into it, is not on this store", g.r.id, id)
	}
	gone := &kvpb.RangeMismatchError{Range: id, Known: []kvpb.RangeDescriptor{*t.Desc}}
	if err := right.group.Run(func() error { return right.group.endSubsumed(t.Merge, gone) }); err != nil {
		// %v, not %w: a group survives a full disk of its own, but this one has begun to apply the merge.
		return nil, fmt.Errorf("range %d: range %d was to be merged into it: %v", g.r.id, id, err)
	}
	g.r.raiseCertain() // commits of other leaderships are about to become readable here
	return right, g.applier.Absorb(t.Merge)
}

// endSubsumed applies the group's log up to the entry that froze the range, and ends the group. The entry is
// in the log. It is committed even if this replica does not know that yet.
func (g *group) endSubsumed(m *apply.Merge, gone error) error {
	if err := g.Broken(); err != nil {
		return err
	}
	if err := g.catchUp(m); err != nil {
		return g.Fail(err) // raft's state may differ from the durable one
	}
	if d := g.r.Desc(); g.applier.State().Index < m.Index || d.Generation != m.Right.Generation || d.Into != m.Right.Into {
		return fmt.Errorf("range %d: rangestate 2: at %d its descriptor is %+v, it was to be frozen at %d as %+v",
			g.r.id, g.applier.State().Index, *d, m.Index, *m.Right)
	}
	g.End(gone)
	return nil
}

// catchUp applies the log up to the entry that froze the range.
func (g *group) catchUp(m *apply.Merge) error {
	if err := g.ProcessReady(); err != nil {
		return err
	}
	if g.applier.State().Index >= m.Index {
		return nil
	}
	if g.View.State.Last < m.Index {
		return fmt.Errorf("range %d: its log ends at %d, before it was frozen at %d", g.r.id, g.View.State.Last, m.Index)
	}
	return g.Commit(m.Index)
}

// applyMerge gives this replica the keys of the right range and, if this replica leads, the state of the right
// leader: locks, reads and records.
func (r *Replica) applyMerge(right *Replica, t *apply.Trigger) {
	right.merging.mu.Lock()
	defer right.merging.mu.Unlock()
	// From now on releases of the moved locks come here as well.
	right.merging.into.Store(&successor{Replica: r, desc: t.Desc})
	led := right.lease.Swap(nil) != nil
	right.feeds.End(right.mismatch())
	r.finished.Absorb(&right.finished)
	if err := r.loadThreshold(); err != nil {
		r.deps.Logger.Error("collection threshold", "range", r.id, "err", err)
	}
	if r.lease.Load() != nil {
		d := right.Desc()
		r.intents.MustLieWithin(d.StartKey)
		// No read of the right range was at a later timestamp (docs/decisions/0007).
		now := r.deps.Clock.Now()
		r.reads.AddSpan(d.StartKey, d.EndKey, now, concurrency.TxnID{})
		r.lastWrite.Store(max(r.lastWrite.Load(), now.WallTime))
		r.gc.begin(now.WallTime)
		if led {
			r.subsumeLockTables(right)
			r.locks.Install(right.locks.Extract(nil, nil))
			right.abandoned.Each(r.abandoned.Add)
			right.replays.Replayed.Each(r.replays.Replayed.Add)
		}
		if err := r.addRecords(keys.Span{Start: d.StartKey, End: d.EndKey}); err != nil {
			r.deps.Logger.Error("transaction records", "range", r.id, "err", err)
		}
	}
	r.desc.Store(t.Desc)
	right.locks.Extract(nil, nil) // the waiters there get an error and wait here instead
}

// addRecords loads the transaction records of a span.
func (r *Replica) addRecords(span keys.Span) error {
	found, err := r.loadRecords(span, false, r.deps.Clock.Now().Max(r.reads.LowWater()))
	if err != nil || len(found) == 0 {
		return err
	}
	r.records.Add(found)
	r.sweepLater()
	return nil
}

// subsumeLockTables makes locks acquired under the leaderships of the right range count as held here.
func (r *Replica) subsumeLockTables(right *Replica) {
	var all []uint64
	if old := r.merging.subsumedLockTables.Load(); old != nil {
		all = append(all, *old...)
	}
	if theirs := right.merging.subsumedLockTables.Load(); theirs != nil {
		all = append(all, *theirs...)
	}
	all = append(all, right.lockTableID.Load())
	all = all[max(0, len(all)-maxSubsumedLockTables):]
	r.merging.subsumedLockTables.Store(&all)
}

// locksStand reports whether locks in a lock table still count.
func (r *Replica) locksStand(table uint64) bool {
	if table == r.lockTableID.Load() {
		return true
	}
	if all := r.merging.subsumedLockTables.Load(); all != nil {
		for _, e := range *all {
			if e == table {
				return true
			}
		}
	}
	return false
}
