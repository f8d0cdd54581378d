package placement

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

func in(region string) []zone.Constraint { return []zone.Constraint{{Key: "region", Value: region}} }

func TestProblems(t *testing.T) {
	w := newWorld(6, "a", "b", "c") // a: s1, s4; b: s2, s5; c: s3, s6
	p := w.addRange(zoneOf(3), 1, 2, 3)
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, pr := range w.picture().Problems(p.Desc, p.Leader, p.Zone) {
			got = append(got, pr.Kind.String()+": "+pr.Text)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	check()
	p.Zone = zoneOf(5)
	check("under-replicated: has 3 of 5 voters")
	p.Zone = zoneOf(3)
	p.Zone.Constraints = []zone.Conjunction{{NumReplicas: 2, Constraints: in("b")}}
	check("misplaced: constraints: 1 of 2 replicas meet +region=b")
	p.Zone.Constraints[0].NumReplicas = 3
	check("unsatisfiable: constraints: 2 live nodes meet +region=b, 3 replicas must")
	p.Zone.Constraints = nil
	p.Zone.VoterConstraints = []zone.Conjunction{{Constraints: in("a")}}
	check("unsatisfiable: voter_constraints: 2 live nodes meet +region=a, 3 replicas must")
	p.Zone.VoterConstraints = nil
	p.Zone.LeasePreferences = [][]zone.Constraint{in("c"), in("a")}
	check("leader elsewhere: the leader on s1 is not at +region=c")
	p.Zone.LeasePreferences = [][]zone.Constraint{in("mars")}
	check("unsatisfiable: no live node meets lease_preferences")
	p.Zone.LeasePreferences = nil
	w.store(2).Decommissioning = true
	w.store(3).State, w.store(3).Since = Down, w.now
	check("leaving: s2 is being decommissioned", "leaving: s3 is down")
	w.store(2).State, w.store(2).Since = Down, w.now
	w.store(2).Decommissioning = false
	check("unavailable: too few of its voters answer", "leaving: s2 is down", "leaving: s3 is down")
}

// TestScatter draws places for many ranges: they come out about even, no range loses
// diversity or a leader preference, and nothing goes where it may not.
func TestScatter(t *testing.T) {
	w := newWorld(6, "a", "b", "c")
	z := zoneOf(3)
	z.LeasePreferences = [][]zone.Constraint{in("a")}
	for range 100 {
		w.addRange(z, 1, 2, 3)
	}
	w.store(6).Draining = true
	c, r := w.picture(), rand.New(rand.NewPCG(7, 7))
	for _, p := range w.ranges {
		moves, leader := c.Scatter(&p.Range, z, r.IntN)
		before := c.newDecision(&p.Range, z).score(c.newDecision(&p.Range, z).voters, nil)
		for _, a := range moves {
			for _, ch := range a.Changes() {
				w.change(t, p, ch)
			}
		}
		p.Leader = leader
		if _, ok := p.Desc.Replica(leader); !ok {
			t.Fatalf("range %d: s%d is to lead and holds no replica", p.Desc.RangeID, leader)
		}
		d := c.newDecision(&p.Range, z)
		if d.score(d.voters, nil).compare(before) < 0 || d.goal.leaseRank(d.leader) > 0 {
			t.Errorf("range %d is worse off: %v, leader s%d", p.Desc.RangeID, p.Desc.Replicas, leader)
		}
	}
	w.picture()
	for id, want := range map[kvpb.StoreID][2]int{1: {100, 100}, 2: {35, 65}, 3: {100, 100}, 4: {0, 0}, 5: {35, 65}, 6: {0, 0}} {
		if n := w.store(id).Capacity.Ranges; n < want[0] || n > want[1] {
			t.Errorf("s%d has %d replicas", id, n)
		}
	}
}
