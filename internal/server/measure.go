package server

import (
	"context"
	"math"
	"sync"
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
	// quiescedRounds is after how many rounds a replica is measured although it rests: a
	// safeguard, since whatever happens to it wakes it or touches it.
	quiescedRounds = 60
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
	changing atomic.Bool // somebody here is changing its replicas
	touched  atomic.Bool // somebody has asked since it was measured
	node     *measurements

	// The rest belongs to the measuring goroutine.
	hot      bool                  // to be measured in each round: it does not rest, is asked for, or its size is not known
	counted  bool                  // among the leaders of its store
	noticed  *kvpb.RangeDescriptor // by placing
	sized    sizing
	requests int64
	logged   int64
	readAt   time.Time
	leads    bool // at the last reading
}

var _ kvpb.Sender = (*measured)(nil)

// record counts a request to key.
func (m *measured) record(key []byte) {
	if !m.touched.Load() && m.touched.CompareAndSwap(false, true) {
		m.node.touch(m)
	}
	m.load.Record(key)
}

// Get implements kvpb.Sender.
func (m *measured) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	m.record(req.Key)
	return m.Replica.Get(ctx, req, resp)
}

// Scan implements kvpb.Sender.
func (m *measured) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	m.record(req.Start)
	return m.Replica.Scan(ctx, req, resp)
}

// Lock implements kvpb.Sender.
func (m *measured) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	m.record(req.Key)
	return m.Replica.Lock(ctx, req, resp)
}

// LockMany implements kvpb.Sender.
func (m *measured) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	m.record(req.Keys[0])
	return m.Replica.LockMany(ctx, req, resp)
}

// Commit implements kvpb.Sender.
func (m *measured) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if len(req.Writes) > 0 {
		m.record(req.Writes[0].Key)
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
	mu         sync.Mutex
	touched    []*measured // since the last round
	// The rest belongs to the measuring goroutine: samples by store, and what may be read for
	// sizes.
	samples map[*store.Store]*storeSample
	budget  int
}

// touch hears of the first request to a replica since it was measured.
func (n *measurements) touch(m *measured) {
	n.mu.Lock()
	n.touched = append(n.touched, m)
	n.mu.Unlock()
}

// takeTouched returns the replicas somebody has asked since the last round.
func (n *measurements) takeTouched() []*measured {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.touched
	n.touched = nil
	return list
}

// storeSample is the replicas of a store as the last round found them: thousands may be at
// rest, and a round costs what the others do.
type storeSample struct {
	n       int
	all     []*replica.Replica // as of the last round
	hot     []*measured
	leaders int
}

// begin notes which replicas of a store this round measures: those that the last one found
// not to rest, those that were woken since, and a part of the others.
func (r *storeSample) begin(n *Node, st *store.Store) {
	all := st.Replicas()
	woken, complete := st.Woken()
	if len(all) != len(r.all) || len(all) > 0 && &all[0] != &r.all[0] { // a list that has changed is another one
		r.renew(n, all)
	}
	if !complete {
		woken = all
	}
	for _, w := range woken {
		r.schedule(st, n.measured.of(w))
	}
	k := r.n % quiescedRounds
	for _, w := range all[len(all)*k/quiescedRounds : len(all)*(k+1)/quiescedRounds] {
		r.schedule(st, n.measured.of(w))
	}
	r.n++
}

// renew takes over another list of replicas. Those that are gone are forgotten.
func (r *storeSample) renew(n *Node, all []*replica.Replica) {
	r.all, r.hot, r.leaders = all, r.hot[:0], 0
	for _, a := range all {
		m := n.measured.of(a)
		if m.noticed == nil { // new
			m.hot = true
		}
		if m.hot {
			r.hot = append(r.hot, m)
		}
		if m.counted {
			r.leaders++
		}
	}
}

// schedule has a replica measured in this round, if the store still has it, with data.
func (r *storeSample) schedule(st *store.Store, m *measured) {
	if is, ok := st.Replica(m.RangeID()); m.hot || !ok || is != m.Replica || !is.Initialized() {
		return
	}
	m.hot = true
	r.hot = append(r.hot, m)
}

// of returns the measurements of a replica.
func (n *measurements) of(r *replica.Replica) *measured {
	if m, ok := r.UserData().(*measured); ok {
		return m
	}
	m, _ := r.SetUserData(&measured{Replica: r, node: n}).(*measured)
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
	n.measured.budget = min(sizesPerRound, n.measured.budget+sizesPerRound)
	for _, m := range n.measured.takeTouched() {
		if st := n.store.Of(m.Replica); n.measured.samples[st] != nil {
			n.measured.samples[st].schedule(st, m)
		}
	}
	for i, st := range n.store.Stores() {
		if st.Identity() != (store.Identity{}) {
			infos = append(infos, n.measureStore(ctx, st, &n.cfg.Stores[i], now, &n.measured.budget))
		}
	}
	n.measured.stores.Store(&infos)
	n.measured.seq.Add(1)
}

// measureStore measures a store and its replicas; budget is how many bytes may be read for
// their sizes.
func (n *Node) measureStore(ctx context.Context, st *store.Store, cfg *config.Store, now time.Time, budget *int) liveness.StoreInfo {
	r := n.measured.samples[st]
	if r == nil {
		r = &storeSample{}
		n.measured.samples[st] = r
	}
	r.begin(n, st)
	s := liveness.StoreInfo{ID: st.Identity().Store, Ranges: len(r.all)}
	s.CapacityBytes, s.UsedBytes = capacity(st, cfg)
	s.OwnBytes = ownBytes(st)
	flushes := flushesOf(st.Engine())
	kept := r.hot[:0]
	for _, m := range r.hot {
		was := m.counted
		m.hot = !n.measureReplica(ctx, st, flushes, m, now, budget)
		if m.hot {
			kept = append(kept, m)
		}
		if was {
			r.leaders--
		}
		s.WriteBytesPerSec += m.writeRate()
		if m.counted {
			r.leaders++
			s.QPS += m.rate()
		}
	}
	clear(r.hot[len(kept):])
	r.hot = kept
	s.Leaders = r.leaders
	return s
}

// measureReplica measures a replica. idle: it is quiesced, nobody asks for it and its size is
// known, so that the next rounds may pass it over until it is woken or asked.
func (n *Node) measureReplica(ctx context.Context, st *store.Store, flushes int64, m *measured, now time.Time, budget *int) (idle bool) {
	quiesced, led := m.Quiesced()
	m.touched.Store(false)
	if d := m.Desc(); d != m.noticed {
		m.noticed = d
		n.placing.notice(d)
	}
	m.measureRate(now)
	sized := n.measureSize(st.Engine(), flushes, m, now, budget)
	m.counted = m.Leads()
	idle = quiesced && led == m.counted && sized && m.rate() == 0 && m.writeRate() == 0 && !m.Desc().Changing()
	if !m.counted {
		m.Reclaim()
		return idle
	}
	n.endMerge(ctx, m)
	if len(m.Desc().Replicas) > 1 {
		m.Progress(func(list []replica.FollowerProgress) { m.progress.Store(&list) })
	}
	return idle
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
