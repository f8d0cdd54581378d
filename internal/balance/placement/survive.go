package placement

import (
	"fmt"
	"sort"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Survival says what the placement of a set of ranges survives, with the stores
// that are down counted as lost already.
type Survival struct {
	Ranges      int
	Unavailable []kvpb.RangeID // that have no quorum now
	Nodes       Failures
	Tiers       []Failures // one per tier of the localities, the widest first
}

// Failures says how many nodes, zones, … may fail at once, whichever they are,
// before a range loses its quorum.
type Failures struct {
	Of      string // "node" or the tier's key
	Domains int    // how many there are
	Any     int    // how many may fail
	// Limit is a range that one more failure can stop, and Domain one of the
	// places whose loss does it, when Any is 0.
	Limit  kvpb.RangeID
	Domain string
}

// Survives states what the placement of ranges survives.
func (c *Cluster) Survives(descs []*kvpb.RangeDescriptor) Survival {
	sv := Survival{Ranges: len(descs)}
	for _, desc := range descs {
		if c.spare(desc) < 0 {
			sv.Unavailable = append(sv.Unavailable, desc.RangeID)
		}
	}
	sv.Nodes = c.failures("node", descs, func(s *store) string { return fmt.Sprintf("n%d", s.Node) })
	for _, key := range c.tierKeys() {
		sv.Tiers = append(sv.Tiers, c.failures(key, descs, func(s *store) string { return domain(s, key) }))
	}
	return sv
}

// tierKeys lists the keys of all localities, in the order in which they appear.
func (c *Cluster) tierKeys() []string {
	var keys []string
	seen := map[string]bool{}
	for _, s := range c.stores {
		for _, t := range s.Locality {
			if !seen[t.Key] {
				seen[t.Key] = true
				keys = append(keys, t.Key)
			}
		}
	}
	return keys
}

// domain names the place of a store at a tier, with the wider tiers around it.
// Stores that don't say where they are may all be in one place.
func domain(s *store, key string) string {
	var parts []string
	for _, t := range s.Locality {
		parts = append(parts, t.Key+"="+t.Value)
		if t.Key == key {
			return strings.Join(parts, ",")
		}
	}
	return "unknown " + key
}

// spare is how many of the voters that answer a range can lose, at least; negative
// if it has no quorum.
func (c *Cluster) spare(desc *kvpb.RangeDescriptor) int {
	before, after := voterSets(desc)
	return min(c.spareOf(before), c.spareOf(after))
}

func (c *Cluster) spareOf(voters []kvpb.ReplicaDescriptor) int {
	up := 0
	for _, v := range voters {
		if c.lookup(v.Store, v.Node).available() {
			up++
		}
	}
	return up - Quorum(len(voters))
}

// voterSets lists the voters before and after a joint change, the same twice if
// none is under way.
func voterSets(desc *kvpb.RangeDescriptor) (before, after []kvpb.ReplicaDescriptor) {
	for _, r := range desc.Replicas {
		if r.Type == kvpb.Voter || r.Type == kvpb.VoterOutgoing {
			before = append(before, r)
		}
		if r.Type == kvpb.Voter || r.Type == kvpb.VoterIncoming {
			after = append(after, r)
		}
	}
	return before, after
}

func (c *Cluster) failures(of string, descs []*kvpb.RangeDescriptor, where func(*store) string) Failures {
	f := Failures{Of: of}
	places := map[string]bool{}
	names := make(map[kvpb.StoreID]string, len(c.stores))
	for _, s := range c.stores {
		names[s.ID] = where(s)
		if s.State != Gone {
			places[names[s.ID]] = true
		}
	}
	f.Domains = len(places)
	f.Any = max(0, f.Domains-1)
	for _, desc := range descs {
		before, after := voterSets(desc)
		for _, voters := range [][]kvpb.ReplicaDescriptor{before, after} {
			if any, worst := c.tolerates(voters, names); any < f.Any || any == 0 && f.Limit == 0 {
				f.Any, f.Limit = any, desc.RangeID
				f.Domain = worst
			}
		}
	}
	return f
}

// tolerates is how many places may fail before voters lose their quorum, and the
// place with most of them.
func (c *Cluster) tolerates(voters []kvpb.ReplicaDescriptor, names map[kvpb.StoreID]string) (any int, worst string) {
	counts := map[string]int{}
	for _, v := range voters {
		if s := c.lookup(v.Store, v.Node); s.available() {
			counts[names[s.ID]]++
		}
	}
	places := make([]string, 0, len(counts))
	for p := range counts {
		places = append(places, p)
	}
	sort.Slice(places, func(i, j int) bool {
		a, b := places[i], places[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	spare := c.spareOf(voters)
	for _, p := range places {
		if spare -= counts[p]; spare < 0 {
			break
		}
		any++
	}
	if len(places) > 0 {
		worst = places[0]
	}
	return any, worst
}

// String states it in sentences.
func (s Survival) String() string {
	var b strings.Builder
	if n := len(s.Unavailable); n > 0 {
		fmt.Fprintf(&b, "%d of %d ranges have lost their quorum. ", n, s.Ranges)
	}
	var survives, not []string
	for i, f := range append([]Failures{s.Nodes}, s.Tiers...) {
		switch {
		case f.Any > 0:
			survives = append(survives, fmt.Sprintf("any %d %s", f.Any, plural(f.Of, f.Any)))
		case i == 0:
			not = append(not, f.Of)
		case f.Domains > 1:
			not = append(not, f.Of+" "+f.Domain)
		}
	}
	if len(survives) > 0 {
		fmt.Fprintf(&b, "The placement survives the loss of %s.", strings.Join(survives, ", or of "))
	} else {
		b.WriteString("The placement survives no failure of a node.")
	}
	if len(survives) > 0 && len(not) > 0 {
		fmt.Fprintf(&b, " It does not survive the loss of %s.", strings.Join(not, ", or of "))
	}
	return b.String()
}

func plural(s string, n int) string {
	if n == 1 {
		return s
	}
	return s + "s"
}
