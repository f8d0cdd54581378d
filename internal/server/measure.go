package server

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
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
	// averageOver is how long a rate takes to follow what is measured: a second with
	// many requests is no reason to move anything.
	averageOver = 8 * time.Second
	// negligible is the rate per second that counts as none.
	negligible = 0.01
)

// measured is a replica with what is known of its range. It counts the requests on
// their way to the replica.
type measured struct {
	*replica.Replica
	load     balance.LoadSplitter
	size     atomic.Int64
	qps      atomic.Uint64 // float64 bits
	writes   atomic.Uint64 // the same, of the bytes per second that go into the log
	progress atomic.Pointer[[]replica.FollowerProgress]
	merging  atomic.Bool // somebody here is merging, or ending a merge of, the range

	// The rest belongs to the measuring goroutine.
	sizedAt  time.Time
	sizedGen uint64
	requests int64
	logged   int64
	readAt   time.Time
	leads    bool // at the last reading
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

// writeRate is how many bytes per second are written to the replica.
func (m *measured) writeRate() float64 { return math.Float64frombits(m.writes.Load()) }

// measurements are what a node knows of its own stores. Those of its ranges hang on
// the replicas.
type measurements struct {
	stores atomic.Pointer[[]liveness.StoreInfo]
	seq    atomic.Uint64 // counts the measurements of the stores
	// halfMerged says that a range with a merge to be ended is led here now.
	halfMerged chan struct{}
}

// of returns the measurements of a replica.
func (*measurements) of(r *replica.Replica) *measured {
	if m, ok := r.Companion().(*measured); ok {
		return m
	}
	m, _ := r.SetCompanion(&measured{Replica: r}).(*measured)
	return m
}

// measureLoop measures until ctx ends.
func (n *Node) measureLoop(ctx context.Context) {
	t := time.NewTicker(n.paced(measureEvery))
	defer t.Stop()
	for {
		n.measure(ctx, time.Now())
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case <-n.measured.halfMerged:
				n.endMerges(ctx) // clients wait at the other half
			case <-t.C:
				waiting = false
			}
		}
	}
}

// measure takes one round of measurements.
func (n *Node) measure(ctx context.Context, now time.Time) {
	var infos []liveness.StoreInfo
	sizes := 0
	for i, st := range n.store.Stores() {
		if st.Identity() != (store.Identity{}) {
			infos = append(infos, n.measureStore(ctx, st, &n.cfg.Stores[i], now, &sizes))
		}
	}
	n.measured.stores.Store(&infos)
	n.measured.seq.Add(1)
}

// measureStore measures a store and its replicas; sizes counts those whose size was
// looked up.
func (n *Node) measureStore(ctx context.Context, st *store.Store, cfg *config.Store, now time.Time, sizes *int) liveness.StoreInfo {
	all := st.Replicas()
	s := liveness.StoreInfo{ID: st.Identity().Store, Ranges: len(all)}
	s.CapacityBytes, s.UsedBytes = capacity(st, cfg)
	for _, r := range all {
		n.placing.notice(r.Desc())
		m := n.measured.of(r)
		m.measureRate(now)
		if m.measureSize(n, now, *sizes < sizesPerRound) {
			*sizes++
		}
		s.WriteBytesPerSec += m.writeRate()
		if !r.Leads() {
			r.Reclaim()
			continue
		}
		n.endMerge(ctx, m)
		s.Leaders++
		s.QPS += m.rate()
		if len(r.Desc().Replicas) > 1 {
			r.Progress(func(list []replica.FollowerProgress) { m.progress.Store(&list) })
		}
	}
	return s
}

func (m *measured) measureRate(now time.Time) {
	s := m.Stats()
	requests := s.Gets.Load() + s.Scans.Load() + s.Locks.Load() + s.Commits.Load()
	past := now.Sub(m.readAt)
	if past < minBetween {
		return
	}
	logged := s.LogBytes.Load()
	if !m.readAt.IsZero() && requests == m.requests && logged == m.logged && m.qps.Load()|m.writes.Load() == 0 {
		m.readAt = now // at rest, as most of thousands are
		return
	}
	leads := m.Leads()
	if !m.readAt.IsZero() {
		share := 1 - math.Exp(-past.Seconds()/averageOver.Seconds())
		follow(&m.writes, float64(logged-m.logged)/past.Seconds(), share)
		if leads != m.leads { // the requests went elsewhere before
			share = 1
		}
		follow(&m.qps, float64(requests-m.requests)/past.Seconds(), share)
	}
	m.readAt, m.requests, m.logged, m.leads = now, requests, logged, leads
}

// follow moves an average towards a rate, all the way if it is new.
func follow(average *atomic.Uint64, rate, share float64) {
	old := math.Float64frombits(average.Load())
	if old == 0 {
		share = 1
	}
	next := old + share*(rate-old)
	if next < negligible {
		next = 0
	}
	average.Store(math.Float64bits(next))
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
