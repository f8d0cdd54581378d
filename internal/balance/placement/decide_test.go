package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestQuorum(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 7: 4, 9: 5} {
		if got := Quorum(n); got != want {
			t.Errorf("%d voters: quorum %d, want %d", n, got, want)
		}
	}
}

func TestDecide(t *testing.T) {
	region := func(r string) []zone.Constraint { return []zone.Constraint{{Key: "region", Value: r}} }
	regions := []string{"a", "b", "c"} // of s1, s2, s3 and again of s4, s5, s6
	for _, c := range []struct {
		name   string
		nodes  int
		on     []kvpb.StoreID
		zone   zone.Config
		change func(*world)
		want   string // what the action's text contains
		reason string
	}{
		{name: "well placed", nodes: 6, on: []kvpb.StoreID{1, 2, 3}, want: "none"},
		{name: "under-replicated, other region", nodes: 6, on: []kvpb.StoreID{1, 5}, want: "add voter on s3 (n3)"},
		{name: "two voters where a third has no place", nodes: 3, on: []kvpb.StoreID{1},
			change: func(w *world) { w.stores[2].State = Suspect }, want: "none", reason: "only one store can take another"},
		{name: "down is not dead", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[1].State, w.stores[1].Since = Down, w.now.Add(-4*time.Minute) }, want: "none"},
		{name: "dead", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[1].State, w.stores[1].Since = Down, w.now.Add(-6*time.Minute) },
			want:   "replace voter s2 (n2) → s5 (n5)"},
		{name: "dead without a place", nodes: 3, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[1].State, w.stores[1].Since = Down, w.now.Add(-6*time.Minute) },
			want:   "none", reason: "s2 is dead and no store can take it: 3 on a node that holds the range already"},
		{name: "lost quorum", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[1].State, w.stores[2].State = Down, Down }, want: "unavailable",
			reason: "1 of 3 voters answer, 2 must"},
		{name: "unfinished joint change", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) {
				d := w.ranges[0].Desc
				d.Replicas[2].Type = kvpb.VoterOutgoing
				d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: 6, Store: 6, Type: kvpb.VoterIncoming})
			}, want: "finish joint change"},
		{name: "a former voter is not removed yet", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) {
				d := w.ranges[0].Desc
				d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: 6, Store: 6, Type: kvpb.LearnerOutgoing})
			}, want: "finish joint change"},
		{name: "joint change that lost one half", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) {
				d := w.ranges[0].Desc
				d.Replicas[1].Type, d.Replicas[2].Type = kvpb.VoterOutgoing, kvpb.VoterIncoming
				w.stores[1].State = Down
			}, want: "unavailable"},
		{name: "draining leader", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Draining = true }, want: "transfer leader s1 (n1) → s2 (n2)"},
		{name: "draining leader, the others suspect", nodes: 3, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Draining = true; w.stores[1].State, w.stores[2].State = Suspect, Suspect },
			want:   "transfer leader s1 (n1) → s2 (n2)"},
		{name: "leader on a slow disk", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Slow, w.stores[1].Slow = true, true },
			want:   "transfer leader s1 (n1) → s3 (n3)", reason: "the disk of its leader's store s1 is slow"},
		{name: "leader on a slow disk, another one is preferred", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			zone:   zone.Config{LeasePreferences: [][]zone.Constraint{region("a")}},
			change: func(w *world) { w.stores[0].Slow = true }, want: "transfer leader s1 (n1) → s2 (n2)"},
		{name: "preferred leader on a slow disk", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			zone:   zone.Config{LeasePreferences: [][]zone.Constraint{region("c")}},
			change: func(w *world) { w.stores[2].Slow = true }, want: "none"},
		{name: "all disks of a range are slow", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Slow, w.stores[1].Slow, w.stores[2].Slow = true, true, true }, want: "none"},
		{name: "most disks of the cluster are slow", nodes: 3, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Slow, w.stores[1].Slow = true, true }, want: "none"},
		{name: "most of the disks that are there are slow", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) {
				w.stores[0].Slow, w.stores[3].Slow = true, true
				w.stores[1].State, w.stores[4].State, w.stores[5].State = Down, Down, Down
				w.stores[1].Since, w.stores[4].Since, w.stores[5].Since = w.now, w.now, w.now
			}, want: "none"},
		{name: "slow leader, the others suspect or behind", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Slow, w.stores[1].State, w.stores[2].State = true, Suspect, Suspect }, want: "none"},
		{name: "draining leader, the others slow", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[0].Draining, w.stores[1].Slow, w.stores[2].Slow = true, true, true },
			want:   "transfer leader s1 (n1) → s2 (n2)"},
		{name: "repaired on a slow disk if there is no other", nodes: 3, on: []kvpb.StoreID{1, 2},
			change: func(w *world) { w.stores[2].Slow = true }, want: "add voter on s3 (n3)"},
		{name: "decommissioned follower", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.stores[2].Decommissioning = true }, want: "replace voter s3 (n3) → s6 (n6)"},
		{name: "decommissioned leader of a single replica", nodes: 6, on: []kvpb.StoreID{1},
			zone:   zone.Config{NumReplicas: ptr(1)},
			change: func(w *world) { w.stores[0].Decommissioning = true }, want: "add voter on s2 (n2)"},
		{name: "better region", nodes: 6, on: []kvpb.StoreID{1, 2, 5}, want: "replace voter s2 (n2) → s3 (n3)"},
		{name: "constraint for all", nodes: 6, on: []kvpb.StoreID{1, 2}, zone: zone.Config{NumReplicas: ptr(1),
			Constraints: []zone.Conjunction{{Constraints: region("b")}}}, want: "transfer leader s1 (n1) → s2 (n2)"},
		{name: "prohibited", nodes: 6, on: []kvpb.StoreID{1, 2, 3}, zone: zone.Config{
			Constraints: []zone.Conjunction{{Constraints: []zone.Constraint{{Prohibited: true, Key: "region", Value: "c"}}}}},
			want: "replace voter s3 (n3) → s4 (n4)"},
		{name: "counted", nodes: 6, on: []kvpb.StoreID{1, 2, 3}, zone: zone.Config{
			Constraints: []zone.Conjunction{{NumReplicas: 2, Constraints: region("b")}, {NumReplicas: 1, Constraints: region("c")}}},
			want: "transfer leader s1 (n1) → s2 (n2)", reason: "constraint"},
		{name: "counted and impossible", nodes: 3, on: []kvpb.StoreID{1, 2, 3}, zone: zone.Config{
			Constraints: []zone.Conjunction{{NumReplicas: 2, Constraints: region("b")}}},
			want: "none", reason: "breaks a placement constraint and no move helps"},
		{name: "voters in one region, learners elsewhere", nodes: 6, on: []kvpb.StoreID{1, 4}, zone: zone.Config{
			NumReplicas: ptr(3), NumVoters: ptr(2), VoterConstraints: []zone.Conjunction{{Constraints: region("a")}}},
			want: "add learner on s2 (n2)"},
		{name: "leader preference", nodes: 6, on: []kvpb.StoreID{1, 2, 3}, zone: zone.Config{
			LeasePreferences: [][]zone.Constraint{region("d"), region("c")}}, want: "transfer leader s1 (n1) → s3 (n3)",
			reason: "leader preference +region=c"},
		{name: "learner left by a failed change", nodes: 6, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) {
				d := w.ranges[0].Desc
				d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: 4, Store: 4, Type: kvpb.Learner})
			}, want: "remove learner on s4 (n4)"},
		{name: "learner on its way", nodes: 6, on: []kvpb.StoreID{1, 2},
			change: func(w *world) {
				d := w.ranges[0].Desc
				d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: 6, Store: 6, Type: kvpb.Learner})
			}, want: "add voter on s6 (n6)"},
		{name: "too many", nodes: 6, on: []kvpb.StoreID{1, 2, 5, 3}, want: "remove voter on s5 (n5)"},
		{name: "unknown store", nodes: 3, on: []kvpb.StoreID{1, 2, 3},
			change: func(w *world) { w.ranges[0].Desc.Replicas[2].Store, w.ranges[0].Desc.Replicas[2].Node = 9, 9 }, want: "none"},
	} {
		w := newWorld(c.nodes, regions...)
		z := c.zone
		if z.NumReplicas == nil {
			z.NumReplicas = ptr(3)
		}
		p := w.addRange(&z, c.on...)
		w.picture()
		if c.change != nil {
			c.change(w)
		}
		a := decideOn(w, p)
		if got := a.String(); !strings.Contains(got, c.want) || !strings.Contains(a.Reason, c.reason) {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, got, a.Reason, c.want, c.reason)
		}
	}
}

// decideOn decides with the capacities of the last picture.
func decideOn(w *world, p *Placed) Action {
	p.Progress = nil
	for _, r := range p.Desc.Replicas {
		p.Progress = append(p.Progress, Progress{Store: r.Store, Active: w.store(r.Store) != nil && w.up(r.Store)})
	}
	return NewCluster(w.now, w.stores, DefaultParams()).Decide(&p.Range, p.Zone)
}

// TestLagging keeps those that are behind from leading and from being counted on.
func TestLagging(t *testing.T) {
	w := newWorld(4)
	p := w.addRange(zoneOf(3), 1, 2, 3)
	w.picture()
	w.stores[0].Decommissioning = true
	c := NewCluster(w.now, w.stores, DefaultParams())
	p.Progress = []Progress{{Store: 2, Behind: 5000, Active: true}, {Store: 3, Behind: 10, Active: true}}
	if a := c.Decide(&p.Range, p.Zone); a.Kind != TransferLeader || a.To.Store != 3 {
		t.Errorf("%v: %s", a, a.Reason)
	}
	p.Progress[1].Behind = 6000
	if a := c.Decide(&p.Range, p.Zone); a.Kind != None || !strings.Contains(a.Blocked, "no other replica can") {
		t.Errorf("%v: %s", a, a.Reason)
	}
}

func TestDiskFull(t *testing.T) {
	w := newWorld(4)
	p := w.addRange(zoneOf(3), 1, 2, 3)
	w.picture()
	w.stores[2].Capacity = Capacity{Total: 100 << 30, Used: 96 << 30}
	if a := decideOn(w, p); a.Kind != ReplaceVoter || a.From.Store != 3 || a.To.Store != 4 || a.Class != Comply {
		t.Errorf("96 %% full: %v: %s", a, a.Reason)
	}
	w.stores[3].Capacity = Capacity{Total: 100 << 30, Used: 91 << 30}
	if a := decideOn(w, p); a.Kind != None {
		t.Errorf("to a full disk: %v: %s", a, a.Reason)
	}
	w.stores[2].Decommissioning = true
	if a := decideOn(w, p); a.Kind != ReplaceVoter || a.To.Store != 4 {
		t.Errorf("decommissioning may fill it further: %v: %s", a, a.Reason)
	}
	w.stores[3].Capacity.Used = 99 << 30
	if a := decideOn(w, p); a.Kind != None || !strings.Contains(a.Blocked, "1 full") {
		t.Errorf("not beyond the limit: %v: %s", a, a.Reason)
	}
}

// TestNoOscillation requires that carrying an action out never makes its reverse due.
func TestNoOscillation(t *testing.T) {
	for a := range 40 {
		for b := range 40 {
			mean := float64(a+b+20) / 3
			fa, fb := float64(a), float64(b)
			if uneven(fa, fb, mean, 0.05) && (uneven(fb+1, fa-1, mean, 0.05) || fa-1 < fb+1) {
				t.Errorf("%d and %d swing", a, b)
			}
			if staysEven(fa, fb, mean, 0.05) && uneven(fb+1, fa-1, mean, 0.05) {
				t.Errorf("a move for load from %d to %d is undone", a, b)
			}
		}
	}
}

func TestSurvives(t *testing.T) {
	w := newWorld(6, "a", "b", "c")
	w.addRange(zoneOf(3), 1, 2, 3)
	w.addRange(zoneOf(3), 4, 5, 6)
	state := func() string {
		var descs []*kvpb.RangeDescriptor
		for _, p := range w.ranges {
			descs = append(descs, p.Desc)
		}
		return w.picture().Survives(descs).String()
	}
	check := func(want string) {
		t.Helper()
		if got := state(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	check("The placement survives the loss of any 1 node, or of any 1 region, or of any 1 zone.")
	five := w.addRange(zoneOf(5), 1, 2, 3, 4, 5)
	check("The placement survives the loss of any 1 node, or of any 1 region, or of any 1 zone.")
	w.ranges = []*Placed{five}
	check("The placement survives the loss of any 2 nodes, or of any 1 region, or of any 2 zones.")
	w.ranges = nil
	w.addRange(zoneOf(3), 1, 4, 2)
	check("The placement survives the loss of any 1 node, or of any 1 zone. It does not survive the loss of region region=a.")
	w.stores[1].State = Down
	check("The placement survives no failure of a node.")
	w.stores[0].State = Down
	check("1 of 1 ranges have lost their quorum. The placement survives no failure of a node.")
}

func TestExplain(t *testing.T) {
	w := newWorld(4)
	for range 3 {
		w.addRange(zoneOf(3), 1, 2, 3)
	}
	w.addRange(zoneOf(5), 1, 2, 3)
	w.addRange(zoneOf(3), 1, 2, 4)
	w.stores[2].Decommissioning = true
	d := w.picture().Explain(3, placed(w))
	if d.Left != 4 || d.Moving != 4 || len(d.Blockers) != 0 {
		t.Errorf("%+v", d)
	}
	w.stores[3].State = Suspect
	want := `s3 holds 4 replicas, 0 of them can move
4 held up (for example range 1): s3 is being decommissioned and no store can take it: 3 on a node that holds the range already, 1 suspect`
	if got := w.picture().Explain(3, placed(w)).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.picture().Explain(9, placed(w)).String(); got != "s9 holds no replica any more" {
		t.Error(got)
	}
}

func BenchmarkDecide(b *testing.B) {
	w := newWorld(13, "a", "b", "c")
	p := w.addRange(zoneOf(3), 1, 2, 3)
	c := w.picture()
	w.observe(p)
	for b.Loop() {
		c.Decide(&p.Range, p.Zone)
	}
}
