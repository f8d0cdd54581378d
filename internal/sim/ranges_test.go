package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// replicas is how many a range has.
	replicas = 3
	// maxRanges bounds the ranges that splits make.
	maxRanges = 16
	// changeTimeout bounds one change of a range, transferWait the wait for a new leader.
	changeTimeout = 15 * time.Second
	transferWait  = 3 * time.Second
	changePause   = 20 * time.Millisecond
)

var errNothing = errors.New("there is nothing to do")

// led is a range at the node that leads it.
type led struct {
	*replica.Replica
	l *life
}

// leaders returns the ranges that are led, in the order of their ids.
func (c *cluster) leaders() (out []led) {
	for _, l := range c.lives() {
		for _, r := range l.store.Replicas() {
			if r.Leads() {
				out = append(out, led{r, l})
			}
		}
	}
	slices.SortFunc(out, func(a, b led) int { return cmp.Compare(a.RangeID(), b.RangeID()) })
	return slices.CompactFunc(out, func(a, b led) bool { return a.RangeID() == b.RangeID() })
}

// change begins what a fault of its kind says, on a goroutine of its own.
func (c *cluster) change(f Fault) {
	c.changes.Go(func() {
		what, err := c.makeChange(f)
		if err != nil {
			what += ": " + err.Error()
		} else {
			c.changed[f.Kind].Add(1)
		}
		c.story.Addf("%v at %v: %s", f.Kind, f.At, what)
	})
}

func (c *cluster) makeChange(f Fault) (what string, err error) {
	rng := rand.New(rand.NewPCG(uint64(f.Amount), 1))
	if f.Kind == FlushStore {
		l := c.node(f.Nodes[0]).current()
		if l == nil || !l.use() {
			return "node is down", errNothing
		}
		defer l.running.Done()
		return fmt.Sprintf("node %d", l.node.id), l.store.Engine().StartFlush()
	}
	all := c.leaders()
	if f.Kind == SplitRange || f.Kind == MergeRanges { // the meta records stay by themselves
		all = slices.DeleteFunc(all, func(r led) bool { return r.RangeID() == address.FirstRange })
	}
	if len(all) == 0 {
		return "no range is led", errNothing
	}
	r := all[rng.IntN(len(all))]
	if !r.l.use() {
		return "node is down", errNothing
	}
	defer r.l.running.Done()
	ctx, cancel := context.WithTimeout(r.l.ended, changeTimeout)
	defer cancel()
	switch f.Kind {
	case SplitRange:
		return c.splitRange(ctx, r, rng, len(all))
	case MergeRanges:
		return c.mergeRanges(ctx, r)
	case MoveReplica:
		return c.moveReplica(ctx, r, rng)
	}
	return c.moveLeader(ctx, r, rng)
}

// again runs fn until another change, or a learner's lag, is no longer in its way.
func again(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if !errors.Is(err, replica.ErrBusy) && !errors.Is(err, replica.ErrBehind) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(changePause):
		}
	}
}

// await waits until done says so.
func await(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(changePause):
		}
	}
	return nil
}

func (c *cluster) splitRange(ctx context.Context, r led, rng *rand.Rand, ranges int) (string, error) {
	d := r.Desc()
	var inside []string
	for _, k := range c.cutKeys {
		if k > string(d.StartKey) && k < string(d.EndKey) {
			inside = append(inside, k)
		}
	}
	if len(inside) == 0 || ranges >= maxRanges {
		return fmt.Sprintf("range %d stays whole", d.RangeID), errNothing
	}
	key := inside[rng.IntN(len(inside))]
	return fmt.Sprintf("range %d at %q", d.RangeID, key), r.l.kv.Admin.SplitAt(ctx, []byte(key))
}

// moveReplica moves a replica to a node that has none of the range, and puts right
// what an earlier move that was interrupted left behind.
func (c *cluster) moveReplica(ctx context.Context, r led, rng *rand.Rand) (string, error) {
	d := r.Desc()
	self := r.l.store.Identity().Store
	var voters, learners []kvpb.ReplicaDescriptor // but the leader
	for _, rep := range d.Replicas {
		switch {
		case rep.Type == kvpb.Learner:
			learners = append(learners, rep)
		case rep.Store != self:
			voters = append(voters, rep)
		}
	}
	var free []*node
	for _, n := range c.nodes {
		if _, there := d.Replica(kvpb.StoreID(n.id)); !there {
			free = append(free, n)
		}
	}
	step := func(cs ...replica.Change) error {
		before := r.Desc().Generation
		if err := again(ctx, func() error { return r.ChangeReplicas(ctx, cs) }); err != nil {
			return err
		}
		return await(ctx, func() bool { return r.Desc().Generation > before && !r.Desc().Joint() })
	}
	at := func(k replica.ChangeKind, rep kvpb.ReplicaDescriptor) replica.Change {
		return replica.Change{Kind: k, Node: rep.Node, Store: rep.Store}
	}
	switch {
	case len(voters) >= replicas:
		v := voters[rng.IntN(len(voters))]
		return fmt.Sprintf("range %d loses its surplus voter on %d", d.RangeID, v.Store), step(at(replica.Remove, v))
	case len(learners) > 0 && len(voters) < replicas-1:
		return fmt.Sprintf("range %d: the learner on %d becomes a voter", d.RangeID, learners[0].Store), step(at(replica.Promote, learners[0]))
	case len(learners) > 0:
		return fmt.Sprintf("range %d loses its learner on %d", d.RangeID, learners[0].Store), step(at(replica.Remove, learners[0]))
	case len(free) == 0:
		return fmt.Sprintf("range %d: no node is free", d.RangeID), errNothing
	}
	n := free[rng.IntN(len(free))]
	fresh := kvpb.ReplicaDescriptor{Node: n.id, Store: kvpb.StoreID(n.id)}
	what := fmt.Sprintf("range %d to %d", d.RangeID, n.id)
	if err := step(at(replica.AddLearner, fresh)); err != nil {
		return what + ", learner", err
	}
	if len(voters) < replicas-1 {
		return what + ", which it lacked", step(at(replica.Promote, fresh))
	}
	old := voters[rng.IntN(len(voters))]
	what = fmt.Sprintf("%s from %d", what, old.Store)
	if rng.IntN(2) == 0 {
		return what, step(at(replica.Promote, fresh), at(replica.Remove, old))
	}
	if err := step(at(replica.Promote, fresh), at(replica.Demote, old)); err != nil {
		return what + ", exchange", err
	}
	return what + " by way of a learner", step(at(replica.Remove, old))
}

func (c *cluster) moveLeader(ctx context.Context, r led, rng *rand.Rand) (string, error) {
	var others []kvpb.ReplicaDescriptor
	for _, rep := range r.Desc().Replicas {
		if rep.Type == kvpb.Voter && rep.Replica != r.ReplicaID() {
			others = append(others, rep)
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("range %d has no other voter", r.RangeID()), errNothing
	}
	to := others[rng.IntN(len(others))]
	ctx, cancel := context.WithTimeout(ctx, transferWait)
	defer cancel()
	r.TransferLeader(to.Replica)
	err := await(ctx, func() bool {
		now, ok := r.Leader()
		return ok && now.Replica == to.Replica && !r.Leads()
	})
	if err != nil {
		r.Reclaim()
	}
	return fmt.Sprintf("range %d from %d to %d", r.RangeID(), r.l.node.id, to.Store), err
}

// mergeRanges has a range take in the one to its right, which its node must lead too.
func (c *cluster) mergeRanges(ctx context.Context, r led) (string, error) {
	end := string(r.Desc().EndKey)
	var right led
	for _, o := range c.leaders() {
		if string(o.Desc().StartKey) == end {
			right = o
		}
	}
	if right.Replica == nil {
		return fmt.Sprintf("range %d has no neighbour that is led", r.RangeID()), errNothing
	}
	what := fmt.Sprintf("range %d takes in range %d", r.RangeID(), right.RangeID())
	if right.l != r.l {
		to, ok := right.Desc().Replica(r.l.store.Identity().Store)
		if !ok {
			return what + ", which is elsewhere", errNothing
		}
		right.TransferLeader(to.Replica)
		n, ok := r.l.store.Replica(right.RangeID())
		if !ok {
			return what + ", which is elsewhere", errNothing
		}
		if err := await(ctx, n.Leads); err != nil {
			return what + ", which stays where it is", err
		}
	}
	return what, r.l.kv.Admin.Merge(ctx, r.RangeID())
}

// repair brings every range to its number of voters.
func (c *cluster) repair() {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 4 {
		for _, r := range c.leaders() {
			d := r.Desc()
			voters, others := 0, 0
			for _, rep := range d.Replicas {
				if rep.Type == kvpb.Voter {
					voters++
				} else {
					others++
				}
			}
			if voters == replicas && others == 0 || !r.l.use() {
				continue
			}
			ctx, cancel := context.WithTimeout(r.l.ended, changeTimeout)
			what, err := c.moveReplica(ctx, r, rng)
			cancel()
			r.l.running.Done()
			c.story.Addf("repair: %s: %v", what, err)
		}
	}
}

// metaEnd is where the range of the meta records ends.
var metaEnd = string(keys.MetaSpan().End)
