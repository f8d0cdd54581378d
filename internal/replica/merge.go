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
	"github.com/lichendb/lichen/internal/txnintent"
)

// A merge takes the range to the right of this one in, step by step, as package rangestate says and
// pictures; docs/decisions/0007 (Merges) says why. If it is not carried out to its end, the left
// range's leader ends it (ResolveMerge).

const (
	// settleWait is how long a merge waits for the right range's parts of transactions
	// to be decided, confirmWait for all replicas to have what led up to the merge, and
	// frozenWait for those of the frozen range, whose clients wait, to have the rest.
	settleWait  = 500 * time.Millisecond
	confirmWait = 3 * time.Second
	frozenWait  = 400 * time.Millisecond
	// mergePoll is how often that is looked at.
	mergePoll = 2 * time.Millisecond
)

// ErrNotNow says that two ranges can't be merged at the moment.
var ErrNotNow = rangestate.ErrNotNow

// Merge takes the range to the right in, whose leader is right. It returns when this
// replica has applied the merge. After an error it may be half done: if the descriptor
// says so (Merging), the caller calls ResolveMerge.
func (r *Replica) Merge(ctx context.Context, right *Replica) error {
	return r.MergeIf(ctx, right, func(context.Context) error { return nil })
}

// MergeIf is Merge if the boundary between the two may go. Who makes it stay after may has
// looked calls Renew at the right range: then the merge does not happen, or has.
func (r *Replica) MergeIf(ctx context.Context, right *Replica, may func(context.Context) error) error {
	left, other := r.Desc(), right.Desc() // before may looks (rangestate, invariant 2)
	if err := rangestate.Mergeable(left, other); err != nil {
		return err
	}
	if err := may(ctx); err != nil {
		return err
	}
	if !r.Leads() || !right.Leads() {
		return fmt.Errorf("%w: they have different leaders", ErrNotNow)
	}
	if r.transfers.Importing() != 0 { // the record tells of locks of what was split off since
		return fmt.Errorf("%w: row locks are being taken over", ErrNotNow)
	}
	// A replica that is away, or far behind, would keep the range frozen.
	err := errors.Join(r.awaitFollowers(ctx, 1, confirmWait), right.awaitFollowers(ctx, right.AppliedIndex(), confirmWait))
	if err != nil {
		return err
	}
	defer right.shutGate()()
	if err := right.awaitSettled(ctx); err != nil {
		return err
	}
	next := rangestate.BeginMerge(left, right.id)
	if err := r.redescribe(left, next); err != nil {
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
	if err := errors.Join(right.awaitFollowers(ctx, m.Index, frozenWait), r.awaitFollowers(ctx, 1, frozenWait)); err != nil {
		return err
	}
	return r.take(next, m)
}

// redescribe replaces the descriptor old by next; it has no effect if another one
// took its place.
func (r *Replica) redescribe(old, next *kvpb.RangeDescriptor) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.SetDescriptor(next)
	return r.decree(old, b.Bytes())
}

// decree proposes a command that changes the range itself. A frozen range takes it too.
func (r *Replica) decree(old *kvpb.RangeDescriptor, command []byte) error {
	l := r.lease.Load()
	if l == nil || !r.coversNow(l) {
		return r.notLeader()
	}
	return r.group.Propose(raftgroup.Fence{Term: l.Term, BoundsGen: old.BoundsGen}, command)
}

// freeze makes the range, as d describes it, stop for good, until it is part of left or
// Unfreeze is called.
func (r *Replica) freeze(d, left *kvpb.RangeDescriptor) (*apply.Merge, error) {
	next, err := rangestate.Freeze(d, left)
	if err != nil {
		return nil, err
	}
	if err := r.redescribe(d, next); err != nil {
		return nil, err
	}
	// What the log holds behind the entry has no effect.
	return &apply.Merge{Base: left.Generation, Index: r.AppliedIndex(), Right: next}, nil
}

// take proposes the command that merges.
func (r *Replica) take(left *kvpb.RangeDescriptor, m *apply.Merge) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.Merge(rangestate.Widen(left, m.Right), m)
	return r.decree(left, b.Bytes())
}

// ResolveMerge ends a merge that was begun and given up, perhaps under another leader:
// it will not happen any more, unless it has already. unfreeze has the leader of the range
// on the right call Unfreeze, wherever it is.
func (r *Replica) ResolveMerge(ctx context.Context, unfreeze func(ctx context.Context, right, left kvpb.RangeID, generation uint64) error) error {
	d := r.Desc()
	if d.Merging == 0 {
		return nil
	}
	next := rangestate.Abandon(d)
	if err := r.redescribe(d, next); err != nil {
		return err // perhaps since the merge has happened
	}
	// The command that merges names an earlier generation.
	if err := unfreeze(ctx, d.Merging, d.RangeID, next.Generation); err != nil {
		return err
	}
	return r.redescribe(next, rangestate.EndMerge(next))
}

// Unfreeze lets the range serve again that the range left froze before it had a
// generation. A freeze that is still on its way does not take effect any more.
func (r *Replica) Unfreeze(left kvpb.RangeID, generation uint64) error {
	d := r.Desc()
	next, err := rangestate.Unfreeze(d, left, generation)
	if err != nil {
		return err
	}
	return r.redescribe(d, next)
}

// Renew makes sure that the range, which is led here, goes on to begin where it does: a
// merge that was decided on before does not take effect any more. If one has, the error
// says where its keys are.
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
		err = r.redescribe(d, next)
		var moved *kvpb.RangeMismatchError
		if !errors.As(err, &moved) || r.Gone() {
			return err
		}
	}
}

// awaitSettled waits until no transaction has provisional data in the range: the
// versions of a large one would be at a timestamp of another range.
func (r *Replica) awaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for {
		if r.intents.Empty() {
			return nil
		}
		select {
		case <-time.After(mergePoll):
		case <-ctx.Done():
			return fmt.Errorf("%w: transactions have provisional data in range %d", ErrNotNow, r.id)
		}
	}
}

// nothingProvisional answers whether the frozen range holds no durable lock.
func (r *Replica) nothingProvisional(ctx context.Context) error {
	d := r.Desc()
	found := fmt.Errorf("%w: a transaction has provisional data in range %d", ErrNotNow, r.id)
	return r.eachIntent(ctx, kvpb.TxnID{}, kvpb.Span{Key: d.StartKey, EndKey: d.EndKey}, func([]byte, txnintent.Intent) error {
		return found
	})
}

// awaitFollowers waits until all other replicas have the range's log up to an index.
func (r *Replica) awaitFollowers(ctx context.Context, index uint64, timeout time.Duration) error {
	for _, d := range r.Desc().Replicas {
		if d.Replica != r.replicaID && !r.supportedBy(d.Store) {
			return fmt.Errorf("%w: the store %d, which has a replica of range %d, does not answer", ErrNotNow, d.Store, r.id)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		have := make(chan bool, 1)
		if !r.group.Do(func() { have <- r.group.followersHave(index) }) {
			return r.notLeader()
		}
		select {
		case ok := <-have:
			if ok {
				return nil
			}
			<-time.After(mergePoll)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: a replica of range %d lacks the end of the log", ErrNotNow, r.id)
		}
	}
}

func (g *group) followersHave(index uint64) bool {
	if g.Led() == 0 {
		return false
	}
	progress := g.Raft().Status().Progress
	for _, d := range g.r.Desc().Replicas {
		if p, ok := progress[uint64(d.Replica)]; d.Replica != g.r.replicaID && (!ok || p.Match < index) {
			g.StayActive()
			return false
		}
	}
	return true
}
