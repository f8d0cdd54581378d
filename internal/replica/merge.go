package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/rangestate"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/txnintent"
)

// A merge subsumes the range to the right of this one. Package rangestate has a diagram of its steps,
// docs/decisions/0007 (Merges) their reasons. If a merge stops half-way, the leader of the left range
// undoes it (ResolveMerge).

const (
	// A merge waits intentsTimeout for the resolution of the intents in the right range, and
	// confirmTimeout for all replicas to have the log before it. It waits frozenTimeout for the
	// replicas of the frozen range to have the rest: short, since clients wait meanwhile.
	intentsTimeout = 500 * time.Millisecond
	confirmTimeout = 3 * time.Second
	frozenTimeout  = 400 * time.Millisecond
	// mergePoll is the interval between two checks.
	mergePoll = 2 * time.Millisecond
)

// ErrNotNow says that two ranges can't be merged at present.
var ErrNotNow = rangestate.ErrNotNow

// Merge merges the range on the right, whose leader is right, into this one. It returns when this replica
// has applied the merge. After an error the merge may be half done: the caller calls ResolveMerge if the
// descriptor is Merging. It returns ErrNotNow if the state of the two ranges does not allow it.
func (r *Replica) Merge(ctx context.Context, right *Replica) error {
	return r.MergeIf(ctx, right, func(context.Context) error { return nil })
}

// MergeIf is Merge, provided that may allows the removal of the boundary. If a caller needs the boundary
// after may has checked, it calls Renew on the right range: then the merge fails, or has already happened.
func (r *Replica) MergeIf(ctx context.Context, right *Replica, may func(context.Context) error) error {
	left, other := r.Desc(), right.Desc() // before may (rangestate, invariant 2)
	if err := rangestate.Mergeable(left, other); err != nil {
		return err
	}
	if err := may(ctx); err != nil {
		return err
	}
	if !r.Leads() || !right.Leads() {
		return fmt.Errorf("%w: they have different leaders", ErrNotNow)
	}
	if r.transfers.Importing() != 0 { // the record may have locks of a range that was split off since
		return fmt.Errorf("%w: row locks are being imported", ErrNotNow)
	}
	// A replica that is unreachable, or far behind, would keep the range frozen.
	err := errors.Join(r.awaitFollowers(ctx, 1, confirmTimeout), right.awaitFollowers(ctx, right.AppliedIndex(), confirmTimeout))
	if err != nil {
		return err
	}
	defer right.raiseFreezeBarrier()()
	if err := right.awaitResolved(ctx); err != nil {
		return err
	}
	// The row locks of the right range move with it: neither range exports its own meanwhile.
	var here, there lockSection
	defer here.leave()
	defer there.leave()
	if err := errors.Join(here.enter(ctx, r), there.enter(ctx, right)); err != nil {
		return err
	}
	next := rangestate.BeginMerge(left, right.id)
	if err := r.replaceDescriptor(left, next); err != nil {
		return err
	}
	m, err := right.freeze(other, next)
	if err != nil {
		return err
	}
	if err := right.nothingProvisional(ctx); err != nil {
		return err
	}
	// Again for the left range: its members can't change any more.
	if err := errors.Join(right.awaitFollowers(ctx, m.Index, frozenTimeout), r.awaitFollowers(ctx, 1, frozenTimeout)); err != nil {
		return err
	}
	return r.proposeMerge(next, m)
}

// replaceDescriptor replaces the descriptor old with next. It has no effect if the descriptor has changed.
func (r *Replica) replaceDescriptor(old, next *kvpb.RangeDescriptor) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.SetDescriptor(next)
	return r.proposeFrozen(old, b.Bytes())
}

// proposeFrozen proposes a command that replaces the descriptor old. Unlike admitWrite it does not wait while
// the range is frozen.
func (r *Replica) proposeFrozen(old *kvpb.RangeDescriptor, command []byte) error {
	l := r.lease.Load()
	if l == nil || !r.coversNow(l) {
		return r.notLeader()
	}
	return r.group.Propose(raftgroup.Fence{Term: l.Term, BoundsGen: old.BoundsGen}, command)
}

// freeze makes the range stop serving, until left has subsumed it or Unfreeze is called.
func (r *Replica) freeze(d, left *kvpb.RangeDescriptor) (*apply.Merge, error) {
	next, err := rangestate.Freeze(d, left)
	if err != nil {
		return nil, err
	}
	if err := r.replaceDescriptor(d, next); err != nil {
		return nil, err
	}
	// Later entries in the log have no effect.
	return &apply.Merge{Base: left.Generation, Index: r.AppliedIndex(), Right: next}, nil
}

// proposeMerge proposes the merge itself.
func (r *Replica) proposeMerge(left *kvpb.RangeDescriptor, m *apply.Merge) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.Merge(rangestate.Widen(left, m.Right), m)
	return r.proposeFrozen(left, b.Bytes())
}

// ResolveMerge undoes a merge that was begun and given up, perhaps under another leader. Afterwards the
// merge can't happen any more, unless it already has. unfreeze calls Unfreeze at the leader of the right
// range.
func (r *Replica) ResolveMerge(ctx context.Context, unfreeze func(ctx context.Context, right, left kvpb.RangeID, generation uint64) error) error {
	d := r.Desc()
	if d.Merging == 0 {
		return nil
	}
	next := rangestate.Abandon(d)
	if err := r.replaceDescriptor(d, next); err != nil {
		return err // perhaps because the merge has happened
	}
	// The merge itself names an earlier generation, so it has no effect from now on.
	if err := unfreeze(ctx, d.Merging, d.RangeID, next.Generation); err != nil {
		return err
	}
	return r.replaceDescriptor(next, rangestate.EndMerge(next))
}

// Unfreeze ends the freeze of this range by the range left, if left began the merge before generation. A
// freeze that is still in flight has no effect afterwards.
func (r *Replica) Unfreeze(left kvpb.RangeID, generation uint64) error {
	d := r.Desc()
	next, err := rangestate.Unfreeze(d, left, generation)
	if err != nil {
		return err
	}
	return r.replaceDescriptor(d, next)
}

// Renew protects the left boundary of the range, which this replica must lead, from merges that have begun:
// they have no effect afterwards. If one has already happened, the error names the range that holds the keys.
func (r *Replica) Renew(ctx context.Context) error {
	for {
		if err := r.awaitUnfreeze(ctx); err != nil {
			return err
		}
		d := r.Desc()
		if d.Into != 0 {
			continue
		}
		next, err := rangestate.Renew(d)
		if err != nil {
			return err
		}
		err = r.replaceDescriptor(d, next)
		var moved *kvpb.RangeMismatchError
		if !errors.As(err, &moved) || r.Gone() {
			return err
		}
	}
}

// awaitResolved waits until no transaction has intents in the range. A spilled transaction has one
// timestamp per range for its versions, so the intents of two ranges could not be combined.
func (r *Replica) awaitResolved(ctx context.Context) error {
	return awaitMerge(ctx, intentsTimeout, func(context.Context) (bool, error) { return r.intents.Empty(), nil },
		fmt.Errorf("%w: transactions have provisional data in range %d", ErrNotNow, r.id))
}

// awaitMerge polls done until it returns true. After the timeout it returns timedOut.
func awaitMerge(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error), timedOut error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		switch ok, err := done(ctx); {
		case ctx.Err() != nil && !ok:
			return timedOut
		case ok || err != nil:
			return err
		}
		if sleep.For(ctx, mergePoll) != nil {
			return timedOut
		}
	}
}

// nothingProvisional fails if the frozen range holds a durable lock.
func (r *Replica) nothingProvisional(ctx context.Context) error {
	d := r.Desc()
	found := fmt.Errorf("%w: a transaction has provisional data in range %d", ErrNotNow, r.id)
	return r.eachIntent(ctx, kvpb.TxnID{}, kvpb.Span{Key: d.StartKey, EndKey: d.EndKey}, func([]byte, txnintent.Intent) error {
		return found
	})
}

// awaitFollowers waits until all other replicas have the range's log up to an index
// (rangestate.FollowersHave).
func (r *Replica) awaitFollowers(ctx context.Context, index uint64, timeout time.Duration) error {
	type answer struct {
		have bool
		err  error
	}
	return awaitMerge(ctx, timeout, func(ctx context.Context) (bool, error) {
		answers := make(chan answer, 1)
		ask := func() {
			have, err := r.group.followersHave(index)
			answers <- answer{have, err}
		}
		if !r.group.Do(ask) {
			return false, r.notLeader()
		}
		select {
		case a := <-answers:
			return a.have, a.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}, fmt.Errorf("%w: a replica of range %d lacks the end of the log", ErrNotNow, r.id))
}

// followersHave reports whether all other replicas have the log up to an index. If not, it keeps the
// leader from going idle.
func (g *group) followersHave(index uint64) (bool, error) {
	if g.Led() == 0 {
		return false, nil
	}
	progress := g.Raft().Status().Progress
	have, err := rangestate.FollowersHave(g.r.Desc(), g.r.replicaID, index, func(d *kvpb.ReplicaDescriptor) rangestate.Follower {
		p, known := progress[uint64(d.Replica)]
		return rangestate.Follower{Supports: g.r.supportedBy(d.Store), Known: known, Match: p.Match}
	})
	if !have && err == nil {
		g.StayActive()
	}
	return have, err
}
