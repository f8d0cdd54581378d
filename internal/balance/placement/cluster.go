package placement

import (
	"fmt"
	"hash/fnv"
	"sort"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Tier is one level of a store's locality, such as region=eu. Localities list the
// widest tier first.
type Tier struct{ Key, Value string }

// State says whether a store takes part.
type State uint8

// The states of a store.
const (
	Live    State = iota
	Suspect       // alive, but failed lately: keeps what it has and gets nothing new
	Down          // does not answer; dead once it has been so for Params.DeadAfter
	Gone          // removed from the cluster for good
)

// Capacity is what a store holds and does.
type Capacity struct {
	Total, Used     int64   // bytes of the disk
	Ranges, Leaders int     // replicas, and how many of them lead
	QPS             float64 // requests per second that its leaders serve
	WriteBytes      float64 // bytes per second that its replicas write
}

// fraction is the share of the disk in use once extra bytes are added.
func (c *Capacity) fraction(extra int64) float64 {
	if c.Total <= 0 {
		return 0
	}
	return float64(c.Used+extra) / float64(c.Total)
}

// Store is one store of the cluster.
type Store struct {
	ID              kvpb.StoreID
	Node            kvpb.NodeID
	Locality        []Tier
	Capacity        Capacity
	State           State
	Since           time.Time // when State began
	Draining        bool      // its node is about to stop: leaders move away
	Decommissioning bool      // everything moves away
	Slow            bool      // its disk takes long for each write
	Measured        time.Time // when Capacity was true
}

// Params are the thresholds of placement.
type Params struct {
	// DeadAfter is how long a store may be down before its replicas are rebuilt
	// elsewhere.
	DeadAfter time.Duration
	// MaxBehind is how many log entries a replica may lag and still count as
	// caught up.
	MaxBehind uint64
	// Band is how far a store's count of replicas or leaders may lie from the
	// mean, as a share of it, without anything moving.
	Band float64
	// LoadBand is the same for load. Means below MinQPS and MinWriteBytes are not
	// worth a move.
	LoadBand              float64
	MinQPS, MinWriteBytes float64
	// FullAt is the share of a disk above which a store gets replicas only for
	// repairs, RefuseAt above which it gets none, ShedAt above which replicas
	// leave it.
	FullAt, ShedAt, RefuseAt float64
	// CrowdedAt is the share of a disk above which replicas move to disks of which at
	// least DiskBand less is used, and up to which counts and load are evened out.
	CrowdedAt, DiskBand float64
}

// DefaultParams returns the thresholds of a new cluster.
func DefaultParams() Params {
	return Params{
		DeadAfter: 5 * time.Minute,
		MaxBehind: 1000,
		Band:      0.05,
		LoadBand:  0.25, MinQPS: 100, MinWriteBytes: 1 << 20,
		FullAt: 0.90, ShedAt: 0.95, RefuseAt: 0.98,
		CrowdedAt: 0.75, DiskBand: 0.05,
	}
}

// store is a Store with what decisions need at hand.
type store struct {
	Store
	path  []int32 // path[i] identifies the first i+1 tiers
	known bool    // false for a store that a descriptor names and the picture lacks
	dead  bool
	slow  bool // slower than the others: see Cluster.markSlow
}

// available reports whether the store's replicas take part in quorums.
func (s *store) available() bool { return s.State == Live || s.State == Suspect }

// leaving reports whether replicas must go elsewhere although the store works.
func (s *store) leaving() bool { return s.Decommissioning && !s.dead }

// Cluster is a picture of all stores at one time.
type Cluster struct {
	now    time.Time
	params Params
	stores []*store // by ID
	byID   map[kvpb.StoreID]*store
	nodes  int // that are not gone
}

// NewCluster makes a picture of stores, which must include the dead ones: a store
// that a range names and the picture lacks is taken for a gap in the picture.
func NewCluster(now time.Time, stores []Store, p Params) *Cluster {
	c := &Cluster{now: now, params: p, byID: make(map[kvpb.StoreID]*store, len(stores))}
	paths := pathIDs{}
	nodes := map[kvpb.NodeID]bool{}
	for _, st := range stores {
		s := &store{Store: st, known: true, path: paths.of(st.Locality)}
		s.dead = st.State == Gone || st.State == Down && now.Sub(st.Since) >= p.DeadAfter
		c.stores = append(c.stores, s)
		c.byID[st.ID] = s
		if st.State != Gone {
			nodes[st.Node] = true
		}
	}
	c.nodes = len(nodes)
	c.markSlow()
	sort.Slice(c.stores, func(i, j int) bool { return c.stores[i].ID < c.stores[j].ID })
	return c
}

// markSlow has stores count as slow of which others know to be faster: when more than
// half are slow, it is the machines or the load, and leaders would wander for nothing.
func (c *Cluster) markSlow() {
	up, slow := 0, 0
	for _, s := range c.stores {
		if s.available() && !s.Draining {
			up++
			if s.Slow {
				slow++
			}
		}
	}
	for _, s := range c.stores {
		s.slow = s.Slow && 2*slow <= up
	}
}

// Now is the time of the picture.
func (c *Cluster) Now() time.Time { return c.now }

// Nodes is how many nodes belong to the cluster.
func (c *Cluster) Nodes() int { return c.nodes }

// Store returns a store as the picture has it, with all actions applied to it.
func (c *Cluster) Store(id kvpb.StoreID) (Store, bool) {
	s, ok := c.byID[id]
	if !ok {
		return Store{}, false
	}
	return s.Store, true
}

// StateSum is a sum of everything about stores but their capacity: it changes when
// decisions may change at once.
func (c *Cluster) StateSum() uint64 {
	h := fnv.New64a()
	for _, s := range c.stores {
		fmt.Fprintln(h, s.ID, s.Node, s.State, s.dead, s.slow, s.Draining, s.Decommissioning, s.path)
	}
	return h.Sum64()
}

// Load below which a store counts as idle: a cluster that nobody uses has some too.
const (
	idleQPS        = 25
	idleWriteBytes = 64 << 10
)

// IdleSum is a sum of what stores have; false if one of them has work to do.
func (c *Cluster) IdleSum() (sum uint64, idle bool) {
	h := fnv.New64a()
	for _, s := range c.stores {
		p := &s.Capacity
		if p.QPS > idleQPS || p.WriteBytes > idleWriteBytes {
			return 0, false
		}
		fmt.Fprintln(h, s.ID, p.Ranges, p.Leaders, int(100*p.fraction(0)))
	}
	return h.Sum64() ^ c.StateSum(), true
}

// lookup returns a store, or a stand-in for one that the picture lacks.
func (c *Cluster) lookup(id kvpb.StoreID, node kvpb.NodeID) *store {
	if s, ok := c.byID[id]; ok {
		return s
	}
	return &store{Store: Store{ID: id, Node: node, State: Down, Since: c.now}}
}

// refuses says why a store gets no replica of size bytes, "" if it may. A repair
// may fill a store further than a move that could as well not be made.
func (c *Cluster) refuses(s *store, size int64, repair bool) string {
	limit := c.params.FullAt
	if repair {
		limit = c.params.RefuseAt
	}
	switch {
	case s.dead:
		return "dead"
	case s.State == Down:
		return "down"
	case s.Decommissioning:
		return "decommissioning"
	case s.Draining:
		return "draining"
	case s.State == Suspect:
		return "suspect"
	case s.slow && !repair:
		return "slow"
	case s.Capacity.fraction(size) >= limit:
		return "full"
	}
	return ""
}

// Apply changes the picture as the action will change the cluster, so that what is
// decided next counts with it.
func (c *Cluster) Apply(r *Range, a Action) {
	c.ApplySince(r, a, func(kvpb.StoreID) bool { return true })
}

// ApplySince is Apply for the stores whose measurements don't show the action yet. It
// reports whether there is one.
func (c *Cluster) ApplySince(r *Range, a Action, unseen func(kvpb.StoreID) bool) (any bool) {
	add := func(t Target, replicas, leaders int) {
		s, ok := c.byID[t.Store]
		if !ok || !unseen(t.Store) {
			return
		}
		any = true
		p := &s.Capacity
		p.Ranges += replicas
		p.Used += int64(replicas) * r.Size
		p.WriteBytes += float64(replicas) * r.WriteBytes
		p.Leaders += leaders
		p.QPS += float64(leaders) * r.QPS
	}
	for _, ch := range a.Changes() {
		switch ch.Kind {
		case AddVoter, AddLearner:
			if _, there := r.Desc.Replica(ch.Store); !there {
				add(ch.Target, 1, 0)
			}
		case RemoveVoter, RemoveLearner:
			add(ch.Target, -1, 0)
		}
	}
	if a.Kind == AddVoter && a.From.Store != 0 {
		add(a.From, -1, 0) // what for it was added
	}
	if a.Kind == TransferLeader {
		add(a.From, 0, -1)
		add(a.To, 0, 1)
	}
	return any
}

// pathIDs numbers prefixes of localities, so that they compare as integers.
type pathIDs map[string]int32

func (p pathIDs) of(locality []Tier) []int32 {
	path := make([]int32, len(locality))
	prefix := ""
	for i, t := range locality {
		prefix += strconv.Quote(t.Key) + "=" + strconv.Quote(t.Value) + ","
		id, ok := p[prefix]
		if !ok {
			id = int32(len(p))
			p[prefix] = id
		}
		path[i] = id
	}
	return path
}
