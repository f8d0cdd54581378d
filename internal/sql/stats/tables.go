package stats

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/optimizer/distribution"
)

// When tables are analysed without ANALYZE.
const (
	// collectAfterRows and collectAfterShare: a table is analysed again when so many
	// rows, and so large a share of it, have changed.
	collectAfterRows  = 500
	collectAfterShare = 0.2
	// collectEvery is the least time from one collection of a table to the next, unless
	// its size has changed by sizeFactor since.
	collectEvery = time.Minute
	sizeFactor   = 2
	// collectInPast is how far in the past a collection reads: it then pushes no writer.
	collectInPast = time.Second
	// maxCollectQueue bounds the tables that wait for a collection.
	maxCollectQueue = 1024
	// loadTimeout is how long the first session waits for the stored statistics;
	// followBackoff passes before a node that has lost the feed of them reads all again.
	loadTimeout   = 5 * time.Second
	followBackoff = 5 * time.Second
)

// Config is what Tables are made of.
type Config struct {
	DB      *kv.DB
	Catalog *catalog.Store
	Logger  *slog.Logger
	// SizeHere returns the bytes that a key span takes on this node's disk, SizeInCluster an
	// estimate of what it takes in the cluster. Either may be nil.
	SizeHere      func(start, end []byte) (int64, error)
	SizeInCluster func(ctx context.Context, span keys.Span) (int64, error)
	// Automatic reports whether tables are analysed without being asked to.
	Automatic func() bool
	// Busy reports whether sessions run statements, which analyses in the background then leave most of the processors to;
	// nil: none do.
	Busy func() bool
}

// Tables is what a node knows of the contents of tables: the statistics that are
// stored, which it follows, and how many rows have changed here since they were
// collected. It has tables analysed in the background when they have changed enough.
type Tables struct {
	Config
	sizes tableSizes
	// past and every are collectInPast and collectEvery but in tests.
	past, every time.Duration
	epoch       atomic.Uint64

	mu     sync.Mutex
	tables map[catalog.ID]*tableContents
	queue  []collection
	wake   chan struct{} // the queue has changed
	busy   bool          // somebody works on the queue
	closed bool
	wg     sync.WaitGroup
	ctx    context.Context
	stop   context.CancelFunc
	// following and loaded say that the stored statistics are followed, and are there.
	following sync.Once
	loaded    chan struct{}
}

// tableContents is what is known of one table.
type tableContents struct {
	stored *catalog.Statistics // nil if there are none
	at     hlc.Timestamp       // when they were stored
	// What has changed here since they were collected: index is the primary index that
	// it is about, grown is rows inserted less rows deleted.
	index          catalog.IndexID
	grown, changed int64
	planned        float64 // the rows that epoch has last risen for
	queued         bool
}

// collection is a table to be analysed when it is due.
type collection struct {
	table *catalog.Table
	due   int64
}

// New returns what a node knows at its start, which is nothing.
func New(cfg Config) *Tables {
	s := &Tables{
		Config: cfg, past: collectInPast, every: collectEvery, sizes: tableSizes{cfg.SizeHere, cfg.SizeInCluster},
		tables: map[catalog.ID]*tableContents{}, wake: make(chan struct{}, 1), loaded: make(chan struct{}),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Epoch rises when plans made before may be bad ones.
func (s *Tables) Epoch() uint64 { return s.epoch.Load() }

// For is the statistics that a table is planned by, given those that are known and
// how many rows have been added since; nil if nothing is known.
func For(st *catalog.Statistics, grown float64) *optimizer.TableStats {
	if st == nil {
		if grown <= optimizer.DefaultRows {
			return nil
		}
		return &optimizer.TableStats{Rows: grown}
	}
	rows := max(st.Rows+grown, 1)
	return &optimizer.TableStats{Rows: rows, Known: st.Rows, Extended: st.Extended, Column: func(id catalog.ColumnID) *catalog.ColumnStatistics {
		return grownColumn(st, st.Columns[id], rows)
	}}
}

// growingShare is the share of distinct values in the rows from which on new rows are
// taken to bring new values.
const growingShare = 0.1

// grownColumn is a column of a table that has got another number of rows.
func grownColumn(st *catalog.Statistics, c *catalog.ColumnStatistics, rows float64) *catalog.ColumnStatistics {
	if c == nil || rows == st.Rows || c.Distinct < growingShare*st.Rows {
		return c
	}
	grown := *c
	grown.Distinct = max(c.Distinct*rows/max(st.Rows, 1), 1)
	return &grown
}

// Lookup returns the statistics of a table and how many rows have been added since. A
// table of which nothing is known is to be analysed soon.
func (s *Tables) Lookup(t *catalog.Table) (st *catalog.Statistics, grown float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, grown, _ = s.knownLocked(t)
	if st == nil {
		s.enqueueLocked(t, s.now())
	}
	return st, grown
}

// Known returns the statistics of a table, nil if there are none, how many rows have been
// added since, and how many have changed.
func (s *Tables) Known(t *catalog.Table) (st *catalog.Statistics, grown float64, changed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knownLocked(t)
}

func (s *Tables) knownLocked(t *catalog.Table) (st *catalog.Statistics, grown float64, changed int64) {
	c := s.tables[t.ID]
	if c == nil {
		return nil, 0, 0
	}
	index := t.Primary().ID
	if c.index == index {
		grown, changed = float64(c.grown), c.changed
	}
	if c.stored != nil && c.stored.Index == index {
		st = c.stored
	}
	return st, grown, changed
}

// now is a time after all that this node has heard of.
func (s *Tables) now() int64 { return s.DB.Clock().Now().WallTime }

// Note records that a transaction has changed rows of t, which has grown by so many.
func (s *Tables) Note(t *catalog.Table, grown, changed int64) {
	if t.Kind != catalog.KindTable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contentsLocked(t.ID)
	if index := t.Primary().ID; c.index != index {
		c.index, c.grown, c.changed = index, 0, 0
	}
	c.grown += grown
	c.changed += changed

	rows, last := 0.0, int64(0)
	if st, _, _ := s.knownLocked(t); st != nil {
		rows, last = st.Rows, st.At
	}
	if c.changed < collectAfterRows || float64(c.changed) < collectAfterShare*rows {
		return
	}
	due := s.now()
	if size := rows + float64(c.grown); max(size, rows) < sizeFactor*min(size, rows) {
		due = max(due, last+int64(s.every))
	}
	if size := rows + float64(c.grown); size > sizeFactor*max(c.planned, optimizer.DefaultRows) {
		c.planned = size
		s.epoch.Add(1)
	}
	s.enqueueLocked(t, due)
}

func (s *Tables) contentsLocked(id catalog.ID) *tableContents {
	c := s.tables[id]
	if c == nil {
		c = &tableContents{}
		s.tables[id] = c
	}
	return c
}

func (s *Tables) enqueueLocked(t *catalog.Table, due int64) {
	if s.closed || !s.Automatic() {
		return
	}
	if c := s.contentsLocked(t.ID); !c.queued && len(s.queue) < maxCollectQueue {
		c.queued = true
		s.queue = append(s.queue, collection{t, due})
	} else if i := s.queued(t.ID); i >= 0 && due < s.queue[i].due {
		s.queue[i].due = due
	} else {
		return
	}
	if !s.busy {
		s.busy = true
		s.wg.Go(s.drain)
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// queued is the position of a table in the queue, -1 if it is not there.
func (s *Tables) queued(id catalog.ID) int {
	for i := range s.queue {
		if s.queue[i].table.ID == id {
			return i
		}
	}
	return -1
}

// drain analyses the tables in the queue as they become due, then ends.
func (s *Tables) drain() {
	for {
		t, since, wait := s.next()
		switch {
		case t != nil:
			if err := s.collect(s.ctx, t, since); err != nil {
				s.Logger.Info("analyse", "table", t.Name, "err", err) // the next plan or change asks again
			}
			continue
		case wait < 0:
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// next takes a table from the queue that is due, and was so long ago that a collection sees
// why if it reads after since; otherwise it says how long the first one waits, or -1 if the queue is at its end.
func (s *Tables) next() (t *catalog.Table, since int64, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || s.closed {
		s.busy = false
		return nil, 0, -1
	}
	if !s.Automatic() { // since they were queued
		for _, c := range s.queue {
			s.tables[c.table.ID].queued = false
		}
		s.queue, s.busy = nil, false
		return nil, 0, -1
	}
	first := 0
	for i := range s.queue {
		if s.queue[i].due < s.queue[first].due {
			first = i
		}
	}
	t, since = s.queue[first].table, s.queue[first].due
	if left := since + int64(s.past) - s.DB.Clock().PhysicalNow(); left > 0 {
		return nil, 0, time.Duration(left)
	}
	s.queue = append(s.queue[:first], s.queue[first+1:]...)
	s.tables[t.ID].queued = false
	return t, since, 0
}

// readTime is when a collection reads: a moment ago, or before the oldest statement of this gateway began if that was later than
// since. The commit of a statement in whose snapshot others have read moves, and with it all that it has written.
func (s *Tables) readTime(since int64) hlc.Timestamp {
	ts := hlc.Timestamp{WallTime: s.DB.Clock().PhysicalNow() - int64(s.past)}
	if oldest := s.DB.OldestRead(); since < oldest.WallTime && oldest.LessEq(ts) {
		return oldest.Prev()
	}
	return ts
}

// collect analyses a table as it was a moment ago, but after since, and stores what it finds.
func (s *Tables) collect(ctx context.Context, t *catalog.Table, since int64) error {
	s.mu.Lock()
	c := s.contentsLocked(t.ID)
	grown, changed := c.grown, c.changed
	s.mu.Unlock()
	txn := s.DB.Begin(kv.TxnOptions{ReadOnly: true, AsOf: s.readTime(since)})
	txn.BeginStatement()
	defer txn.Rollback(ctx)
	a := analysis{table: t, txn: txn, sizes: s.sizes, rest: rest{busy: s.Busy}}
	st, err := a.run(ctx)
	if err != nil {
		return err
	}

	st.AutoAnalyzed, st.AutoAnalyzeCount = st.At, 1
	return s.store(ctx, t.ID, st, func(c *tableContents) {
		c.grown -= grown
		c.changed = max(c.changed-changed, 0)
	})
}

// Analysed records how much of a table an analysis has read.
type Analysed struct {
	Rows    int // that were read
	Sampled int // whose values were looked at
}

// Analyze reads rows of a table in a transaction and estimates what the table holds in some of
// its columns, nil being all.
func (s *Tables) Analyze(ctx context.Context, txn *kv.Txn, t *catalog.Table, columns []catalog.ColumnID) (*catalog.Statistics, Analysed, error) {
	a := analysis{table: t, columns: columns, txn: txn, sizes: s.sizes}
	st, err := a.run(ctx)
	if err != nil {
		return nil, Analysed{}, err
	}
	return st, Analysed{a.read, len(a.sample.rows)}, nil
}

// Store stores what was collected of a table, if it is still there. The changes counted here
// are part of it.
func (s *Tables) Store(ctx context.Context, id catalog.ID, st *catalog.Statistics) error {
	return s.store(ctx, id, st, forgetChanges)
}

// store stores what was collected of a table, if it is still there; forget is what has
// become of the changes counted here.
func (s *Tables) store(ctx context.Context, id catalog.ID, st *catalog.Statistics, forget func(*tableContents)) error {
	if !s.Catalog.Exists(id) {
		return nil
	}
	var txn *kv.Txn
	var stored *catalog.Statistics
	err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) (err error) {
		txn = t
		stored, err = catalog.PutStatistics(ctx, t, id, st)
		return err
	})
	if err != nil {
		return err
	}

	s.set(id, stored, txn.CommitTimestamp(), forget)
	return nil
}

// set takes in statistics that are stored at a time; forget is what has become of the
// changes counted here.
func (s *Tables) set(id catalog.ID, st *catalog.Statistics, at hlc.Timestamp, forget func(*tableContents)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contentsLocked(id)
	if at.LessEq(c.at) || st == nil && c.stored == nil {
		return
	}
	old := c.stored
	c.stored, c.at = st, at
	if st == nil {
		if !c.queued {
			delete(s.tables, id)
		}
		return
	}
	if old == nil || old.At != st.At {
		if c.index != st.Index {
			c.index, c.grown, c.changed = st.Index, 0, 0
		} else {
			forget(c)
		}
	}
	c.planned = max(st.Rows, 1)
	if old == nil || old.Analyzed != st.Analyzed || distribution.Differ(old, st) {
		s.epoch.Add(1)
	}
}

// Follow makes the stored statistics known here, those of now at once and those that any
// node stores later as they come.
func (s *Tables) Follow(ctx context.Context) {
	s.following.Do(func() {
		s.wg.Go(func() {
			loaded := sync.OnceFunc(func() { close(s.loaded) })
			for s.ctx.Err() == nil {
				err := s.followOnce(s.ctx, loaded)
				loaded()
				if s.ctx.Err() == nil {
					s.Logger.Debug("statistics are read again", "err", err)
					_ = sleep.For(s.ctx, followBackoff)
				}
			}
			loaded()
		})
	})
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	select {
	case <-s.loaded:
	case <-ctx.Done():
	}
}

// followOnce reads the stored statistics, calls loaded, and then follows changes until
// that fails.
func (s *Tables) followOnce(ctx context.Context, loaded func()) error {
	var at hlc.Timestamp
	found := map[catalog.ID]*catalog.Statistics{}
	err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		clear(found)
		err := catalog.EachStatistics(ctx, t, func(id catalog.ID, st *catalog.Statistics) { found[id] = st })
		at = t.ReadTimestamp()
		return err
	})
	if err != nil {
		return err
	}
	for id, st := range found {
		s.set(id, st, at, forgetChanges)
	}
	for _, id := range s.storedTables() {
		if found[id] == nil {
			s.set(id, nil, at, forgetChanges)
		}
	}
	loaded()
	span := catalog.StatisticsSpan()
	return s.DB.Feed(ctx, span.Start, span.End, at, func(events []kv.FeedEvent, _ hlc.Timestamp) error {
		if plant.On(plant.StatisticsUnheard) {
			return nil
		}
		for _, e := range events {
			if e.Deleted {
				e.Value = nil
			}
			if id, st, err := catalog.DecodeStatistics(e.Key, e.Value); err == nil {
				s.set(id, st, e.TS, forgetChanges)
			}
		}
		return nil
	})
}

// storedTables returns the tables that have statistics.
func (s *Tables) storedTables() (ids []catalog.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.tables {
		if c.stored != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// forgetChanges is for statistics that another node has collected: they are newer than
// most of what was counted here.
func forgetChanges(c *tableContents) { c.grown, c.changed = 0, 0 }

// Close ends the work in the background and waits for it.
func (s *Tables) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.following.Do(func() { close(s.loaded) })
	s.wg.Wait()
}

// CollectByHand leaves collections to CollectDue, which then has them at once and of now: for
// tests.
func (s *Tables) CollectByHand() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.past, s.every = true, 0, 0
}

// CollectDue analyses the tables that have changed enough, after CollectByHand, and returns how
// many there were.
func (s *Tables) CollectDue(ctx context.Context) (n int, err error) {
	defer s.CollectByHand()
	for {
		t, since, _ := s.next()
		if t == nil {
			return n, nil
		}
		if err := s.collect(ctx, t, since); err != nil {
			return n, err
		}
		n++
	}
}
