package rangestats

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// measureEvery is the interval between two measurements of stores and ranges. The speed at which
// replicas spread depends on it.
const measureEvery = time.Second

// Options say what a Collector works with.
type Options struct {
	Store *store.Set
	// Capacity returns the size of a store's disk, how much of it is used, and how much by
	// the store itself.
	Capacity func(*store.Store) (total, used, own int64)
	// OnDescriptor is called with each descriptor that a measurement finds to be new, OnLeader with
	// each replica that leads, in each round; nil: nobody is.
	OnDescriptor func(*kvpb.RangeDescriptor)
	OnLeader     func(context.Context, *replica.Replica)
	// Pace bounds all intervals, if it is set: for tests.
	Pace   time.Duration
	Logger *slog.Logger
}

// Collector measures the node's stores and their replicas.
type Collector struct {
	o      Options
	stores atomic.Pointer[[]liveness.StoreInfo]
	seq    atomic.Uint64 // counts what other nodes have to learn

	mu      sync.Mutex
	touched []*Stats // asked since the last round

	// The rest belongs to the collecting goroutine.
	rounds map[*store.Store]*round
	budget int // what may be read for sizes, in bytes
}

// NewCollector returns a Collector that has measured nothing yet.
func NewCollector(o Options) *Collector {
	return &Collector{o: o, rounds: map[*store.Store]*round{}}
}

// Of returns the statistics of a replica.
func (c *Collector) Of(r *replica.Replica) *Stats {
	if s, ok := r.UserData().(*Stats); ok {
		return s
	}
	s, _ := r.SetUserData(&Stats{Replica: r, collector: c}).(*Stats)
	return s
}

// Stores returns the stores as last measured.
func (c *Collector) Stores() []liveness.StoreInfo {
	if s := c.stores.Load(); s != nil {
		return *s
	}
	return nil
}

// Seq counts the measurements of the stores, and the calls of Changed.
func (c *Collector) Seq() uint64 { return c.seq.Load() }

// Changed notes that the other nodes need this node's state anew.
func (c *Collector) Changed() { c.seq.Add(1) }

// Every is the interval between two measurements.
func (c *Collector) Every() time.Duration { return c.paced(measureEvery) }

func (c *Collector) paced(d time.Duration) time.Duration {
	if c.o.Pace > 0 {
		return min(d, c.o.Pace)
	}
	return d
}

// touch notes the first request to a replica since it was measured.
func (c *Collector) touch(s *Stats) {
	c.mu.Lock()
	c.touched = append(c.touched, s)
	c.mu.Unlock()
}

// takeTouched returns the replicas that were asked since the last round.
func (c *Collector) takeTouched() []*Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.touched
	c.touched = nil
	return list
}

// Run measures until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	t := time.NewTicker(c.Every())
	defer t.Stop()
	for {
		c.Measure(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Measure takes one round of measurements.
func (c *Collector) Measure(ctx context.Context, now time.Time) {
	var infos []liveness.StoreInfo
	c.budget = min(sizesPerRound, c.budget+sizesPerRound)
	for _, s := range c.takeTouched() {
		st := c.o.Store.Of(s.Replica)
		if r := c.rounds[st]; r != nil {
			r.include(st, s)
		}
	}
	for _, st := range c.o.Store.Stores() {
		if st.Identity() != (store.Identity{}) {
			infos = append(infos, c.measureStore(ctx, st, now))
		}
	}
	c.stores.Store(&infos)
	c.seq.Add(1)
}

// measureStore measures a store and its replicas.
func (c *Collector) measureStore(ctx context.Context, st *store.Store, now time.Time) liveness.StoreInfo {
	r := c.rounds[st]
	if r == nil {
		r = &round{}
		c.rounds[st] = r
	}
	r.begin(c, st)
	info := liveness.StoreInfo{ID: st.Identity().Store, Ranges: len(r.all)}
	info.CapacityBytes, info.UsedBytes, info.OwnBytes = c.o.Capacity(st)
	flushes := st.Engine().Metrics().Flushes
	kept := r.hot[:0]
	for _, s := range r.hot {
		was := s.counted
		s.hot = !c.measureReplica(ctx, st, flushes, s, now)
		if s.hot {
			kept = append(kept, s)
		}
		if was {
			r.leaders--
		}
		info.WriteBytesPerSec += s.WriteBytes()
		if s.counted {
			r.leaders++
			info.QPS += s.QPS()
		}
	}
	clear(r.hot[len(kept):])
	r.hot = kept
	info.Leaders = r.leaders
	return info
}

// measureReplica measures a replica. It reports whether the next rounds may pass over the
// replica until it is woken or asked: it is quiesced, nobody asks for it, its size is known.
func (c *Collector) measureReplica(ctx context.Context, st *store.Store, flushes int64, s *Stats, now time.Time) (idle bool) {
	quiesced, led := s.Quiesced()
	s.touched.Store(false)
	if d := s.Desc(); d != s.noticed {
		s.noticed = d
		if c.o.OnDescriptor != nil {
			c.o.OnDescriptor(d)
		}
	}
	s.measureRates(now)
	sized := c.measureSize(st, flushes, s, now)
	s.counted = s.Leads()
	idle = quiesced && led == s.counted && sized && s.QPS() == 0 && s.WriteBytes() == 0 && !s.Desc().Changing()
	if !s.counted {
		s.Reclaim()
		return idle
	}
	if c.o.OnLeader != nil {
		c.o.OnLeader(ctx, s.Replica)
	}
	if len(s.Desc().Replicas) > 1 {
		s.AskFollowers()
	}
	return idle
}

// measureSize looks up the size of a range if that is due and the round's budget allows it, and
// reports whether the size that is known is the range's.
func (c *Collector) measureSize(st *store.Store, flushes int64, s *Stats, now time.Time) bool {
	z, d := &s.sized, s.Desc()
	logged := s.Stats().LogBytes.Load()
	switch z.next(s.Size(), d.Generation, logged, flushes, c.paced(sizeAtRest), now) {
	case sizeKnown:
		return true
	case sizeStale:
		return false
	}
	if c.budget <= 0 {
		return false
	}
	c.budget -= sizeCost
	size, err := z.size(st.Engine(), d, logged, now, &c.budget)
	if err != nil {
		c.o.Logger.Warn("size of a range", "range", d.RangeID, "err", err)
	} else {
		s.size.Store(size)
	}
	z.at, z.generation, z.counted = now, d.Generation, logged
	return true
}
