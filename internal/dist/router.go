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
	// Replica returns this node's replica of a range. If several stores have one, it returns the
	// leader.
	Replica(id kvpb.RangeID) (kvpb.Sender, bool)
}

// Locator finds the range that holds a key where all ranges are on this node.
type Locator interface {
	Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error)
}

// Config configures a Router.
type Config struct {
	// Node is this node.
	Node  kvpb.NodeID
	Local Local
	// Caller makes calls to the other nodes. It is nil if there are none.
	Caller Caller
	// FirstRange returns the address of the range of the meta records. Now returns the timestamp at which
	// to read these.
	FirstRange func(ctx context.Context) (kvpb.RangeDescriptor, error)
	Now        func() hlc.Timestamp
	// Deadlocks learns which transactions may wait on other nodes. It may be nil.
	Deadlocks *Deadlocks
	// ClosedLag is the age from which a read goes to the nearest replica. Zero means kvpb.ClosedLag.
	ClosedLag time.Duration
	// Distance returns the distance of a node in an arbitrary unit, for reads that any replica may
	// serve. It returns false for a node that can't be reached. If nil, such reads go to this
	// node's replicas or to leaders.
	Distance func(kvpb.NodeID) (int64, bool)
	// Live reports whether a node has sent a heartbeat lately, so that errors can name the missing nodes.
	// It may be nil.
	Live func(kvpb.NodeID) bool
	// OnFatal receives a panic in a request, and must end the process (invariant D10). It may be nil.
	OnFatal func(error)
	// Intercept wraps the replica that a request goes to by its key, so that tests can inject faults. Replicas that
	// are found as the last one before a key are not wrapped, and parts of a commit that go to wrapped ones of this
	// node travel one by one instead of as a multi-range batch. It may be nil.
	Intercept func(kvpb.Sender) kvpb.Sender
	// Lookup replaces MetaLookup, for tests.
	Lookup rangecache.Lookup
}

// Router implements kvpb.Sender over all ranges.
type Router struct {
	loc Locator // if set, all ranges are on this node

	cfg     Config
	cache   *rangecache.Cache
	lookups chan struct{} // slots

	clocks    clocks
	finishing finisher
	failFast  atomic.Bool // see FailFast
}

var _ kvpb.Sender = (*Router)(nil)

// New returns a router for ranges that are all on this node. fatal is Config.OnFatal.
func New(l Locator, fatal func(error)) *Router { return &Router{loc: l, cfg: Config{OnFatal: fatal}} }

// NewRouter returns a router for the ranges of a cluster.
func NewRouter(c Config) *Router {
	d := &Router{cfg: c, lookups: make(chan struct{}, maxLookups)}
	if c.Lookup == nil {
		c.Lookup = d.MetaLookup
	}
	if c.ClosedLag == 0 {
		d.cfg.ClosedLag = kvpb.ClosedLag
	}
	d.cache = rangecache.New(c.Lookup)
	return d
}

// Cache returns the router's range cache; nil for a router made by New.
func (d *Router) Cache() *rangecache.Cache { return d.cache }

func (d *Router) self() kvpb.NodeID { return d.cfg.Node }

// target is the destination of one attempt.
type target struct {
	kvpb.Sender
	desc  *kvpb.RangeDescriptor
	entry *rangecache.Entry // nil with a Locator
	node  kvpb.NodeID
}

// isHere reports whether the target is a replica of this node.
func (d *Router) isHere(t target) bool { return d.loc != nil || t.node == d.self() }

// find returns the target of a request for key.
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

// findBefore returns the target of a request for the last keys of [start, end).
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

// choose picks the replica of a range to send to: first the replica that the cache takes for the leader,
// then this node's, then the others. It returns errAllTried when no replica is left.
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
	for _, voters := range []bool{true, false} { // learners can't lead but may know the leader
		for _, rep := range e.Desc().Replicas {
			if rep.Type.Votes() != voters || r.hasTried(rep.Node) {
				continue
			}
			if rep.Node != self {
				e.SetLeader(rep) // until a replica names another
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
		s.waits = &d.cfg.Deadlocks.remote
	}
	return target{Sender: s, desc: e.Desc(), entry: e, node: n}
}
