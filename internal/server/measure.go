package server

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// measureEvery is how often stores and ranges are measured: how fast replicas
	// spread depends on it.
	measureEvery = time.Second
	// sizeEvery is how often the size of a range is looked up; sizesPerRound bounds
	// how many are at a time.
	sizeEvery     = 10 * time.Second
	sizesPerRound = 64
	// minBetween is the least time between two readings of a counter that give a rate.
	minBetween = measureEvery / 2
)

// measured is a replica with what is known of its range. It counts the requests on
// their way to the replica.
type measured struct {
	*replica.Replica
	load     balance.LoadSplitter
	size     atomic.Int64
	qps      atomic.Uint64 // float64 bits
	progress atomic.Pointer[[]replica.FollowerProgress]

	// The rest belongs to the measuring goroutine.
	sizedAt  time.Time
	sizedGen uint64
	requests int64
	readAt   time.Time
}

var _ kvpb.Sender = (*measured)(nil)

// Get implements kvpb.Sender.
func (m *measured) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	m.load.Record(req.Key)
	return m.Replica.Get(ctx, req, resp)
}

// Scan implements kvpb.Sender.
func (m *measured) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	m.load.Record(req.Start)
	return m.Replica.Scan(ctx, req, resp)
}

// Lock implements kvpb.Sender.
func (m *measured) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	m.load.Record(req.Key)
	return m.Replica.Lock(ctx, req, resp)
}

// Commit implements kvpb.Sender.
func (m *measured) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if len(req.Writes) > 0 {
		m.load.Record(req.Writes[0].Key)
	}
	return m.Replica.Commit(ctx, req, resp)
}

// rate is how many requests the range serves per second.
func (m *measured) rate() float64 { return math.Float64frombits(m.qps.Load()) }

// measurements are what a node knows of its own ranges and store.
type measurements struct {
	mu     sync.Mutex                                 // of changes to ranges
	ranges atomic.Pointer[map[kvpb.RangeID]*measured] // copied when it changes
	store  atomic.Pointer[liveness.StoreInfo]
	seq    atomic.Uint64 // counts the measurements of the store
}

// of returns the measurements of a replica.
func (ms *measurements) of(r *replica.Replica) *measured {
	if m := ms.known(r); m != nil {
		return m
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.known(r); m != nil {
		return m
	}
	next := map[kvpb.RangeID]*measured{}
	if old := ms.ranges.Load(); old != nil {
		for id, m := range *old {
			next[id] = m
		}
	}
	m := &measured{Replica: r}
	next[r.RangeID()] = m
	ms.ranges.Store(&next)
	return m
}

func (ms *measurements) known(r *replica.Replica) *measured {
	if all := ms.ranges.Load(); all != nil {
		if m := (*all)[r.RangeID()]; m != nil && m.Replica == r {
			return m
		}
	}
	return nil
}

// keep forgets all replicas but these.
func (ms *measurements) keep(now []*replica.Replica) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	old := ms.ranges.Load()
	if old == nil || len(*old) <= len(now) {
		return
	}
	next := make(map[kvpb.RangeID]*measured, len(now))
	for _, r := range now {
		if m := (*old)[r.RangeID()]; m != nil && m.Replica == r {
			next[r.RangeID()] = m
		}
	}
	ms.ranges.Store(&next)
}

// measureLoop measures until ctx ends.
func (n *Node) measureLoop(ctx context.Context) {
	t := time.NewTicker(measureEvery)
	defer t.Stop()
	for {
		n.measure(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// measure takes one round of measurements.
func (n *Node) measure(now time.Time) {
	all := n.store.Replicas()
	n.measured.keep(all)
	u := n.store.Engine().DiskUsage()
	s := liveness.StoreInfo{
		ID: n.store.Identity().Store, CapacityBytes: int64(u.Total), UsedBytes: int64(u.Total - min(u.Available, u.Total)),
		Ranges: len(all),
	}
	sizes := 0
	for _, r := range all {
		m := n.measured.of(r)
		m.measureRate(now)
		if m.measureSize(n, now, sizes < sizesPerRound) {
			sizes++
		}
		if !r.Leads() {
			r.Reclaim()
			continue
		}
		s.Leaders++
		s.QPS += m.rate()
		if len(r.Desc().Replicas) > 1 {
			r.Progress(func(list []replica.FollowerProgress) { m.progress.Store(&list) })
		}
	}
	n.measured.store.Store(&s)
	n.measured.seq.Add(1)
}

func (m *measured) measureRate(now time.Time) {
	s := m.Stats()
	requests := s.Gets.Load() + s.Scans.Load() + s.Locks.Load() + s.Commits.Load()
	past := now.Sub(m.readAt)
	if past < minBetween {
		return
	}
	if !m.readAt.IsZero() {
		m.qps.Store(math.Float64bits(float64(requests-m.requests) / past.Seconds()))
	}
	m.readAt, m.requests = now, requests
}

// measureSize looks up the size of the range if that is due and may be done now.
func (m *measured) measureSize(n *Node, now time.Time, may bool) bool {
	d := m.Desc()
	if !may || d.Generation == m.sizedGen && now.Sub(m.sizedAt) < sizeEvery {
		return false
	}
	size, err := n.spanSize(d.StartKey, d.EndKey)
	if err != nil {
		n.log.Warn("size of a range", "range", d.RangeID, "err", err)
		return true
	}
	m.size.Store(size)
	m.sizedGen, m.sizedAt = d.Generation, now
	return true
}

// followers returns how far the followers are, as the placement of replicas wants
// to know it.
func (n *Node) followers(m *measured) []placement.Progress {
	list := m.progress.Load()
	if list == nil {
		return nil
	}
	out := make([]placement.Progress, 0, len(*list))
	for _, f := range *list {
		if f.Match > 0 {
			out = append(out, placement.Progress{Store: f.Replica.Store, Behind: f.Behind, Active: n.live.Live(f.Replica.Node)})
		}
	}
	return out
}
