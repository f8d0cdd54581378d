package store

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

// Intervals and limits of background work.
const (
	maintainEvery = time.Second
	// maxKeptEntries bounds the log entries that a leader keeps for followers that are behind.
	maxKeptEntries = 20000
	// Each range keeps the last keptTailBytes of its log, although they are in the durable state, and
	// all ranges together keptTailsBytes. A follower that was away for a while gets these entries from
	// any leader and needs no snapshot.
	keptTailBytes  = 1 << 20
	keptTailsBytes = 32 << 20
	// maxKeptLog is the size from which the log keeps nothing for followers.
	maxKeptLog = 512 << 20
	// maxKeptForSnapshot bounds the log entries that are kept for a snapshot that is being sent.
	maxKeptForSnapshot = 1000000
	// maxLogBacklog is the backlog that starts a flush. It bounds the replay after a crash.
	maxLogBacklog = 256 << 20
	// flushIdleAfter is the time after which a store that has written little flushes, so that a restart
	// has nothing to replay.
	flushIdleAfter = time.Minute
	// A store that writes less than shrinkBelow to its log within shrinkAfter releases the disk space
	// that the log has reserved.
	shrinkAfter = 30 * time.Second
	shrinkBelow = 8 << 20
	// The garbage of a range is collected every TTL / collectFraction.
	collectFraction = 10
	// collectTick bounds the interval between checks for ranges whose collection is due.
	collectTick = 10 * time.Second
)

// maintenance is the state of the store's background goroutine.
type maintenance struct {
	s         *Store
	durable   *storage.DurableReader
	lastFlush time.Time
	lastTrim  time.Time
	written   int64 // bytes of log at the last flush
	entries   int64 // entries at the last flush that began here
	// counted is the log's total at countedAt. lowWrites says that few were written in the interval before.
	counted   int64
	countedAt time.Time
	lowWrites bool
}

func newMaintenance(s *Store) *maintenance {
	now := time.Now()
	return &maintenance{s: s, durable: s.eng.NewDurableReader(), lastFlush: now, lastTrim: now, entries: -1}
}

func (m *maintenance) tick() {
	s := m.s
	if err := s.opts.Clock.Refresh(); err != nil {
		s.opts.Logger.Error("clock bound", "err", err)
	}
	if err := s.eng.CheckDisk(); err != nil && !errors.Is(err, storage.ErrDiskFull) {
		return
	}
	if st := s.log.Stats(); st.BytesWritten-m.written > maxLogBacklog ||
		st.Entries > m.entries && time.Since(m.lastFlush) > flushIdleAfter {
		m.lastFlush, m.written, m.entries = time.Now(), st.BytesWritten, st.Entries
		if err := s.eng.StartFlush(); err != nil {
			s.opts.Logger.Error("flush", "err", err)
		}
	}
	m.shrinkLog()
	if time.Since(m.lastTrim) > trimEvery {
		m.lastTrim = time.Now()
		for _, r := range s.all() {
			r.Trim()
		}
	}
}

// shrinkLog releases disk space of the log while there are few writes.
func (m *maintenance) shrinkLog() {
	st := m.s.log.Stats()
	if past := time.Since(m.countedAt); past >= shrinkAfter {
		m.lowWrites = !m.countedAt.IsZero() && st.BytesWritten-m.counted < shrinkBelow
		m.countedAt, m.counted = time.Now(), st.BytesWritten
	}
	if !m.lowWrites || st.DiskBytes <= raftlog.IdleBytes {
		return
	}
	if err := m.s.log.Shrink(); err != nil {
		m.s.opts.Logger.Warn("shrinking the log", "err", err)
	}
}

// truncateLog truncates the log of every range up to the durable state, except for entries that followers
// may need.
func (m *maintenance) truncateLog() {
	m.written = m.s.log.Stats().BytesWritten
	all := m.s.Replicas()
	for _, r := range all {
		id := r.RangeID()
		if st, ok := m.s.log.State(raftlog.GroupID(id)); !ok || st.Last == st.Truncated.Index {
			continue // nothing to truncate
		}
		st, err := apply.LoadState(m.durable, id)
		if plant.On(plant.TruncateEarly) { // applied state may be in memory only
			st, err = apply.LoadState(m.s.eng, id)
		}
		if errors.Is(err, apply.ErrNoState) || err == nil && st.Index > m.s.log.LastIndex(raftlog.GroupID(id)) {
			continue // a snapshot is being installed: its state or its log is incomplete
		}
		if err != nil {
			m.s.opts.Logger.Error("truncate log", "range", id, "err", err)
			continue
		}
		if st.Index > r.AppliedIndex() {
			continue // the log is to be emptied after a snapshot
		}
		at, ok := m.droppable(r, raftlog.Mark{Index: st.Index, Term: st.Term}, len(all))
		if !ok {
			continue
		}
		if err := m.s.log.Truncate(raftlog.GroupID(id), at.Index, at.Term); err != nil {
			m.s.opts.Logger.Error("truncate log", "range", id, "err", err)
		}
	}
}

// droppable returns the mark up to which the log of one of n ranges may be truncated, given its durable
// state at. It returns false if nothing may be.
func (m *maintenance) droppable(r *replica.Replica, at raftlog.Mark, n int) (raftlog.Mark, bool) {
	if from, ok := r.SnapshotFrom(); ok && from < at.Index && at.Index-from < maxKeptForSnapshot {
		return at, false
	}
	if m.s.log.BacklogBytes() > maxKeptLog {
		return at, true
	}
	if need := r.NeededFrom(); need < at.Index && at.Index-need < maxKeptEntries {
		return at, false // the next flush comes here again once the followers have it
	}
	if len(r.Desc().Replicas) == 1 {
		return at, true
	}
	if tail, ok := m.s.log.Tail(raftlog.GroupID(r.RangeID()), min(keptTailBytes, keptTailsBytes/int64(n))); ok && tail.Index < at.Index {
		at = tail
	}
	return at, true
}

// collectLoop runs garbage collection until the store is closed. It has a goroutine of its own because its
// commands wait for quorums.
func (s *Store) collectLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	tick := time.NewTicker(min(s.opts.GCTTL/collectFraction, collectTick))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.collect(ctx)
		}
	}
}

// collect drops old versions that no transaction can read any more.
func (s *Store) collect(ctx context.Context) {
	for _, r := range s.Replicas() {
		if ctx.Err() != nil {
			return
		}
		if !r.Leads() {
			continue
		}
		d := r.Desc()
		below := s.CollectBelow(d)
		if below.WallTime-r.Threshold().WallTime < int64(s.ttl(d)/collectFraction) {
			continue
		}
		if err := r.CollectGarbage(ctx, below); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("collect garbage", "range", r.RangeID(), "err", err)
		}
	}
}
