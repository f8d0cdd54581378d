package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
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
	inc *incarnation
}

// leaders returns the ranges that are led, in the order of their ids.
func (c *cluster) leaders() (out []led) {
	for _, inc := range c.running() {
		for _, r := range inc.store.Replicas() {
			if r.Leads() {
				out = append(out, led{r, inc})
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
		inc := c.node(f.Nodes[0]).current()
		if inc == nil || !inc.use() {
			return "node is down", errNothing
		}
		defer inc.running.Done()
		return fmt.Sprintf("node %d", inc.node.id), inc.store.Engine().StartFlush()
	}
	all := c.leaders()
	if f.Kind == SplitRange || f.Kind == MergeRanges { // the meta records stay by themselves
		all = slices.DeleteFunc(all, func(r led) bool { return r.RangeID() == address.FirstRange })
	}
	if len(all) == 0 {
		return "no range is led", errNothing
	}
	r := all[rng.IntN(len(all))]
	if !r.inc.use() {
		return "node is down", errNothing
	}
	defer r.inc.running.Done()
	ctx, cancel := context.WithTimeout(r.inc.ended, changeTimeout)
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
	return fmt.Sprintf("range %d at %q", d.RangeID, key), r.inc.kv.Admin.SplitAt(ctx, []byte(key))
}

// moveReplica moves a replica to a node that has none of the range.
func (c *cluster) moveReplica(ctx context.Context, r led, rng *rand.Rand) (string, error) {
	d, self := r.Desc(), r.inc.store.Identity().Store
	var others []placement.Target // voters but the leader
	for _, rep := range d.Replicas {
		if rep.Type == kvpb.Voter && rep.Store != self {
			others = append(others, placement.Target{Node: rep.Node, Store: rep.Store})
		}
	}
	var free []placement.Target
	for _, n := range c.nodes {
		if id := n.identity(); !slices.ContainsFunc(d.Replicas, func(rep kvpb.ReplicaDescriptor) bool { return rep.Store == id.Store }) {
			free = append(free, placement.Target{Node: id.Node, Store: id.Store})
		}
	}
	if len(free) == 0 || len(others) == 0 {
		return fmt.Sprintf("range %d: no node is free", d.RangeID), errNothing
	}
	to, from := free[rng.IntN(len(free))], others[rng.IntN(len(others))]
	return fmt.Sprintf("range %d from %d to %d", d.RangeID, from.Store, to.Store), r.inc.kv.Admin.ChangeReplicas(ctx, d.RangeID, []placement.Change{
		{Kind: placement.AddVoter, Target: to}, {Kind: placement.RemoveVoter, Target: from},
	})
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
	return fmt.Sprintf("range %d from %d to %d", r.RangeID(), r.inc.node.id, to.Store), err
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
	if right.inc != r.inc {
		to, ok := right.Desc().Replica(r.inc.store.Identity().Store)
		if !ok {
			return what + ", which is elsewhere", errNothing
		}
		right.TransferLeader(to.Replica)
		n, ok := r.inc.store.Replica(right.RangeID())
		if !ok {
			return what + ", which is elsewhere", errNothing
		}
		if err := await(ctx, n.Leads); err != nil {
			return what + ", which stays where it is", err
		}
	}
	return what, r.inc.kv.Admin.Merge(ctx, r.RangeID())
}

// metaEnd is where the range of the meta records ends.
var metaEnd = string(keys.MetaSpan().End)
