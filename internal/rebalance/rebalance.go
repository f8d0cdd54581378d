package rebalance

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance"
	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/balance/storepool"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/spanconfig"
	"github.com/lichendb/lichen/internal/store"
)

// Pace of the queue. A cluster should be whole again within seconds of a node's coming; a
// failure, of a learner that is not there yet perhaps, is no reason to wait for minutes.
const (
	scanIdle   = 5 * time.Second
	backoffMin = 250 * time.Millisecond
	backoffMax = 15 * time.Second
	// mergeAfter is how long a range must be small and cold before it is merged.
	mergeAfter = 2 * time.Minute
)

// Options say what a Rebalancer works with.
type Options struct {
	Store    *store.Set
	Admin    *rangeops.Admin
	Stats    *rangestats.Collector
	Config   *spanconfig.Watcher
	Stores   *storepool.Pool
	Nodes    storepool.Nodes
	Settings *setting.Live
	Clock    *hlc.Clock
	// Alone: the node is a cluster by itself.
	Alone bool
	// MergeAfter takes the place of its default, if it is set; Pace bounds all intervals, if it
	// is: for tests.
	MergeAfter, Pace time.Duration
	// Seed differs from node to node.
	Seed   uint64
	Logger *slog.Logger
}

// Rebalancer has the ranges that a node leads placed, split and merged as they should be.
type Rebalancer struct {
	o     Options
	queue *balance.Queue // nil on a node by itself
}

// New returns a Rebalancer that does nothing before Run.
func New(o Options) *Rebalancer {
	b := &Rebalancer{o: o}
	if o.MergeAfter == 0 {
		b.o.MergeAfter = mergeAfter
	}
	if !o.Alone {
		b.queue = b.newQueue()
	}
	return b
}

func (b *Rebalancer) newQueue() *balance.Queue {
	o := balance.Options{
		ScanIdle: scanIdle, BackoffMin: backoffMin, BackoffMax: backoffMax, MergeAfter: b.o.MergeAfter, Seed: b.o.Seed,
	}
	b.tune(&o)
	if pace := b.o.Pace; pace > 0 {
		o.ScanIdle, o.ScanBusy, o.MoveInterval, o.LeaveInterval = pace, pace, pace, pace
	}
	return balance.NewQueue(ranges{b}, b.o.Stores, b.o.Admin, o)
}

// Run works until ctx ends.
func (b *Rebalancer) Run(ctx context.Context) {
	if b.o.Alone {
		b.mergeAlone(ctx)
	} else {
		b.place(ctx)
	}
}

// Wake asks for a scan soon, if there is a queue.
func (b *Rebalancer) Wake() {
	if b.queue != nil {
		b.queue.Wake()
	}
}

// Status returns what the queue is at; of a node by itself, nothing.
func (b *Rebalancer) Status() balance.Status {
	if b.queue == nil {
		return balance.Status{}
	}
	return b.queue.Status()
}

// Stats returns what the queue has done; of a node by itself, nothing.
func (b *Rebalancer) Stats() balance.Stats {
	if b.queue == nil {
		return balance.Stats{}
	}
	return b.queue.Stats()
}

// Blocked returns why ranges that this node leads are not where they belong.
func (b *Rebalancer) Blocked() (out []string) {
	s := b.Status()
	for _, r := range s.Blocked {
		out = append(out, fmt.Sprintf("%s (%d ranges, for example range %d)", r.Reason, r.Ranges, r.Example))
	}
	for _, f := range s.Failing {
		out = append(out, fmt.Sprintf("range %d, %d failures in a row: %s", f.Range, f.Failures, f.Error))
	}
	return out
}

// SettingsChanged has the queue follow the cluster settings.
func (b *Rebalancer) SettingsChanged() {
	if b.queue != nil {
		b.queue.Tune(b.tune)
	}
}

// tune makes the cluster settings options of the queue.
func (b *Rebalancer) tune(o *balance.Options) {
	v := b.o.Settings.Get()
	o.Placement = Params(v)
	o.SnapshotRate = v.SnapshotRate
	o.SplitQPS, o.MergeQPS = float64(v.SplitQPS), 0 // its default share
	o.NoMerge, o.MergeInterval = !v.Merge, v.MergeInterval
}

// noLoad is more load than there is: nothing is evened out for it.
const noLoad = math.MaxFloat64

// Params makes the cluster settings parameters of placement.
func Params(v *setting.Values) placement.Params {
	p := placement.DefaultParams()
	p.DeadAfter = v.DeadAfter
	p.Band, p.LoadBand = v.CountBand, v.LoadBand
	p.FullAt, p.RefuseAt = v.DiskFullAt, max(v.DiskFullAt, v.DiskRefuseAt)
	if v.LoadRebalance == setting.RebalanceOff {
		p.MinQPS, p.MinWriteBytes = noLoad, noLoad
	}
	return p
}

// place runs the queue until ctx ends. It begins once the configuration is known.
func (b *Rebalancer) place(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	t := time.NewTicker(b.o.Config.ReadEvery())
	defer t.Stop()
	started := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-b.o.Config.Changed():
			if started {
				b.queue.Wake()
			} else {
				started = true
				running.Go(func() { b.queue.Run(ctx) })
			}
		}
		if err := b.o.Admin.SplitFirstRange(ctx); err != nil && ctx.Err() == nil {
			b.o.Logger.Warn("splitting the first range", "err", err)
		}
	}
}
