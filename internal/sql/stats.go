package sql

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/optimizer"
)

// When and how tables are counted.
const (
	// countAfterRows and countAfterShare: a table is counted again when so many
	// rows, and so large a share of it, have changed.
	countAfterRows  = 500
	countAfterShare = 0.2
	// countInPast is how far in the past a count reads: it then pushes no writer.
	countInPast = time.Second
	// maxCounted bounds the rows that one count reads; a larger table is taken to
	// have as many more as its size on disk says.
	maxCounted = 1_000_000
	// replanFactor is the change of a table's size at which plans are made anew.
	replanFactor = 2
	// maxCountQueue bounds the tables that wait to be counted.
	maxCountQueue = 1024
)

// tableStats keeps the sizes of tables, counted in the background when they have
// changed enough. A table that was never counted has none.
type tableStats struct {
	db       *kv.DB
	spanSize func(start, end []byte) (int64, error)
	log      *slog.Logger
	// epoch rises when plans made before may be bad ones.
	epoch atomic.Uint64

	mu      sync.Mutex
	tables  map[catalog.ID]*tableCount
	queue   []*catalog.Table
	running bool
	closed  bool
	timer   *time.Timer
	wg      sync.WaitGroup // the running drain
	stop    context.CancelFunc
	ctx     context.Context
}

type tableCount struct {
	index   catalog.IndexID // that was counted: TRUNCATE changes it
	rows    float64
	columns map[catalog.ColumnID]*optimizer.ColumnStats
	known   bool
	changed int64
	queued  bool
}

var _ optimizer.StatsSource = (*tableStats)(nil)

func newTableStats(db *kv.DB, spanSize func(start, end []byte) (int64, error), log *slog.Logger) *tableStats {
	s := &tableStats{db: db, spanSize: spanSize, log: log, tables: map[catalog.ID]*tableCount{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Stats implements optimizer.StatsSource.
func (s *tableStats) Stats(t *catalog.Table) *optimizer.TableStats {
	if t.Kind != catalog.KindTable {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.tables[t.ID]
	if c == nil || !c.known || c.index != t.Primary().ID {
		s.enqueueLocked(t)
		return nil
	}
	return c.optimizerStats()
}

// note tells that a committed or running statement has changed n rows of t.
func (s *tableStats) note(t *catalog.Table, n int64) {
	if n == 0 || t.Kind != catalog.KindTable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.countLocked(t)
	c.changed += n
	if c.changed >= countAfterRows && float64(c.changed) >= countAfterShare*c.rows {
		s.enqueueLocked(t)
	}
}

func (s *tableStats) countLocked(t *catalog.Table) *tableCount {
	c := s.tables[t.ID]
	if c == nil {
		c = &tableCount{}
		s.tables[t.ID] = c
	}
	return c
}

func (s *tableStats) enqueueLocked(t *catalog.Table) {
	c := s.countLocked(t)
	if c.queued || s.closed || len(s.queue) >= maxCountQueue {
		return
	}
	c.queued = true
	s.queue = append(s.queue, t)
	if !s.running {
		s.running = true
		s.wg.Add(1)
		// By then what is counted is visible in the past.
		s.timer = time.AfterFunc(countInPast, func() { s.drain(); s.wg.Done() })
	}
}

// drain counts the tables in the queue, then ends.
func (s *tableStats) drain() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.closed {
			s.running = false
			s.mu.Unlock()
			return
		}
		t := s.queue[0]
		s.queue = s.queue[1:]
		c := s.tables[t.ID]
		c.queued, c.changed = false, 0
		s.mu.Unlock()
		rows, cols, err := s.count(s.ctx, t)
		if err != nil {
			s.log.Info("count rows", "table", t.Name, "err", err) // the next change tries again
			continue
		}
		s.set(t, rows, cols)
	}
}

func (s *tableStats) set(t *catalog.Table, rows float64, cols map[catalog.ColumnID]*optimizer.ColumnStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.tables[t.ID]
	old := c.rows
	if !c.known {
		old = optimizer.DefaultRows
	}
	first := !c.known
	c.rows, c.columns, c.known, c.index = rows, cols, true, t.Primary().ID
	if first || rows > replanFactor*old || old > replanFactor*rows {
		s.epoch.Add(1)
	}
}

// count returns the number of rows of t a moment ago, and what its columns hold.
func (s *tableStats) count(ctx context.Context, t *catalog.Table) (float64, map[catalog.ColumnID]*optimizer.ColumnStats, error) {
	sm, err := newSample(t)
	if err != nil {
		return 0, nil, err
	}
	prefix := keys.IndexPrefix(uint64(t.Database), uint64(t.ID), uint64(t.Primary().ID))
	start, end := prefix, keys.PrefixEnd(prefix)
	now := s.db.Clock().PhysicalNow()
	txn := s.db.Begin(kv.TxnOptions{ReadOnly: true, AsOf: hlc.Timestamp{WallTime: now - int64(countInPast)}})
	txn.BeginStatement()
	defer txn.Rollback(ctx)
	var page kv.ScanResult
	reader := exec.Rows(txn, sm.index)
	rows := 0
	for key := start; key != nil && rows < maxCounted; key = page.Resume {
		if err := reader.Scan(ctx, key, end, kv.ScanOptions{}, &page); err != nil {
			return 0, nil, err
		}
		if err := sm.add(&page); err != nil {
			return 0, nil, err
		}
		rows += page.Len()
	}
	total, err := s.extrapolate(start, page.Resume, end, float64(rows))
	return total, sm.columns(total), err
}

// extrapolate estimates the rows in [start, end) from those in [start, resume).
func (s *tableStats) extrapolate(start, resume, end []byte, rows float64) (float64, error) {
	if resume == nil || s.spanSize == nil {
		return rows, nil
	}
	part, err := s.spanSize(start, resume)
	if err != nil {
		return 0, err
	}
	whole, err := s.spanSize(start, end)
	if err != nil || part <= 0 || whole <= part {
		return rows, err
	}
	return rows * float64(whole) / float64(part), nil
}

// close ends the counting and waits for it.
func (s *tableStats) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil && s.timer.Stop() {
		s.wg.Done()
	}
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
}
