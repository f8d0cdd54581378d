package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// fault is something that ails one node for a while.
type fault struct {
	name string
	// bound is how long writes elsewhere may pause.
	bound time.Duration
	begin func(context.Context, *stage, *Node) error
	// hold, if not nil, goes on while the fault lasts, which is d.
	hold func(ctx context.Context, s *stage, n *Node, d time.Duration) error
	end  func(context.Context, *stage, *Node) error
}

// faults are those that play mixes.
func faults() []fault {
	heal := func(_ context.Context, s *stage, n *Node) error {
		s.c.Links.HealNode(n.ID)
		return nil
	}
	diskWell := func(_ context.Context, _ *stage, n *Node) error { return n.Disk("off=1") }
	clockWell := func(_ context.Context, _ *stage, n *Node) error { return n.Clock("off=1") }
	start := func(ctx context.Context, s *stage, n *Node) error { return s.restart(ctx, n) }
	disk := func(how string) func(context.Context, *stage, *Node) error {
		return func(_ context.Context, _ *stage, n *Node) error { return n.Disk(how) }
	}
	clock := func(how string) func(context.Context, *stage, *Node) error {
		return func(_ context.Context, _ *stage, n *Node) error { return n.Clock(how) }
	}
	cut := func(out, in bool) func(context.Context, *stage, *Node) error {
		return func(_ context.Context, s *stage, n *Node) error { s.cut(n, out, in); return nil }
	}
	return []fault{
		{"kill", maxWait, func(_ context.Context, _ *stage, n *Node) error { return n.Kill() }, nil, start},
		{"stop", maxWait, func(_ context.Context, _ *stage, n *Node) error { _, err := n.Stop(); return err }, nil, start},
		{
			"stand still", maxWait, func(_ context.Context, _ *stage, n *Node) error { return n.Pause() }, nil,
			func(_ context.Context, _ *stage, n *Node) error { return n.Resume() },
		},
		{"cut off", maxWait, cut(true, true), nil, heal},
		{"send nothing", maxWait, cut(true, false), nil, heal},
		{"receive nothing", maxWait, cut(false, true), nil, heal},
		{"flap", maxWait, nil, func(ctx context.Context, s *stage, n *Node, d time.Duration) error { return s.flapFor(ctx, n, d) }, heal},
		{"clock +2 s", maxWait, clock("jump=2s"), nil, clockWell},
		{"clock -2 s", maxWait, clock("jump=-2s"), nil, clockWell},
		{"clock +0.1 s", maxWait, clock("jump=100ms"), nil, clockWell},
		{"clock 5 % fast", maxWait, clock("drift=50000"), nil, clockWell},
		{"disk stands still", maxWait, disk("delay=1m"), nil, diskWell},
		{"disk slow", maxWait, disk("delay=300ms"), nil, diskWell},
		{"disk full", maxWait, disk("fail=enospc"), nil, diskWell},
		{
			"scatter", maxWait, func(ctx context.Context, _ *stage, n *Node) error {
				_, _ = n.query(ctx, "ALTER TABLE torture_wide SCATTER") // may fail, as any statement
				return nil
			}, nil, nil,
		},
	}
}

// cut cuts what a node sends to the others, or what they send to it.
func (s *stage) cut(n *Node, out, in bool) {
	for _, o := range s.c.Nodes {
		if o == n {
			continue
		}
		if out {
			s.c.Links.Cut(n.ID, o.ID)
		}
		if in {
			s.c.Links.Cut(o.ID, n.ID)
		}
	}
}

// flapFor breaks and heals the links of a node for a while.
func (s *stage) flapFor(ctx context.Context, n *Node, d time.Duration) error {
	some := func(most time.Duration) time.Duration {
		return 50*time.Millisecond + time.Duration(s.rng.Int64N(int64(most)))
	}
	for begun := time.Now(); time.Since(begun) < d; {
		for _, o := range s.c.Nodes {
			if o == n {
				continue
			}
			switch s.rng.IntN(3) {
			case 0:
				s.c.Links.CutBoth(n.ID, o.ID)
			case 1:
				s.c.Links.Cut(n.ID, o.ID)
			default:
				s.c.Links.Cut(o.ID, n.ID)
			}
		}
		if err := sleep.For(ctx, some(700*time.Millisecond)); err != nil {
			return err
		}
		s.c.Links.HealNode(n.ID)
		if err := sleep.For(ctx, some(500*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// mixed does random things to random nodes until the time is over: mostly one, now and
// then two at once. With two of five nodes hurt a range with three replicas may have no
// quorum, so that pauses are reported but not judged.
func mixed(ctx context.Context, s *stage) error {
	all := faults()
	for n := 0; n == 0 || !s.over(); n++ {
		count := 1
		if len(s.c.Nodes) >= 5 && s.rng.IntN(4) == 0 {
			count = 2
		}
		var hurt []ailing
		for _, i := range s.rng.Perm(len(s.c.Nodes))[:count] {
			hurt = append(hurt, ailing{all[s.rng.IntN(len(all))], s.c.Nodes[i]})
		}
		if err := s.ail(ctx, hurt, between(s.rng, 3*time.Second, 10*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// ailing is a fault of a node.
type ailing struct {
	fault
	node *Node
}

func between(rng *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(rng.Int64N(int64(b-a)))
}

// ail lets nodes have faults for a while, and waits until they serve again.
func (s *stage) ail(ctx context.Context, all []ailing, d time.Duration) (err error) {
	begun := time.Now()
	what, bound := "", time.Duration(0)
	var nodes []*Node
	for i, a := range all {
		if i > 0 {
			what += ", "
		}
		what += fmt.Sprintf("node %d: %s", a.node.ID, a.name)
		bound = max(bound, a.bound)
		nodes = append(nodes, a.node)
	}
	if len(all) > 1 {
		bound = 0
	}
	for _, a := range all {
		if a.begin != nil {
			if err := a.begin(ctx, s, a.node); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	hold := d
	for _, a := range all {
		if a.hold != nil {
			if err := a.hold(ctx, s, a.node, d); err != nil {
				return err
			}
			hold = 0
		}
	}
	if err := s.watchWithin(ctx, begun, hold, bound, what, nodes...); err != nil {
		return err
	}
	for _, a := range all {
		if a.end != nil {
			if err := a.end(ctx, s, a.node); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	for _, a := range all {
		if err := s.settle(ctx, a.node); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// faulty is a scenario's step with one fault of the mix.
func faulty(name string, d time.Duration) func(context.Context, *stage, *Node) error {
	return func(ctx context.Context, s *stage, n *Node) error {
		for _, f := range faults() {
			if f.name == name {
				return s.ail(ctx, []ailing{{f, n}}, d)
			}
		}
		return fmt.Errorf("there is no fault %q", name)
	}
}

const (
	// relievedTime is how long a node with a slow disk may go on to lead ranges.
	relievedTime = 10 * time.Second
	// wellTime bounds the wait until a disk that was slow does not count as such any more.
	wellTime = time.Minute
)

// slowDisk slows a node's disk down in everything it does: writes elsewhere go on, and others
// lead what the node led.
func slowDisk(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	if err := n.Disk("delay=300ms"); err != nil {
		return err
	}
	what := fmt.Sprintf("the disk of node %d is slow", n.ID)
	if err := s.watch(ctx, begun, relievedTime, what, n); err != nil {
		return err
	}
	leads, err := s.leads(ctx, n)
	if err != nil {
		return err
	}
	if len(leads) > 0 {
		s.res.violation("%s, and after %s it still leads the ranges %v", what, relievedTime, leads)
	}
	if err := s.watch(ctx, time.Now(), 5*time.Second, what+", others lead", n); err != nil {
		return err
	}
	if err := n.Disk("off=1"); err != nil {
		return err
	}
	return s.awaitWell(ctx, n)
}

// leads returns the ids of the ranges that a node leads.
func (s *stage) leads(ctx context.Context, n *Node) (ids []string, err error) {
	rows, err := s.round.anywhere(ctx, "SHOW CLUSTER RANGES")
	for _, r := range rows {
		if r[4] == fmt.Sprint(n.ID) {
			ids = append(ids, r[2])
		}
	}
	return ids, err
}

// awaitWell waits until a node's disk does not count as slow.
func (s *stage) awaitWell(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, wellTime)
	defer cancel()
	for {
		page, err := n.get("/_status/vars")
		if err == nil && !slowMetric.MatchString(page) {
			return nil
		}
		if perr := sleep.For(ctx, 10*pollPace); perr != nil {
			return errors.Join(fmt.Errorf("the disk of node %d still counts as slow after %s", n.ID, wellTime), err)
		}
	}
}

// slowMetric finds the metric of a store whose disk counts as slow.
var slowMetric = regexp.MustCompile(`(?m)^lichen_store_disk_slow\{.*\} 1$`)

// breakDisk lets a disk report errors, which ends the node; it starts again on a
// disk that works.
func breakDisk(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	n.expectEnd()
	if err := n.Disk("fail=eio"); err != nil {
		return err
	}
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	select {
	case <-ended:
		s.res.note("node %d ended %.1f s after its disk had failed", n.ID, time.Since(begun).Seconds())
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(refusedTime):
		s.res.violation("node %d goes on with a disk that fails", n.ID)
		if err := n.Kill(); err != nil {
			return err
		}
	}
	if err := s.watchWithin(ctx, begun, 5*time.Second, maxWait, fmt.Sprintf("node %d: disk fails", n.ID), n); err != nil {
		return err
	}
	if err := s.restart(ctx, n); err != nil {
		return err
	}
	return sleep.For(ctx, 3*time.Second)
}
