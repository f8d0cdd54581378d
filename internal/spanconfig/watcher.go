package spanconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// readEvery is the interval between two readings of the configuration, readTimeout the limit
	// of one.
	readEvery   = 3 * time.Second
	readTimeout = 10 * time.Second
	// allSplitsEvery is the time after which all manual splits are read although no node has
	// announced a change: it may have died before it could.
	allSplitsEvery = time.Minute
	// announceEvery is the least time between two announcements of changed splits.
	announceEvery = time.Second
)

// Options say what a Watcher works with.
type Options struct {
	// DB returns the gateway, which New does not use yet.
	DB    func() *kv.DB
	Node  func() kvpb.NodeID
	Clock *hlc.Clock
	// GCTTL takes the place of the built-in default of zones, if it is set.
	GCTTL time.Duration
	// Settings, if set, is called with the stored cluster settings after each reading.
	Settings func(stored map[string]string)
	// Pace bounds all intervals, if it is set: for tests.
	Pace   time.Duration
	Logger *slog.Logger
}

// Watcher reads the configuration of spans again and again and answers from memory.
type Watcher struct {
	o       Options
	now     atomic.Pointer[Config]
	news    chan struct{} // Changed
	reading chan struct{} // held by the goroutine that reads
	// changed says that this node has changed splits and not announced it yet; stale, that
	// it has not read them since.
	changed chan struct{}
	stale   atomic.Bool
}

// NewWatcher returns a Watcher that has read nothing yet.
func NewWatcher(o Options) *Watcher {
	return &Watcher{o: o, news: make(chan struct{}, 1), reading: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
}

// Config returns the configuration as last read, nil before the first reading.
func (w *Watcher) Config() *Config { return w.now.Load() }

// Changed receives something after a reading that found zones or splits to be others than
// before, the first included. One goroutine may wait for it.
func (w *Watcher) Changed() <-chan struct{} { return w.news }

// ReadEvery is the interval between two readings.
func (w *Watcher) ReadEvery() time.Duration { return w.paced(readEvery) }

func (w *Watcher) paced(d time.Duration) time.Duration {
	if w.o.Pace > 0 {
		return min(d, w.o.Pace)
	}
	return d
}

// Run reads the configuration until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	t := time.NewTicker(w.ReadEvery())
	defer t.Stop()
	for {
		if _, err := w.Read(ctx); err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("reading the configuration of spans", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Read reads the configuration and the cluster settings once, and reports whether zones or
// splits are others than before.
func (w *Watcher) Read(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case w.reading <- struct{}{}:
		defer func() { <-w.reading }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	old, now := w.now.Load(), time.Now()
	all := w.stale.Swap(false) || old == nil || now.Sub(old.readAt) >= allSplitsEvery
	var next *Config
	var stored map[string]string
	err = w.o.DB().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		if stored, err = kv.Settings(ctx, t); err != nil {
			return err
		}
		if next, err = readConfig(ctx, t); err != nil {
			return err
		}
		if !all && next.changes == old.changes {
			next.splits, next.readAt = old.splits, old.readAt
			return nil
		}
		next.readAt = now
		next.splits, err = readSplits(ctx, t, allSplits())
		return err
	})
	if err != nil {
		if all {
			w.stale.Store(true)
		}
		return false, err
	}
	w.now.Store(next)
	if w.o.Settings != nil {
		w.o.Settings(stored)
	}
	changed = old == nil || old.stored != next.stored || !maps.Equal(old.splits, next.splits)
	if changed {
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
	return changed, nil
}

// readConfig reads everything but the splits.
func readConfig(ctx context.Context, t *kv.Txn) (*Config, error) {
	c := &Config{}
	spans, err := kv.ZoneSpans(ctx, t)
	if err != nil {
		return nil, err
	}
	if c.zones, err = zone.NewSet(spans); err != nil {
		return nil, err
	}
	stored, err := json.Marshal(spans)
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	c.stored = string(stored)
	if c.protected, err = kv.Protections(ctx, t); err != nil {
		return nil, err
	}
	c.asOf = t.ReadTimestamp()
	c.changes, err = readChanges(ctx, t)
	return c, err
}

// TTL returns how long old versions of the keys in [start, end) must stay readable: the
// longest time that a zone there asks for.
func (w *Watcher) TTL(start, end []byte) time.Duration {
	c := w.now.Load()
	if c == nil { // nothing is collected that a zone might protect
		return max(w.o.GCTTL, *zone.Default().GCTTL)
	}
	return c.ttl(start, end, w.o.GCTTL)
}

// Protected returns the oldest protected time in [start, end), and the time at which that was
// so; both are empty before the first reading, which lets nothing be collected.
func (w *Watcher) Protected(start, end []byte) (asOf, oldest hlc.Timestamp) {
	c := w.now.Load()
	if c == nil {
		return asOf, oldest
	}
	return c.asOf, kv.OldestProtected(c.protected, start, end)
}
