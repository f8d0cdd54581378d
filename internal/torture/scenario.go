package torture

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// Bounds that the product promises.
const (
	// maxWait is how long writes may pause at a gateway that was not hurt.
	maxWait = 3 * time.Second
	// maxRefusal is how long a statement may take to fail when there is no quorum.
	maxRefusal = 10 * time.Second
	// reportWait is the wait from which on the run reports what the client did meanwhile.
	reportWait = 1500 * time.Millisecond
)

// Scenario is something that is done to a cluster under load.
type Scenario struct {
	Name, About string
	play        func(context.Context, *stage) error
	// least is how many nodes the scenario needs; 0: three.
	least int
	// balanced lets clients connect to nodes that say that they are ready.
	balanced bool
	// allowed, if not nil, are the classes of errors that clients may see.
	allowed []string
}

// Least is how many nodes the scenario needs.
func (s *Scenario) Least() int { return cmp.Or(s.least, fewNodes) }

// stage is where a scenario plays.
type stage struct {
	*test
	round *round
	res   *Result
	until time.Time // when the scenario should end; zero: whenever it does
}

// over reports whether no further fault may begin.
func (s *stage) over() bool { return !s.until.IsZero() && time.Now().After(s.until) }

// Scenarios returns all that there are.
func Scenarios() []*Scenario {
	return []*Scenario{
		{Name: "calm", About: "nothing happens for 20 s", play: undisturbed, least: 1},
		{Name: "kill", About: "a node is killed and started again, 20 times", play: times(20, killOne), least: 1},
		{Name: "pause", About: "a node stands still for 10 s, each in turn", play: each(pauseOne)},
		{Name: "partition", About: "a node is cut off from the others for 8 s, each in turn", play: each(cutOff)},
		{Name: "asymmetric", About: "what a node sends does not arrive for 8 s, then what is sent to it", play: each(oneWay)},
		{Name: "flapping", About: "the links of a node break and heal several times a second", play: each(flap)},
		{Name: "clock", About: "clocks jump by seconds, back and forth, and run too fast", play: clocks},
		{Name: "quorum", About: "two of three nodes are gone: statements fail soon, and succeed when one is back", play: loseQuorum},
		{
			Name: "ranges", About: "a table of a million rows is split, scattered, merged again and dropped",
			play: manyRangesScenario,
			// The other load's transactions may always be asked to try again.
			allowed: []string{"40001", "40001 in a transaction", "40P01"},
		},
		{Name: "schema", About: "a table is changed 1,000 times while all gateways write to it, nodes are killed now and then", play: changeSchemas},
		{
			Name: "rolling", About: "every node is stopped and started, three rounds; clients go where nodes are ready",
			play: rolling, balanced: true,
			// A transaction of several statements may always be asked to try again.
			allowed: []string{"57P01", "57P03", "40001 in a transaction", "40P01"},
		},
		{
			Name: "drain", About: "every node is stopped and started behind a load balancer; clients that connect are never refused",
			play: drained, balanced: true, allowed: []string{"57P01", "57P03", "40001 in a transaction", "40P01"},
		},
		{Name: "disk-stall", About: "a disk stands still for 10 s, each in turn", play: each(faulty("disk stands still", 10*time.Second))},
		{Name: "disk-slow", About: "each operation of a disk takes 300 ms for 15 s, each in turn: others lead soon", play: each(slowDisk)},
		{Name: "disk-full", About: "a disk is full for 10 s, each in turn", play: each(faulty("disk full", 10*time.Second))},
		{Name: "disk-broken", About: "a disk reports errors, which ends the node, each in turn", play: each(breakDisk)},
		{Name: "snapshot", About: "the receiver, then the sender of a snapshot is killed on the way, twice", play: interruptSnapshots},
		{Name: "coordinator", About: "the gateway of a commit over three ranges dies, or stands still, at each of its steps", play: coordinators},
		{Name: "removed", About: "a node joins, is removed and returns, alive and dead", play: removedReturns},
		{Name: "address", About: "processes start with the address, the port or the store of another node", play: sameAddress},
		{Name: "panic", About: "a node panics below its key-value layer, each in turn", play: each(panicBelow)},
		{Name: "twins", About: "a copy of a node's store runs beside it, then in its place while it stands still", play: twins},
		{Name: "older", About: "a node starts with an older copy of its store, or with a log that has lost its end", play: olderCopies},
		{Name: "misplaced", About: "CLOCK, state, raftlog or the whole store is moved away under a running node", play: misplaced},
		{Name: "dead-nodes", About: "one of two dead nodes of five is decommissioned", play: deadNodes, least: 5},
		{Name: MixedName, About: "all faults mixed at random, for --duration or two minutes", play: mixed},
	}
}

// MixedName names the scenario that mixes faults.
const MixedName = "all"

// undisturbed lets the load run.
func undisturbed(ctx context.Context, s *stage) error {
	d := 20 * time.Second
	if !s.until.IsZero() {
		d = time.Until(s.until)
	}
	return s.watch(ctx, time.Now(), d, "nothing happens")
}

func scenario(name string) (*Scenario, error) {
	all := Scenarios()
	if i := slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no scenario %q, but %s", name, strings.Join(names, ", "))
}

func times(n int, do func(context.Context, *stage, *Node) error) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		for i := range n {
			if i > 0 && s.over() {
				return nil
			}
			if err := do(ctx, s, s.c.Nodes[s.rng.IntN(len(s.c.Nodes))]); err != nil {
				return err
			}
		}
		return nil
	}
}

func each(do func(context.Context, *stage, *Node) error) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		for i, n := range s.c.Nodes {
			if i > 0 && s.over() {
				return nil
			}
			if err := do(ctx, s, n); err != nil {
				return err
			}
		}
		return nil
	}
}

// watch waits and then notes the longest wait of clients of nodes that were not hurt
// since the fault began.
func (s *stage) watch(ctx context.Context, begun time.Time, d time.Duration, what string, hurt ...*Node) error {
	return s.watchWithin(ctx, begun, d, maxWait, what, hurt...)
}

// watchWithin is watch with another bound; 0: there is none.
func (s *stage) watchWithin(ctx context.Context, begun time.Time, d, bound time.Duration, what string, hurt ...*Node) error {
	if err := sleep.For(ctx, d); err != nil {
		return err
	}
	s.res.Events++
	var most time.Duration
	var at *waits
	for _, w := range s.round.waits {
		if slices.Contains(hurt, w.node) {
			continue
		}
		if d := w.longest(begun, time.Now()); d > most {
			most, at = d, w
		}
	}
	s.res.Waits = append(s.res.Waits, most)
	fmt.Fprintf(s.o.Progress, "  %s: longest wait for a write elsewhere %.2f s\n", what, most.Seconds())
	if most > reportWait {
		fmt.Fprintf(s.o.Progress, "    at node %d: %s\n", at.node.ID, at.tale(begun))
	}
	if bound > 0 && most > bound {
		s.res.note("%s: a client of node %d waited %.2f s for a write: %s", what, at.node.ID, most.Seconds(), at.tale(begun))
		s.c.dump(s.res, len(s.res.Waits))
		s.res.violation("%s: writes paused for %.2f s, more than %s", what, most.Seconds(), bound)
	}
	return nil
}

// restart starts a node and waits until it serves.
func (s *stage) restart(ctx context.Context, n *Node) error {
	begun := time.Now()
	if err := n.Start(); err != nil {
		return err
	}
	if err := n.AwaitSQL(ctx); err != nil {
		return err
	}
	s.res.Restarts = append(s.res.Restarts, time.Since(begun))
	return nil
}

func killOne(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	if err := n.Kill(); err != nil {
		return err
	}
	what := fmt.Sprintf("kill %d, node %d", s.res.Events+1, n.ID)
	if err := s.watch(ctx, begun, 5*time.Second, what, n); err != nil {
		return err
	}
	if err := s.restart(ctx, n); err != nil {
		return err
	}
	return sleep.For(ctx, time.Second+time.Duration(s.rng.Int64N(int64(2*time.Second))))
}

func pauseOne(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	if err := n.Pause(); err != nil {
		return err
	}
	err := s.watch(ctx, begun, 10*time.Second, fmt.Sprintf("node %d stands still", n.ID), n)
	if rerr := n.Resume(); rerr != nil {
		return rerr
	}
	if err != nil {
		return err
	}
	return s.settle(ctx, n)
}

// settle waits until a node serves again and the cluster has come to rest.
func (s *stage) settle(ctx context.Context, n *Node) error {
	begun := time.Now()
	if err := n.AwaitSQL(ctx); err != nil {
		return err
	}
	s.res.Restarts = append(s.res.Restarts, time.Since(begun))
	return sleep.For(ctx, 3*time.Second)
}

func cutOff(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	s.cut(n, true, true)
	if err := s.watch(ctx, begun, 8*time.Second, fmt.Sprintf("node %d is cut off", n.ID), n); err != nil {
		return err
	}
	s.refuses(ctx, n)
	s.c.Links.Heal()
	return s.settle(ctx, n)
}

// refuses checks that a node without a quorum answers a write with an error, soon.
func (s *stage) refuses(ctx context.Context, n *Node) {
	ctx, cancel := context.WithTimeout(ctx, 2*maxRefusal)
	defer cancel()
	begun := time.Now()
	_, err := n.query(ctx, fmt.Sprintf("UPDATE torture_wide SET v = 'no' WHERE id = %d", s.rng.IntN(wideRows)))
	took := time.Since(begun)
	switch {
	case err == nil:
		s.res.violation("node %d has no quorum and acknowledged a write", n.ID)
	case took > maxRefusal:
		s.res.violation("node %d has no quorum and took %.1f s to say so", n.ID, took.Seconds())
	default:
		s.res.note("node %d without a quorum says after %.1f s: %s", n.ID, took.Seconds(), oneLine(err.Error()))
	}
}

// unready checks that a node without a quorum tells load balancers to send no clients.
func (s *stage) unready(n *Node) {
	if n.HTTP == "" {
		return
	}
	c := http.Client{Timeout: maxRefusal}
	resp, err := c.Get("http://" + n.HTTP + "/health?ready=1")
	if err != nil {
		s.res.violation("node %d without a quorum does not say whether it is ready: %v", n.ID, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		s.res.violation("node %d has no quorum and says that it is ready", n.ID)
	}
}

func oneWay(ctx context.Context, s *stage, n *Node) error {
	i := slices.Index(s.c.Nodes, n)
	for k := range 2 { // the second finds the node without leaderships, so they take turns
		out := (i+k)%2 == 0
		begun := time.Now()
		s.cut(n, out, !out)
		what := fmt.Sprintf("nothing arrives at node %d", n.ID)
		if out {
			what = fmt.Sprintf("nothing from node %d arrives", n.ID)
		}
		if err := s.watch(ctx, begun, 8*time.Second, what, n); err != nil {
			return err
		}
		s.c.Links.Heal()
		if err := s.settle(ctx, n); err != nil {
			return err
		}
	}
	// One link only: the two nodes hear of each other through the third.
	begun := time.Now()
	o := s.c.Nodes[(i+1)%len(s.c.Nodes)]
	s.c.Links.Cut(n.ID, o.ID)
	if err := s.watch(ctx, begun, 8*time.Second, fmt.Sprintf("nothing from node %d arrives at node %d", n.ID, o.ID), n, o); err != nil {
		return err
	}
	s.c.Links.Heal()
	return s.settle(ctx, n)
}

func flap(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	if err := s.flapFor(ctx, n, 12*time.Second); err != nil {
		return err
	}
	if err := s.watch(ctx, begun, 0, fmt.Sprintf("the links of node %d flap", n.ID), n); err != nil {
		return err
	}
	return s.settle(ctx, n)
}

func clocks(ctx context.Context, s *stage) error {
	for _, fault := range []string{"jump=2s", "jump=-2s", "jump=5s", "jump=-5s", "jump=400ms", "jump=-400ms", "jump=100ms", "jump=-100ms", "drift=50000", "drift=-50000"} {
		if s.over() && s.res.Events > 0 {
			return nil
		}
		n := s.c.Nodes[s.rng.IntN(len(s.c.Nodes))]
		begun := time.Now()
		if err := n.Clock(fault); err != nil {
			return err
		}
		if err := s.watch(ctx, begun, 8*time.Second, fmt.Sprintf("clock of node %d: %s", n.ID, fault), n); err != nil {
			return err
		}
		if err := n.Clock("off=1"); err != nil {
			return err
		}
		if err := s.settle(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func loseQuorum(ctx context.Context, s *stage) error {
	for _, n := range s.c.Nodes {
		if s.over() && s.res.Events > 0 {
			return nil
		}
		for _, o := range s.c.Nodes {
			if o != n {
				if err := o.Kill(); err != nil {
					return err
				}
			}
		}
		if err := sleep.For(ctx, 3*time.Second); err != nil {
			return err
		}
		s.res.Events++
		s.refuses(ctx, n)
		s.unready(n)
		begun := time.Now()
		for _, o := range s.c.Nodes {
			if o != n {
				if err := o.Start(); err != nil {
					return err
				}
			}
		}
		if err := s.writes(ctx, n); err != nil {
			return err
		}
		took := time.Since(begun)
		s.res.Restarts = append(s.res.Restarts, took)
		fmt.Fprintf(s.o.Progress, "  node %d writes again %.1f s after the others were started\n", n.ID, took.Seconds())
		for _, o := range s.c.Nodes {
			if err := o.AwaitSQL(ctx); err != nil {
				return err
			}
		}
		if err := sleep.For(ctx, 3*time.Second); err != nil {
			return err
		}
	}
	return s.stopAll(ctx)
}

// writes waits until a node acknowledges a write.
func (s *stage) writes(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, formTime)
	defer cancel()
	for {
		_, err := n.query(ctx, fmt.Sprintf("UPDATE torture_wide SET v = 'yes' WHERE id = %d", s.rng.IntN(wideRows)))
		if err == nil {
			return nil
		}
		if perr := sleep.For(ctx, 5*pollPace); perr != nil {
			return fmt.Errorf("node %d: %w", n.ID, err)
		}
	}
}

// stopAll stops the nodes one after the other, the last ones without a quorum, and
// starts them again.
func (s *stage) stopAll(ctx context.Context) error {
	var took []string
	for _, n := range s.c.Nodes {
		d, err := n.Stop()
		if err != nil {
			return err
		}
		took = append(took, fmt.Sprintf("%.1f s", d.Seconds()))
	}
	s.res.note("stops under load, one after the other, took %s", strings.Join(took, ", "))
	for _, n := range s.c.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, n := range s.c.Nodes {
		if err := n.AwaitSQL(ctx); err != nil {
			return err
		}
	}
	return nil
}

func rolling(ctx context.Context, s *stage) error {
	for i := range 3 {
		if i > 0 && s.over() {
			return nil
		}
		for _, n := range s.c.Nodes {
			begun := time.Now()
			d, err := n.Stop()
			if err != nil {
				return err
			}
			if err := s.restart(ctx, n); err != nil {
				return err
			}
			s.res.note("node %d: stopped in %.1f s", n.ID, d.Seconds())
			if err := s.watch(ctx, begun, 2*time.Second, fmt.Sprintf("node %d restarts", n.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}
