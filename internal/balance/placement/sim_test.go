package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// world is a cluster in which actions take effect at once.
type world struct {
	stores []Store
	ranges []*Placed
	now    time.Time
	moves  int // replicas copied
	shifts int // leaders moved
	// settled hears of every action with the diversity of the range's replicas
	// before and after.
	settled func(p *Placed, a Action, before, after float64)
	last    string
	shared  int64 // if not 0, the bytes used of a disk that all stores share
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func ptr[T any](v T) *T { return &v }

func zoneOf(replicas int) *zone.Config { return &zone.Config{NumReplicas: ptr(replicas)} }

// newWorld makes n nodes with a store each, spread over the regions (nil: none).
func newWorld(n int, regions ...string) *world {
	w := &world{now: time.Unix(1_000_000, 0)}
	for i := range n {
		w.addStore(regions, i)
	}
	return w
}

func (w *world) addStore(regions []string, i int) *Store {
	id := len(w.stores) + 1
	s := Store{ID: kvpb.StoreID(id), Node: kvpb.NodeID(id), Capacity: Capacity{Total: 1 << 40}}
	if len(regions) > 0 {
		s.Locality = []Tier{{"region", regions[i%len(regions)]}, {"zone", fmt.Sprint(i / len(regions) % 2)}}
	}
	w.stores = append(w.stores, s)
	return &w.stores[len(w.stores)-1]
}

func (w *world) addRange(z *zone.Config, stores ...kvpb.StoreID) *Placed {
	id := len(w.ranges) + 1
	d := &kvpb.RangeDescriptor{RangeID: kvpb.RangeID(id)}
	for _, s := range stores {
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: w.store(s).Node, Store: s, Replica: d.NextReplicaID})
		d.NextReplicaID++
	}
	p := &Placed{Range: Range{Desc: d, Leader: stores[0], Size: 64 << 20}, Zone: z}
	w.ranges = append(w.ranges, p)
	return p
}

func (w *world) store(id kvpb.StoreID) *Store {
	for i := range w.stores {
		if w.stores[i].ID == id {
			return &w.stores[i]
		}
	}
	return nil
}

func (w *world) up(id kvpb.StoreID) bool {
	s := w.store(id)
	return s != nil && (s.State == Live || s.State == Suspect)
}

// picture measures all stores.
func (w *world) picture() *Cluster {
	for i := range w.stores {
		c := &w.stores[i].Capacity
		*c = Capacity{Total: c.Total}
	}
	for _, p := range w.ranges {
		for _, r := range p.Desc.Replicas {
			c := &w.store(r.Store).Capacity
			c.Ranges++
			c.Used += p.Size
			c.WriteBytes += p.WriteBytes
			if r.Store == p.Leader {
				c.Leaders++
				c.QPS += p.QPS
			}
		}
	}
	if w.shared != 0 {
		for i := range w.stores {
			w.stores[i].Capacity.Used = w.shared
		}
	}
	return NewCluster(w.now, w.stores, DefaultParams())
}

// observe fills in what the leader would know.
func (w *world) observe(p *Placed) {
	if !w.up(p.Leader) { // an election
		for _, r := range p.Desc.Replicas {
			if r.Type == kvpb.Voter && w.up(r.Store) {
				p.Leader = r.Store
				break
			}
		}
	}
	p.Progress = p.Progress[:0]
	for _, r := range p.Desc.Replicas {
		p.Progress = append(p.Progress, Progress{Store: r.Store, Active: w.up(r.Store)})
	}
}

// do checks an action against the invariants and carries it out.
func (w *world) do(t failer, c *Cluster, p *Placed, a Action) {
	t.Helper()
	w.last = fmt.Sprintf("r%d: %v: %s", p.Desc.RangeID, a, a.Reason)
	before := w.margin(p)
	goal := goalOf(c, p.Zone)
	broken := w.broken(c, goal, p)
	if w.settled != nil {
		diversity := func() float64 { d := c.newDecision(&p.Range, p.Zone); return d.score(d.voters, d.learners).diversity }
		old := diversity()
		defer func() { w.settled(p, a, old, diversity()) }()
	}
	for _, ch := range a.Changes() {
		w.change(t, p, ch)
	}
	nodes := map[kvpb.NodeID]bool{}
	for _, r := range p.Desc.Replicas {
		if nodes[r.Node] {
			t.Fatalf("two replicas on n%d: %s", r.Node, w.last)
		}
		nodes[r.Node] = true
	}
	switch a.Kind {
	case None, Unavailable, FinishJoint:
		t.Fatalf("nothing to carry out: %s", w.last)
	case TransferLeader:
		r, ok := p.Desc.Replica(a.To.Store)
		if !ok || r.Type != kvpb.Voter || !w.up(a.To.Store) || a.From.Store != p.Leader || a.To.Store == p.Leader {
			t.Fatalf("bad transfer: %s (leader s%d)", w.last, p.Leader)
		}
		p.Leader = a.To.Store
		w.shifts++
	}
	if r, ok := p.Desc.Replica(p.Leader); !ok || r.Type != kvpb.Voter {
		t.Fatalf("the leader was removed: %s", w.last)
	}
	if m := w.margin(p); m < 0 || m < before && a.Kind != AddVoter && a.Kind != RemoveVoter {
		t.Fatalf("margin %d → %d: %s", before, m, w.last)
	}
	if b := w.broken(c, goal, p); b > broken && a.Kind != RemoveVoter && a.Kind != RemoveLearner &&
		(a.Kind != AddVoter || a.From.Store == 0) { // else a voter more than asked for, until From has left
		t.Fatalf("broken constraints %d → %d: %s", broken, b, w.last)
	}
}

func (w *world) change(t failer, p *Placed, ch Change) {
	t.Helper()
	d := p.Desc
	switch ch.Kind {
	case AddVoter, AddLearner:
		s := w.store(ch.Store)
		if s.State != Live || s.Draining || s.Decommissioning {
			t.Fatalf("s%d must receive nothing: %s", ch.Store, w.last)
		}
		typ := kvpb.Voter
		if ch.Kind == AddLearner {
			typ = kvpb.Learner
		}
		for i := range d.Replicas {
			if d.Replicas[i].Store == ch.Store {
				d.Replicas[i].Type = typ
				return
			}
		}
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: ch.Node, Store: ch.Store, Type: typ})
		w.moves++
	default:
		for i := range d.Replicas {
			if d.Replicas[i].Store == ch.Store {
				d.Replicas = append(d.Replicas[:i], d.Replicas[i+1:]...)
				return
			}
		}
		t.Fatalf("no replica to remove: %s", w.last)
	}
}

// margin is how many further voters may fail.
func (w *world) margin(p *Placed) int {
	n, up := 0, 0
	for _, r := range p.Desc.Replicas {
		if r.Type == kvpb.Voter {
			n++
			if w.up(r.Store) {
				up++
			}
		}
	}
	return up - Quorum(n)
}

func (w *world) broken(c *Cluster, g goal, p *Placed) int {
	var voters, learners []*store
	for _, r := range p.Desc.Replicas {
		s := c.byID[r.Store]
		if r.Type == kvpb.Learner {
			learners = append(learners, s)
		} else {
			voters = append(voters, s)
		}
	}
	n, _ := g.violations(voters, learners)
	return n
}

// settle applies decisions until none is left and returns how many it took. Every
// pass decides with a fresh picture, as nodes do that measure now and then, and does
// repairs first.
func (w *world) settle(t failer) int {
	t.Helper()
	total := 0
	for pass := 0; ; pass++ {
		c := w.picture()
		n := 0
		for _, urgent := range [...]bool{true, false} {
			for _, p := range w.ranges {
				w.observe(p)
				a := c.Decide(&p.Range, p.Zone)
				if a.Kind == None || a.Kind == Unavailable || urgent && a.Class != Repair {
					continue
				}
				c.Apply(&p.Range, a)
				w.do(t, c, p, a)
				n++
			}
		}
		total += n
		if n == 0 {
			return total
		}
		if pass > 300 {
			t.Fatalf("still moving after %d passes and %d actions; last: %s", pass, total, w.last)
		}
	}
}

// checkEven requires that a count lies within share (or one) of the mean.
func (w *world) checkEven(t *testing.T, what string, share float64, count func(*Capacity) int) {
	t.Helper()
	w.picture()
	sum, n := 0, 0
	for i := range w.stores {
		if s := &w.stores[i]; s.State == Live && !s.Decommissioning {
			sum += count(&s.Capacity)
			n++
		}
	}
	mean := float64(sum) / float64(n)
	var all []int
	bad := false
	for i := range w.stores {
		if s := &w.stores[i]; s.State == Live && !s.Decommissioning {
			v := count(&s.Capacity)
			all = append(all, v)
			diff := max(float64(v)-mean, mean-float64(v))
			bad = bad || diff > max(share*mean, 1)
		}
	}
	if bad {
		t.Errorf("%s %v: more than %.0f %% from the mean %.1f", what, all, 100*share, mean)
	}
}

func replicas(c *Capacity) int { return c.Ranges }
func leaders(c *Capacity) int  { return c.Leaders }
