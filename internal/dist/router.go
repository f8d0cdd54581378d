package dist

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/dist/rangecache"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Local finds the replicas of this node.
type Local interface {
	// Replica returns this node's replica of a range; of several, the one that
	// leads.
	Replica(id kvpb.RangeID) (kvpb.Sender, bool)
}

// Locator finds the range that holds a key where all ranges are on this node.
type Locator interface {
	Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error)
}

// Config says what a Router works with.
type Config struct {
	// Node is this node; zero if it is not known yet, see SetNode.
	Node  kvpb.NodeID
	Local Local
	// Caller leads to the other nodes; nil if there are none.
	Caller Caller
	// FirstRange says where the range of the meta records is, and Now at which
	// timestamp to read them.
	FirstRange func(ctx context.Context) (kvpb.RangeDescriptor, error)
	Now        func() hlc.Timestamp
	// Deadlocks receives the transactions that wait on other nodes; nil: nothing is.
	Deadlocks *Deadlocks
	// ClosedLag is how far back a read lies that goes to the nearest replica,
	// kvpb.ClosedLag if zero.
	ClosedLag time.Duration
	// Distance says how far a node is, in whatever unit, for reads that any replica may
	// serve; false if it can't be reached. nil: this node's replicas or the leaders.
	Distance func(kvpb.NodeID) (int64, bool)
	// Live reports whether a node sent a heartbeat lately, for errors that say who is
	// missing; nil: they don't.
	Live func(kvpb.NodeID) bool
	// OnFatal is called with a panic in a request, after which nothing may go on (invariant D10);
	// nil: nobody is.
	OnFatal func(error)
	// Intercept stands between the router and each replica that it sends to, for tests
	// of faults: it returns what to send to instead. nil: nothing does.
	Intercept func(kvpb.Sender) kvpb.Sender
	// Lookup replaces MetaLookup, for tests.
	Lookup rangecache.Lookup
}

// Router implements kvpb.Sender over all ranges.
type Router struct {
	loc Locator // if set, all there is

	cfg     Config
	node    atomic.Uint64
	cache   *rangecache.Cache
	lookups chan struct{} // slots

	clocks    clocks
	finishing finisher
	failFast  atomic.Bool // see FailFast
}

var _ kvpb.Sender = (*Router)(nil)

// New returns a router over ranges that are all on this node. fatal is Config.OnFatal.
func New(l Locator, fatal func(error)) *Router { return &Router{loc: l, cfg: Config{OnFatal: fatal}} }

// NewRouter returns a router over the ranges of a cluster.
func NewRouter(c Config) *Router {
	d := &Router{cfg: c, lookups: make(chan struct{}, maxLookups)}
	d.SetNode(c.Node)
	if c.Lookup == nil {
		c.Lookup = d.MetaLookup
	}
	if c.ClosedLag == 0 {
		d.cfg.ClosedLag = kvpb.ClosedLag
	}
	d.cache = rangecache.New(c.Lookup)
	return d
}

// SetNode says which node this is, once that is known.
func (d *Router) SetNode(n kvpb.NodeID) { d.node.Store(uint64(n)) }

// Cache returns the addresses that the router knows; nil for one made by New.
func (d *Router) Cache() *rangecache.Cache { return d.cache }

func (d *Router) self() kvpb.NodeID { return kvpb.NodeID(d.node.Load()) }

// target is where one attempt of a request goes.
type target struct {
	kvpb.Sender
	desc  *kvpb.RangeDescriptor
	entry *rangecache.Entry // nil with a Locator
	node  kvpb.NodeID
}

// isHere reports whether a target is a replica of this node.
func (d *Router) isHere(t target) bool { return d.loc != nil || t.node == d.self() }

// find returns where to send a request that concerns key.
func (d *Router) find(ctx context.Context, key []byte, r *retry) (target, error) {
	if d.loc != nil {
		s, desc, err := d.loc.Lookup(key)
		return target{Sender: s, desc: desc}, err
	}
	e := d.cache.Cached(key)
	if e == nil {
		var err error
		if e, err = d.cache.Find(ctx, key); err != nil {
			return target{}, err
		}
	}
	t, err := d.choose(e, r)
	if d.cfg.Intercept != nil && err == nil {
		t.Sender = d.cfg.Intercept(t.Sender)
	}
	return t, err
}

// findBefore returns where to send a request that concerns the last keys of
// [start, end).
func (d *Router) findBefore(ctx context.Context, start, end []byte, r *retry) (target, error) {
	if d.loc == nil {
		e, err := d.cache.FindBefore(ctx, start, end)
		if err != nil {
			return target{}, err
		}
		return d.choose(e, r)
	}
	t, err := d.find(ctx, start, r)
	for err == nil && string(t.desc.EndKey) < string(end) {
		t, err = d.find(ctx, t.desc.EndKey, r)
	}
	return t, err
}

// choose picks the replica of a range to ask: the one that is believed to lead,
// and if there is none, or it has failed, first that of this node, then the
// others. It returns errAllTried when no replica is left.
func (d *Router) choose(e *rangecache.Entry, r *retry) (target, error) {
	if r.nearest {
		r.nearest = false
		if t, ok := d.chooseNearest(e); ok {
			return t, nil
		}
	}
	self := d.self()
	hint := e.Leader()
	if (hint == nil || hint.Node == self) && !r.hasTried(self) {
		if s, ok := d.cfg.Local.Replica(e.Desc().RangeID); ok {
			return target{Sender: s, desc: e.Desc(), entry: e, node: self}, nil
		}
	}
	if d.cfg.Caller == nil {
		return target{entry: e, desc: e.Desc()}, errAllTried
	}
	if hint != nil && hint.Node != self && !r.hasTried(hint.Node) {
		return d.remote(e, hint.Node), nil
	}
	for _, learners := range []bool{false, true} { // which can't lead, but may know who does
		for _, rep := range e.Desc().Replicas {
			if (rep.Type == kvpb.Learner) != learners || r.hasTried(rep.Node) {
				continue
			}
			if rep.Node != self {
				e.SetLeader(rep) // until it says otherwise
				return d.remote(e, rep.Node), nil
			}
			if s, ok := d.cfg.Local.Replica(e.Desc().RangeID); ok {
				return target{Sender: s, desc: e.Desc(), entry: e, node: self}, nil
			}
		}
	}
	return target{entry: e, desc: e.Desc()}, errAllTried
}

func (d *Router) remote(e *rangecache.Entry, n kvpb.NodeID) target {
	s := &Remote{Caller: d.cfg.Caller, Node: n, Range: e.Desc().RangeID, clock: d.clocks.peer(n)}
	if d.cfg.Deadlocks != nil {
		s.away = &d.cfg.Deadlocks.away
	}
	return target{Sender: s, desc: e.Desc(), entry: e, node: n}
}
