package rangestats

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// minBetween is the least time between two readings of a counter that give a rate.
	minBetween = measureEvery / 2
	// averageOver is the time constant of rates: one second with many requests is no reason to move
	// anything.
	averageOver = 8 * time.Second
	// negligible is the rate per second that counts as none.
	negligible = 0.01
)

// Stats is a replica with the measurements of its range. As a kvpb.Sender it counts the requests that it
// passes on to the replica.
type Stats struct {
	*replica.Replica
	// Load samples the requests, to find a key that halves them.
	Load balance.LoadSplitter

	collector *Collector
	size      atomic.Int64
	progress  atomic.Pointer[[]replica.FollowerProgress]
	touched   atomic.Bool // there was a request since the last measurement

	// The rest belongs to the collecting goroutine, but for the rates of qps and writes.
	qps, writes rate                  // requests; bytes that go into the log
	hot         bool                  // to be measured in each round
	counted     bool                  // among the leaders of its store
	noticed     *kvpb.RangeDescriptor // that OnDescriptor was called with
	sized       sizing
	readAt      time.Time
	leads       bool // at the last reading
}

var _ kvpb.Sender = (*Stats)(nil)

// Size is the size of the range's rows in bytes, as last measured.
func (s *Stats) Size() int64 { return s.size.Load() }

// Grow adds to the size until it is measured again.
func (s *Stats) Grow(bytes int64) { s.size.Add(bytes) }

// QPS is the number of requests that the replica serves per second.
func (s *Stats) QPS() float64 { return s.qps.perSecond() }

// WriteBytes is the number of bytes per second that are written to the replica.
func (s *Stats) WriteBytes() float64 { return s.writes.perSecond() }

// Followers returns how far the followers of a range that is led here were at the last
// measurement, nil before the first.
func (s *Stats) Followers() []replica.FollowerProgress {
	if list := s.progress.Load(); list != nil {
		return *list
	}
	return nil
}

// AskFollowers has Followers renewed, a moment later.
func (s *Stats) AskFollowers() {
	s.Progress(func(list []replica.FollowerProgress) { s.progress.Store(&list) })
}

// record counts a request to key.
func (s *Stats) record(key []byte) {
	if !s.touched.Load() && s.touched.CompareAndSwap(false, true) {
		s.collector.touch(s)
	}
	s.Load.Record(key)
}

// Get implements kvpb.Sender.
func (s *Stats) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	s.record(req.Key)
	return s.Replica.Get(ctx, req, resp)
}

// Scan implements kvpb.Sender.
func (s *Stats) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	s.record(req.Start)
	return s.Replica.Scan(ctx, req, resp)
}

// Lock implements kvpb.Sender.
func (s *Stats) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	s.record(req.Key)
	return s.Replica.Lock(ctx, req, resp)
}

// LockMany implements kvpb.Sender.
func (s *Stats) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	s.record(req.Keys[0])
	return s.Replica.LockMany(ctx, req, resp)
}

// Commit implements kvpb.Sender.
func (s *Stats) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if len(req.Writes) > 0 {
		s.record(req.Writes[0].Key)
	}
	return s.Replica.Commit(ctx, req, resp)
}

// measureRates reads the replica's counters.
func (s *Stats) measureRates(now time.Time) {
	c := s.Stats()
	requests := c.Gets.Load() + c.Scans.Load() + c.Locks.Load() + c.Commits.Load()
	past := now.Sub(s.readAt)
	if past < minBetween {
		return
	}
	logged := c.LogBytes.Load()
	if !s.readAt.IsZero() && s.qps.idle(requests) && s.writes.idle(logged) {
		s.readAt = now // as most of thousands of replicas do
		return
	}
	leads := s.Leads()
	if s.readAt.IsZero() {
		s.qps.count, s.writes.count = requests, logged
	} else {
		s.writes.follow(logged, past, false)
		s.qps.follow(requests, past, leads != s.leads) // before, the requests went elsewhere
	}
	s.readAt, s.leads = now, leads
}

// rate is an average of what a counter grows by in a second.
type rate struct {
	bits  atomic.Uint64 // of the float64
	count int64         // at the last reading
}

func (r *rate) perSecond() float64 { return math.Float64frombits(r.bits.Load()) }

// idle reports whether the counter stands still and the average has come to nothing.
func (r *rate) idle(count int64) bool { return count == r.count && r.bits.Load() == 0 }

// follow moves the average towards what the counter grew by in a time: all the way if the
// average is new, or what came before says nothing.
func (r *rate) follow(count int64, past time.Duration, anew bool) {
	share := 1 - math.Exp(-past.Seconds()/averageOver.Seconds())
	old := r.perSecond()
	if old == 0 || anew {
		share = 1
	}
	next := old + share*(float64(count-r.count)/past.Seconds()-old)
	if next < negligible {
		next = 0
	}
	r.bits.Store(math.Float64bits(next))
	r.count = count
}
