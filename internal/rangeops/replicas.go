package rangeops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// catchUpStall bounds how long a new replica may make no progress, a snapshot on its way
	// included; deadTimeout, how long its node may be silent.
	catchUpStall = 2 * time.Minute
	deadTimeout  = 10 * time.Second
	// maxTransferLag is how many log entries a replica may lack to count as caught up.
	maxTransferLag = 1000
)

// ChangeReplicas implements balance.Changer.
func (a *Admin) ChangeReplicas(ctx context.Context, id kvpb.RangeID, cs []placement.Change) error {
	return a.Do(ctx, &Op{Kind: ChangeReplicas, Range: id, Changes: cs}, nil)
}

// changeReplicas changes the members of a range that is led here, after others have done so:
// placement would take the learner of a change under way for one that was left over.
func (a *Admin) changeReplicas(ctx context.Context, r *replica.Replica, cs []placement.Change) error {
	if err := a.takeTurn(ctx, r.RangeID()); err != nil {
		return err
	}
	defer a.changing.leave(r.RangeID())
	if len(cs) == 0 {
		return a.leaveJoint(ctx, r)
	}
	p, err := planReplicas(r.Desc(), a.o.Store.Of(r).Identity().Store, cs)
	if err != nil {
		return err
	}
	for _, c := range p.learners {
		err := a.applyChanges(ctx, r, []replica.Change{{Kind: replica.AddLearner, Node: c.Node, Store: c.Store}})
		if err != nil {
			return fmt.Errorf("adding a learner on store %d: %w", c.Store, err)
		}
	}
	for _, t := range p.await {
		if err := a.awaitCaughtUp(ctx, r, t); err != nil {
			return err
		}
	}
	if len(p.votes) > 0 {
		if err := a.applyChanges(ctx, r, p.votes); err != nil {
			return err
		}
		if err := a.leaveJoint(ctx, r); err != nil {
			return err
		}
	}
	for i := range p.removed {
		if err := a.applyChanges(ctx, r, p.removed[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// takeTurn waits until no goroutine of this node changes a range's replicas.
func (a *Admin) takeTurn(ctx context.Context, id kvpb.RangeID) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := watch(ctx, func() (bool, error) { return a.changing.enter(id), nil })
	if err != nil {
		return fmt.Errorf("range %d: another change of its replicas is under way: %w", id, err)
	}
	return nil
}

// applyChanges makes changes take effect together, waiting for what is in their way.
func (a *Admin) applyChanges(ctx context.Context, r *replica.Replica, cs []replica.Change) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var last error
	var before uint64
	err := watch(ctx, func() (bool, error) {
		before = r.Desc().Generation
		last = r.ChangeReplicas(ctx, cs)
		if errors.Is(last, replica.ErrBusy) || errors.Is(last, replica.ErrBehind) {
			return false, nil
		}
		return true, last
	})
	if err != nil && last != nil && ctx.Err() != nil {
		return last // says more than that the time is over
	}
	if err != nil {
		return err
	}
	return awaitGeneration(ctx, r, before)
}

// awaitGeneration waits until a replica shows the change that it has just applied.
func awaitGeneration(ctx context.Context, r *replica.Replica, before uint64) error {
	return watch(ctx, func() (bool, error) { return r.Desc().Generation > before, nil })
}

// leaveJoint waits for the end of a joint configuration and of the replicas that it voted out, which the
// range's leader sees to.
func (a *Admin) leaveJoint(ctx context.Context, r *replica.Replica) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := watch(ctx, func() (bool, error) {
		if r.Desc().ChangingReplicas() {
			return false, stillLeads(r)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("range %d: leaving a joint configuration: %w", r.RangeID(), err)
	}
	return nil
}

// awaitCaughtUp waits until a replica has the range's data and its log.
func (a *Admin) awaitCaughtUp(ctx context.Context, r *replica.Replica, t placement.Target) error {
	s := a.o.Stats.Of(r)
	var match uint64
	moved := time.Now()
	return watch(ctx, func() (bool, error) {
		s.AskFollowers()
		for _, f := range s.Followers() {
			if f.Replica.Store != t.Store {
				continue
			}
			if f.Match > match {
				match, moved = f.Match, time.Now()
			}
			if f.Match > 0 && f.Behind <= maxTransferLag {
				return true, nil
			}
		}
		_, member := r.Desc().Replica(t.Store)
		switch {
		case !member:
			return false, fmt.Errorf("range %d: the new replica on store %d was removed", r.RangeID(), t.Store)
		case time.Since(moved) > catchUpStall:
			return false, fmt.Errorf("range %d: the replica on store %d does not catch up", r.RangeID(), t.Store)
		case !a.o.Live.Live(t.Node) && time.Since(a.o.Live.LastContact(t.Node)) > deadTimeout:
			return false, fmt.Errorf("range %d: node %d, which is to get a replica, does not answer", r.RangeID(), t.Node)
		}
		return false, stillLeads(r)
	})
}
