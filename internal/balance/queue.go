package balance

import (
	"context"
	"math/rand/v2"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Queue finds and does what the ranges led by this node need.
type Queue struct {
	tuned   atomic.Pointer[Options]
	ranges  Ranges
	stores  Stores
	changer Changer
	wake    chan struct{}

	mu       sync.Mutex
	pacer    pacer
	waiting  []*task // by priority
	running  map[kvpb.RangeID]*task
	failed   map[kvpb.RangeID]*failure
	noMerge  map[kvpb.RangeID]time.Time // until when
	stable   map[kvpb.RangeID]stability
	made     []madeMove
	drawn    map[kvpb.StoreID]time.Time // Store.Measured when myTurn drew last
	rng      *rand.Rand
	lastScan time.Time
	nextScan time.Time
	woken    bool // since the last scan
	seen     survey
	states   uint64 // of the stores at the last scan
	idle     idleState
	stats    Stats
}

// failure is what is known about tasks of a range that failed in a row.
type failure struct {
	n     int
	err   error
	until time.Time
}

// madeMove is an action that measurements of stores may not show yet.
type madeMove struct {
	at     time.Time
	r      placement.Range
	action placement.Action
}

// NewQueue makes a queue that does nothing until Step or Run is called.
func NewQueue(ranges Ranges, stores Stores, changer Changer, opts Options) *Queue {
	opts.fill()
	q := &Queue{ranges: ranges, stores: stores, changer: changer,
		wake: make(chan struct{}, 1), running: map[kvpb.RangeID]*task{}, failed: map[kvpb.RangeID]*failure{},
		noMerge: map[kvpb.RangeID]time.Time{}, stable: map[kvpb.RangeID]stability{}, drawn: map[kvpb.StoreID]time.Time{}, rng: rand.New(rand.NewPCG(opts.Seed, 1))}
	q.tuned.Store(&opts)
	q.pacer.opts = q.opts
	return q
}

// Tune changes the options. What has begun goes on under the earlier ones.
func (q *Queue) Tune(change func(*Options)) {
	o := *q.opts()
	change(&o)
	o.fill()
	q.tuned.Store(&o)
	q.Wake()
}

func (q *Queue) opts() *Options { return q.tuned.Load() }

// Wake asks for a scan soon: a configuration, a store or a range has changed.
func (q *Queue) Wake() {
	q.mu.Lock()
	q.nextScan, q.woken = time.Time{}, true
	q.mu.Unlock()
	q.signal()
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Step scans if that is due and then performs, one after the other, the tasks that
// may start now. It returns how many it performed and when to call it next.
func (q *Queue) Step(ctx context.Context) (done int, next time.Time) {
	q.scanIfDue(time.Now())
	for ctx.Err() == nil {
		t, again := q.next(time.Now())
		if t == nil {
			return done, again
		}
		q.finish(ctx, t, q.perform(ctx, t))
		done++
	}
	return done, time.Now()
}

// Run works until ctx ends, and returns when its last task has.
func (q *Queue) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-q.wake:
		}
		q.scanIfDue(time.Now())
		for ctx.Err() == nil {
			t, again := q.next(time.Now())
			if t == nil {
				// Not longer than ScanBusy, to notice when the state of a store changes.
				timer.Reset(min(max(time.Until(again), time.Millisecond), q.opts().ScanBusy))
				break
			}
			tasks.Go(func() {
				q.finish(ctx, t, q.perform(ctx, t))
				q.signal()
			})
		}
	}
}

// picture is what is known of the stores, with the moves that this node made since
// they were measured.
func (q *Queue) picture(now time.Time) *placement.Cluster {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pictureLocked(now)
}

func (q *Queue) pictureLocked(now time.Time) *placement.Cluster {
	stores := q.stores.Stores()
	c := placement.NewCluster(now, stores, q.opts().Placement)
	measured := make(map[kvpb.StoreID]time.Time, len(stores))
	for i := range stores {
		measured[stores[i].ID] = stores[i].Measured
	}
	kept := q.made[:0]
	for _, m := range q.made {
		if now.Sub(m.at) <= overlayMaxAge && c.ApplySince(&m.r, m.action, func(s kvpb.StoreID) bool { return measured[s].Before(m.at) }) {
			kept = append(kept, m)
		}
	}
	clear(q.made[len(kept):])
	q.made = kept
	for _, t := range q.running {
		c.Apply(&t.info.Range, t.action)
	}
	return c
}

// scanIfDue looks at all led ranges when it is time or the state of a store changed.
func (q *Queue) scanIfDue(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.pictureLocked(now)
	if states := c.StateSum(); now.Before(q.nextScan) && states == q.states {
		return
	} else if q.states = states; now.Sub(q.lastScan) < minRescan {
		q.nextScan = q.lastScan.Add(minRescan)
		return
	}
	if q.isIdle(c, now) {
		q.nextScan = now.Add(q.opts().ScanIdle)
		return
	}
	q.woken = false
	q.seen = survey{blocked: map[string]*BlockedRanges{}}
	clear(q.waiting)
	q.waiting = q.waiting[:0]
	led := q.ranges.Led()
	for i := range led {
		q.observe(&led[i], now)
		if t := q.consider(c, &led[i], &q.seen); t != nil && q.rested(t.id, now) && q.running[t.id] == nil {
			q.waiting = append(q.waiting, t)
		}
	}
	sort.SliceStable(q.waiting, func(i, j int) bool { return q.waiting[i].priority > q.waiting[j].priority })
	q.forget(now)
	q.lastScan = now
	q.nextScan = now.Add(q.opts().ScanIdle)
	q.idle.sum, q.idle.many = c.IdleSum()
	q.idle.many = q.idle.many && len(led) >= idleFrom && len(q.running)+len(q.waiting)+len(q.failed) == 0 && !q.seen.work()
	if len(q.running) > 0 || q.seen.busy || len(q.waiting) > 0 && !q.waiting[0].merge {
		q.nextScan = now.Add(q.opts().ScanBusy)
	}
	q.stats.Scans++
	q.stats.ScanTime += time.Since(now)
}

// idleState is how the cluster was when a scan found nothing to do.
type idleState struct {
	many bool // there was nothing, of many ranges
	sum  uint64
}

// isIdle reports whether a scan that is due may wait: the last one looked at many ranges and
// found nothing to do, nobody asks for anything and the stores have what they had. The
// caller holds q.mu.
func (q *Queue) isIdle(c *placement.Cluster, now time.Time) bool {
	if !q.idle.many || q.woken || now.Sub(q.lastScan) >= idleScans*q.opts().ScanIdle {
		return false
	}
	sum, idle := c.IdleSum()
	return idle && sum == q.idle.sum
}

func (q *Queue) rested(id kvpb.RangeID, now time.Time) bool {
	f := q.failed[id]
	return f == nil || !now.Before(f.until)
}

// forget drops what is remembered of ranges and no longer matters.
func (q *Queue) forget(now time.Time) {
	for id, t := range q.noMerge {
		if !now.Before(t) {
			delete(q.noMerge, id)
		}
	}
	for id, c := range q.stable {
		if c.scan != q.stats.Scans {
			delete(q.stable, id)
		}
	}
	for id, f := range q.failed {
		if now.Sub(f.until) > 2*q.opts().BackoffMax {
			delete(q.failed, id)
		}
	}
}

// next takes the first waiting task that may start and still is what its range
// needs; else it says when to look again.
func (q *Queue) next(now time.Time) (*task, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again := q.nextScan
	if len(q.waiting) == 0 {
		return nil, again
	}
	c := q.pictureLocked(now)
	for i := 0; i < len(q.waiting); i++ {
		hint := q.waiting[i]
		ok, at := q.pacer.admit(hint, now)
		if !ok {
			if !at.IsZero() && at.Before(again) {
				again = at
			}
			if q.pacer.full() {
				break
			}
			continue // tasks of another kind may still start
		}
		q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
		i--
		if t := q.refresh(c, hint, now); t != nil {
			must.True(q.running[t.id] == nil, "balance invariant 1: two tasks for range %d", t.id)
			q.running[t.id] = t
			q.pacer.start(t, now)
			return t, time.Time{}
		}
	}
	return nil, again
}

// refresh decides afresh about the range of a task whose turn has come.
func (q *Queue) refresh(c *placement.Cluster, hint *task, now time.Time) *task {
	r, ok := q.ranges.Get(hint.id)
	if !ok || q.running[hint.id] != nil || !q.rested(hint.id, now) {
		return nil
	}
	var sv survey
	sv.blocked = map[string]*BlockedRanges{}
	t := q.consider(c, &r, &sv)
	if t == nil {
		return nil
	}
	if ok, _ := q.pacer.admit(t, now); !ok {
		return nil // something else by now; the next scan finds it
	}
	if t.class == placement.Balance && t.action.Headroom > 0 && !q.myTurn(c, t.action) {
		return nil
	}
	return t
}

// myTurn reports whether this node should be the one to act on an imbalance, which
// all nodes see alike: of the actions that are of use until the receiver is measured
// again each node makes its share, and draws whether it makes one if that is less.
func (q *Queue) myTurn(c *placement.Cluster, a placement.Action) bool {
	to, ok := c.Store(a.To.Store)
	if !ok {
		return false
	}
	made := 0
	for _, m := range q.made {
		if m.action.Kind != placement.None && m.action.To.Store == to.ID && to.Measured.Before(m.at) {
			made++
		}
	}
	for _, t := range q.running {
		if t.action.Kind != placement.None && t.action.To.Store == to.ID {
			made++
		}
	}
	share := (a.Headroom + float64(made)) / float64(max(1, c.Nodes()))
	if share >= float64(made+1) {
		return true
	}
	if drawn, ok := q.drawn[to.ID]; made > 0 || ok && drawn.Equal(to.Measured) {
		return false
	}
	q.drawn[to.ID] = to.Measured
	return q.rng.Float64() < share
}

// finish notes how a task went.
func (q *Queue) finish(ctx context.Context, t *task, err error) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, t.id)
	q.pacer.done(t, now)
	if err != nil {
		if ctx.Err() != nil {
			return // the node stops
		}
		f := q.failed[t.id]
		if f == nil {
			f = &failure{}
			q.failed[t.id] = f
		}
		f.n++
		f.err = err
		f.until = now.Add(min(q.opts().BackoffMin<<min(f.n-1, 20), q.opts().BackoffMax))
		q.stats.Failures++
		return
	}
	delete(q.failed, t.id)
	if t.action.Kind != placement.None {
		q.stats.Actions[t.action.Kind]++
		q.stats.SnapshotBytes += uint64(t.copies())
		q.made = append(q.made, madeMove{at: now, r: t.info.Range, action: t.action})
	}
	if len(q.waiting) == 0 {
		q.nextScan = now // there may be a next step
	}
}
