package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
)

// firstRange is the range of the meta records.
const firstRange kvpb.RangeID = 1

// Pace of the queue. A cluster should be whole again within seconds of a node's
// coming; a failure, of a learner that is not there yet perhaps, is no reason to
// wait for minutes.
const (
	queueScanIdle   = 5 * time.Second
	queueBackoffMin = 250 * time.Millisecond
	queueBackoffMax = 15 * time.Second
)

// placing is what places the replicas of the ranges that this node leads.
type placing struct {
	queue *balance.Queue

	mu   sync.Mutex
	seen map[kvpb.NodeID]*sighting
	lost lostStores
}

// sighting is when something was last heard of a node.
type sighting struct {
	life     int64
	seq      uint64
	measured time.Time
	live     bool
	since    time.Time
	draining bool // as it said last
	// failures counts how often it went silent of late without having said that it
	// would stop; it is suspect for a while after each time.
	failures     int
	suspectUntil time.Time
}

// A store whose node went silent gets nothing new for suspectMin after it is back, for
// longer if it goes silent again and again; suspectMemory after the last time that is
// forgotten.
const (
	suspectMin    = 10 * time.Second
	suspectMax    = 5 * time.Minute
	suspectMemory = 15 * time.Minute
)

func (n *Node) newQueue() *balance.Queue {
	o := balance.Options{
		ScanIdle: queueScanIdle, BackoffMin: queueBackoffMin, BackoffMax: queueBackoffMax,
		MergeAfter: queueMergeAfter, Seed: uint64(n.NodeID()) ^ uint64(n.life),
	}
	n.tune(&o)
	if n.cfg.MergeAfter > 0 {
		o.MergeAfter = n.cfg.MergeAfter
	}
	if pace := n.cfg.RangePace; pace > 0 {
		o.ScanIdle, o.ScanBusy, o.MovePause, o.LeavePause = pace, pace, pace, pace
	}
	return balance.NewQueue(led{n}, stores{n}, changer{n}, o)
}

func (n *Node) placementParams() placement.Params {
	p, v := placement.DefaultParams(), n.settings.Get()
	p.DeadAfter = v.DeadAfter
	p.Band, p.LoadBand = v.CountBand, v.LoadBand
	p.FullAt, p.RefuseAt = v.DiskFullAt, max(v.DiskFullAt, v.DiskRefuseAt)
	if v.LoadRebalance == setting.RebalanceOff {
		p.MinQPS, p.MinWriteBytes = noLoad, noLoad
	}
	return p
}

// startRanges begins to measure ranges and, in a cluster, to place their replicas.
func (n *Node) startRanges(ctx context.Context) error {
	n.background.Go(func() { n.measureLoop(ctx) })
	n.background.Go(func() { n.noteBorders(ctx) })
	if n.cfg.SingleNode {
		n.background.Go(func() { n.followRules(ctx) })
		n.background.Go(func() { n.mergeAlone(ctx) })
		return nil
	}
	if err := n.again(ctx, "the first range", n.splitFirstRange); err != nil {
		return fmt.Errorf("splitting the first range: %w", err)
	}
	n.background.Go(func() { n.checkLoop(ctx) })
	n.placing.queue = n.newQueue()
	n.background.Go(func() { n.place(ctx) })
	return nil
}

// paced is a pause, but for tests that have it shortened.
func (n *Node) paced(d time.Duration) time.Duration {
	if n.cfg.RangePace > 0 {
		return min(d, n.cfg.RangePace)
	}
	return d
}

// place runs the queue until ctx ends. It begins once the placement rules are known.
func (n *Node) place(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	t := time.NewTicker(n.paced(rulesEvery))
	defer t.Stop()
	started := false
	for {
		changed, err := n.loadRules(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.log.Warn("reading the placement rules", "err", err)
		case !started:
			started = true
			running.Go(func() { n.placing.queue.Run(ctx) })
		case changed:
			n.placing.queue.Wake()
		}
		if err := n.splitFirstRange(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("splitting the first range", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// led implements balance.Ranges.
type led struct{ n *Node }

// Led implements balance.Ranges.
func (l led) Led() []balance.RangeInfo {
	var out []balance.RangeInfo
	for _, r := range l.n.store.Replicas() {
		if r.Leads() {
			out = append(out, l.n.rangeInfo(r))
		}
	}
	return out
}

// Get implements balance.Ranges.
func (l led) Get(id kvpb.RangeID) (balance.RangeInfo, bool) {
	r, ok := l.n.store.Replica(id)
	if !ok || !r.Leads() {
		return balance.RangeInfo{}, false
	}
	return l.n.rangeInfo(r), true
}

// Right implements balance.Ranges.
func (l led) Right(ctx context.Context, id kvpb.RangeID) (balance.RangeInfo, bool) {
	return l.n.rightOf(ctx, id)
}

// rangeInfo says what is known of a range that is led here.
func (n *Node) rangeInfo(r *replica.Replica) balance.RangeInfo {
	m, d, rules := n.measured.of(r), r.Desc(), n.rules.now.Load()
	cfg, _ := rules.zones.At(d.StartKey)
	i := balance.RangeInfo{
		Range: placement.Range{
			Desc: d, Leader: n.store.Of(r).Identity().Store, Size: m.size.Load(), QPS: m.rate(), WriteBytes: m.writeRate(),
			Progress: n.followers(m),
		},
		Zone: &cfg, NoSplit: d.RangeID == firstRange,
		Borders:    rules.zones.Borders(d.StartKey, d.EndKey),
		FixedStart: rules.fixed(d.StartKey, n.clock.Now()), FixedEnd: rules.fixed(d.EndKey, n.clock.Now()),
	}
	if n.settings.Get().SplitByLoad {
		i.Load = &m.load
	}
	if until, ok := rules.borders[string(d.StartKey)]; ok {
		i.SplitUntil = time.Unix(0, until.WallTime)
	}
	return i
}

// stores implements balance.Stores.
type stores struct{ n *Node }

// Stores implements balance.Stores.
func (s stores) Stores() []placement.Store {
	n, now := s.n, time.Now()
	n.placing.mu.Lock()
	defer n.placing.mu.Unlock()
	var out []placement.Store
	for _, i := range n.nodeInfos() {
		live, heard := true, now
		if i.ID != n.NodeID() {
			live, heard = n.live.Live(i.ID), n.live.LastHeard(i.ID)
		}
		at := n.placing.sight(&i, live, heard, now)
		for _, st := range i.Stores {
			p := placement.Store{
				ID: st.ID, Node: i.ID, Locality: tiers(i.Locality), Draining: i.Draining || st.Stalled || st.Full, Decommissioning: i.Decommissioning, Slow: st.Slow,
				State: placement.Live, Since: at.since, Measured: at.measured,
				Capacity: placement.Capacity{
					Total: st.CapacityBytes, Used: st.UsedBytes, Ranges: st.Ranges, Leaders: st.Leaders,
					QPS: st.QPS, WriteBytes: st.WriteBytesPerSec,
				},
			}
			switch {
			case i.Removed:
				p.State = placement.Gone
			case !at.live:
				p.State = placement.Down
			case now.Before(at.suspectUntil):
				p.State = placement.Suspect
			}
			out = append(out, p)
		}
	}
	return n.placing.lost.appendTo(out, now)
}

// sight notes what is heard of a node now. The caller holds p.mu.
func (p *placing) sight(i *liveness.NodeInfo, live bool, heard, now time.Time) *sighting {
	if p.seen == nil {
		p.seen = map[kvpb.NodeID]*sighting{}
	}
	s := p.seen[i.ID]
	if s == nil {
		s = &sighting{live: live, since: now}
		p.seen[i.ID] = s
	}
	if s.life != i.Life || s.seq != i.Seq || s.measured.IsZero() {
		s.life, s.seq, s.measured = i.Life, i.Seq, now
	}
	if s.live != live {
		s.change(live, heard, now)
	}
	if live {
		s.draining = i.Draining
	}
	return s
}

// change notes that a node went silent or is back.
func (s *sighting) change(live bool, heard, now time.Time) {
	if live && s.failures > 0 {
		s.suspectUntil = now.Add(min(suspectMin<<min(s.failures-1, 10), suspectMax))
	}
	if !live && now.Sub(s.suspectUntil) > suspectMemory {
		s.failures = 0
	}
	if !live && !s.draining {
		s.failures++
	}
	s.live, s.since = live, now
	if !live && !heard.IsZero() {
		s.since = heard
	}
}

// tiers reads a locality for placement.
func tiers(locality string) []placement.Tier {
	var out []placement.Tier
	for k, v := range zone.Tiers(locality) {
		out = append(out, placement.Tier{Key: k, Value: v})
	}
	return out
}
