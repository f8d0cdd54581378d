package placement

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestSpreadToNewStores(t *testing.T) {
	w := newWorld(3)
	const ranges = 120
	for range ranges {
		w.addRange(zoneOf(3), 1, 2, 3)
	}
	w.settle(t)
	w.checkEven(t, "leaders", 0.1, leaders)
	if w.moves != 0 {
		t.Errorf("moved %d replicas among three stores that all hold all", w.moves)
	}
	w.addStore(nil, 0)
	w.addStore(nil, 0)
	w.settle(t)
	w.checkEven(t, "replicas", 0.1, replicas)
	w.checkEven(t, "leaders", 0.1, leaders)
	if limit := 2 * ranges * 3 / 5; w.moves > limit {
		t.Errorf("%d moves, %d replicas had to move", w.moves, limit)
	}
	t.Logf("%d replicas and %d leaders moved", w.moves, w.shifts)
}

func TestDecommission(t *testing.T) {
	w := newWorld(5, "a", "b", "c")
	r := rand.New(rand.NewPCG(1, 1))
	for range 150 {
		s := r.Perm(5)
		w.addRange(zoneOf(3), kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
	}
	w.settle(t)
	had := w.stores[1].Capacity.Ranges
	w.store(2).Decommissioning = true
	w.moves = 0
	w.settle(t)
	d := w.picture().Explain(2, placed(w))
	if !d.Done() {
		t.Errorf("not empty: %v", d)
	}
	w.checkEven(t, "leaders", 0.1, leaders)
	if w.moves > 2*had {
		t.Errorf("%d moves to empty a store of %d replicas", w.moves, had)
	}
}

func placed(w *world) []Placed {
	out := make([]Placed, len(w.ranges))
	for i, p := range w.ranges {
		w.observe(p)
		out[i] = *p
	}
	return out
}

func TestDeadStore(t *testing.T) {
	w := newWorld(5)
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		s := r.Perm(5)
		w.addRange(zoneOf(3), kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
	}
	w.settle(t)
	had := w.stores[3].Capacity.Ranges
	*w.store(4) = func(s Store) Store { s.State, s.Since = Down, w.now; return s }(*w.store(4))
	w.moves = 0
	w.settle(t)
	if w.moves != 0 {
		t.Fatalf("moved %d replicas for a store that has just gone down", w.moves)
	}
	w.now = w.now.Add(5 * time.Minute)
	w.settle(t)
	if n := w.picture().byID[4].Capacity.Ranges; n != 0 {
		t.Errorf("%d replicas left on the dead store", n)
	}
	if w.moves > had+5 {
		t.Errorf("%d moves to rebuild %d replicas", w.moves, had)
	}
	w.checkEven(t, "replicas", 0.1, replicas)
}

func TestGrowFromOneNode(t *testing.T) {
	w := newWorld(1)
	for range 20 {
		w.addRange(zoneOf(5), 1)
	}
	for n := 2; n <= 6; n++ {
		w.addStore(nil, 0)
		w.settle(t)
		want := []int{2: 1, 3: 3, 4: 3, 5: 5, 6: 5}[n]
		for _, p := range w.ranges {
			if len(p.Desc.Replicas) != want {
				t.Fatalf("%d nodes: range %d has %d replicas, want %d", n, p.Desc.RangeID, len(p.Desc.Replicas), want)
			}
		}
	}
	w.checkEven(t, "replicas", 0.1, replicas)
}

func TestFactorDown(t *testing.T) {
	w := newWorld(5)
	for range 50 {
		w.addRange(zoneOf(5), 1, 2, 3, 4, 5)
	}
	w.settle(t)
	for _, n := range []int{3, 1} {
		for _, p := range w.ranges {
			p.Zone = zoneOf(n)
		}
		w.settle(t)
		for _, p := range w.ranges {
			if len(p.Desc.Replicas) != n {
				t.Fatalf("range %d has %d replicas, want %d", p.Desc.RangeID, len(p.Desc.Replicas), n)
			}
		}
		w.checkEven(t, "replicas", 0.1, replicas)
		w.checkEven(t, "leaders", 0.1, leaders)
	}
}

// TestLeadersStayWhilePlacesEvenOut moves leading replicas within the only region in
// which leaders are wanted.
func TestLeadersStayWhilePlacesEvenOut(t *testing.T) {
	w := newWorld(6, "a", "b", "c")
	z := zoneOf(3)
	z.LeasePreferences = [][]zone.Constraint{{{Key: "region", Value: "a"}}}
	for range 60 {
		w.addRange(z, 1, 2, 3)
	}
	w.settle(t)
	w.checkEven(t, "replicas", 0.1, replicas)
	if a, b := w.stores[0].Capacity.Leaders, w.stores[3].Capacity.Leaders; a+b != 60 || a < 27 || b < 27 {
		t.Errorf("leaders in region a: %d and %d", a, b)
	}
	if w.moves > 95 {
		t.Errorf("%d moves, 90 replicas had to move", w.moves)
	}
}

// TestTroubledClusters draws states of stores and requires that decisions end and
// keep the invariants, whatever the trouble.
func TestTroubledClusters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		regions := []string{"a", "b", "c"}
		nodes := rapid.IntRange(3, 8).Draw(rt, "nodes")
		w := newWorld(nodes, regions...)
		z := drawZone(rt, regions)
		for range rapid.IntRange(1, 30).Draw(rt, "ranges") {
			w.addRange(z, drawAssignment(rt, w, nodes)...)
		}
		for i := range w.stores {
			s := &w.stores[i]
			switch rapid.IntRange(0, 9).Draw(rt, "trouble") {
			case 0:
				s.State, s.Since = Down, w.now.Add(-time.Minute)
			case 1:
				s.State, s.Since = Down, w.now.Add(-time.Hour)
			case 2:
				s.State = Suspect
			case 3:
				s.Draining = true
			case 4:
				s.Decommissioning = true
			case 5:
				s.State = Gone
			}
		}
		w.settle(rt)
	})
}

// TestNewcomerAmongSuspects has a store join when every other one has failed lately: each leader
// takes all stores for suspect but its own and the new one, which gets its share nevertheless.
func TestNewcomerAmongSuspects(t *testing.T) {
	w := newWorld(5)
	r := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		s := r.Perm(5)
		w.addRange(zoneOf(3), kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
	}
	newcomer := w.addStore(nil, 5).ID
	decide := func(p *Placed) Action {
		for i := range w.stores {
			if s := &w.stores[i]; s.ID == p.Leader || s.ID == newcomer {
				s.State = Live
			} else {
				s.State = Suspect
			}
		}
		w.observe(p)
		c := w.picture()
		a := c.Decide(&p.Range, p.Zone)
		if a.Kind != None {
			w.do(t, c, p, a)
		}
		return a
	}
	const passes = 20
	for range passes {
		for _, p := range w.ranges {
			decide(p)
		}
	}
	for _, p := range w.ranges {
		if a := decide(p); a.Kind != None {
			t.Errorf("still at it after %d passes: %s", passes, w.last)
		}
	}
	for i := range w.stores {
		w.stores[i].State = Live
	}
	w.checkEven(t, "replicas", 0.1, replicas)
	if most := 2 * len(w.ranges); w.moves+w.shifts > most {
		t.Errorf("%d replicas and %d leaders moved, more than %d in all", w.moves, w.shifts, most)
	}
}

func TestLoadEvensOut(t *testing.T) {
	w := newWorld(5)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 100 {
		s := r.Perm(5)
		p := w.addRange(zoneOf(3), kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
		if i%10 == 0 {
			p.QPS, p.WriteBytes = 1000, 4<<20
		}
		p.QPS += 10
	}
	w.settle(t)
	c := w.picture()
	for _, s := range c.stores {
		if s.Capacity.QPS > 2*11000/5*1.25 {
			t.Errorf("s%d serves %.0f of 11000 requests/s", s.ID, s.Capacity.QPS)
		}
	}
	w.checkEven(t, "replicas", 0.1, replicas)
	w.checkEven(t, "leaders", 0.1, leaders)
}

// TestAnyStartConverges draws clusters, configurations and assignments and requires
// that decisions end, keep the invariants (world.do) and leave what they promise.
func TestAnyStartConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		regions := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "regions")]
		nodes := rapid.IntRange(1, 9).Draw(rt, "nodes")
		w := newWorld(nodes, regions...)
		if rapid.Bool().Draw(rt, "second stores") {
			for i := range nodes {
				s := w.addStore(regions, i)
				s.Node = kvpb.NodeID(i + 1)
			}
		}
		z := drawZone(rt, regions)
		for range rapid.IntRange(1, 40).Draw(rt, "ranges") {
			w.addRange(z, drawAssignment(rt, w, nodes)...)
		}
		if rapid.Bool().Draw(rt, "load") {
			for _, p := range w.ranges {
				p.QPS = float64(rapid.IntRange(0, 2000).Draw(rt, "qps"))
				p.WriteBytes = float64(rapid.IntRange(0, 8<<20).Draw(rt, "write bytes"))
			}
		}
		w.settle(rt)
		checkPlaced(rt, w, z)

		gone := w.store(kvpb.StoreID(rapid.IntRange(1, nodes).Draw(rt, "decommissioned")))
		gone.Decommissioning = true
		w.settle(rt)
		c := w.picture()
		d := c.Explain(gone.ID, placed(w))
		if !d.Done() && (d.Moving > 0 || len(d.Blockers) == 0) {
			rt.Fatalf("stopped without a reason: %v", d)
		}
		if !d.Done() && w.couldEmpty(c, z, gone.ID) {
			rt.Fatalf("could be emptied and was not: %v", d)
		}
	})
}

func drawZone(rt *rapid.T, regions []string) *zone.Config {
	z := zoneOf([]int{1, 3, 5, 7, 9}[rapid.IntRange(0, 4).Draw(rt, "factor")])
	if *z.NumReplicas > 1 && rapid.Bool().Draw(rt, "learners") {
		z.NumVoters = ptr(*z.NumReplicas - 2)
	}
	in := func(what string) []zone.Constraint {
		return []zone.Constraint{{Key: "region", Value: rapid.SampledFrom(regions).Draw(rt, what),
			Prohibited: rapid.IntRange(0, 4).Draw(rt, what+" prohibited") == 0}}
	}
	switch rapid.IntRange(0, 3).Draw(rt, "constraints") {
	case 1:
		z.Constraints = []zone.Conjunction{{Constraints: in("all in")}}
	case 2:
		for _, r := range regions {
			z.Constraints = append(z.Constraints, zone.Conjunction{NumReplicas: 1,
				Constraints: []zone.Constraint{{Key: "region", Value: r}}})
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "voter constraints") == 0 {
		z.VoterConstraints = []zone.Conjunction{{NumReplicas: 1, Constraints: in("voter in")}}
	}
	if rapid.Bool().Draw(rt, "lease") {
		z.LeasePreferences = [][]zone.Constraint{in("lease")}
	}
	return z
}

// drawAssignment draws one to five stores on distinct nodes.
func drawAssignment(rt *rapid.T, w *world, nodes int) []kvpb.StoreID {
	n := rapid.IntRange(1, min(5, nodes)).Draw(rt, "replicas")
	first := rapid.IntRange(0, nodes-1).Draw(rt, "first")
	var ids []kvpb.StoreID
	for i := range n {
		at := (first + i) % nodes
		if len(w.stores) > nodes && rapid.Bool().Draw(rt, "second store") {
			at += nodes
		}
		ids = append(ids, w.stores[at].ID)
	}
	return ids
}

// checkPlaced requires, where a search over all sets of voters shows that the
// constraints can be met, that every range meets them.
func checkPlaced(rt *rapid.T, w *world, z *zone.Config) {
	c := w.picture()
	g := goalOf(c, z)
	can := satisfiable(c, g, 0)
	for _, p := range w.ranges {
		if can && w.broken(c, g, p) > 0 {
			rt.Fatalf("range %d on %v breaks constraints that can be met: %+v", p.Desc.RangeID, p.Desc.Replicas, z)
		}
		if a := c.Decide(&p.Range, z); can && len(p.Desc.Replicas) < g.needVoters+g.needLearners {
			rt.Fatalf("range %d has %d replicas, want %d: %s", p.Desc.RangeID, len(p.Desc.Replicas),
				g.needVoters+g.needLearners, a.Blocked)
		}
	}
}

// couldEmpty reports whether the other stores could hold a range as it is asked for.
func (w *world) couldEmpty(c *Cluster, z *zone.Config, without kvpb.StoreID) bool {
	return satisfiable(c, goalOf(c, z), without)
}

// satisfiable searches sets of voters and learners on one store per node.
func satisfiable(c *Cluster, g goal, without kvpb.StoreID) bool {
	byNode := map[kvpb.NodeID][]*store{}
	var nodes []kvpb.NodeID
	for _, s := range c.stores {
		if len(byNode[s.Node]) == 0 {
			nodes = append(nodes, s.Node)
		}
		if without == 0 || s.Node != c.byID[without].Node { // not all may move within a node
			byNode[s.Node] = append(byNode[s.Node], s)
		}
	}
	var try func(i int, voters, learners []*store) bool
	try = func(i int, voters, learners []*store) bool {
		if len(voters) == g.needVoters && len(learners) == g.needLearners {
			n, _ := g.violations(voters, learners)
			return n == 0
		}
		if i == len(nodes) {
			return false
		}
		// All stores of a node are in one place, so one of them stands for all.
		if here := byNode[nodes[i]]; len(here) > 0 {
			if len(voters) < g.needVoters && try(i+1, append(voters[:len(voters):len(voters)], here[0]), learners) {
				return true
			}
			if len(learners) < g.needLearners && try(i+1, voters, append(learners[:len(learners):len(learners)], here[0])) {
				return true
			}
		}
		return try(i+1, voters, learners)
	}
	return try(0, nil, nil)
}
