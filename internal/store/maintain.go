package store

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
)

// Pace and limits of background work.
const (
	maintainEvery = time.Second
	// maxKeptEntries bounds the log that a leader keeps for followers that are behind.
	maxKeptEntries = 20000
	// maxKeptForSnapshot bounds the log kept for a snapshot on its way.
	maxKeptForSnapshot = 1000000
	// maxLogBacklog is how much log may wait for a flush before one is started;
	// it bounds the replay after a crash.
	maxLogBacklog = 256 << 20
	// flushIdleAfter is how long a store with little in its log waits before it
	// flushes, so that a restart has nothing to replay.
	flushIdleAfter = time.Minute
	// collectFraction sets the pause between two runs of garbage collection: the
	// TTL divided by it.
	collectFraction = 10
)

// maintenance is the state of the store's background goroutine.
type maintenance struct {
	s         *Store
	durable   *storage.DurableReader
	lastFlush time.Time
	lastTrim  time.Time
}

func newMaintenance(s *Store) *maintenance {
	now := time.Now()
	return &maintenance{s: s, durable: s.eng.NewDurableReader(), lastFlush: now, lastTrim: now}
}

func (m *maintenance) tick() {
	s := m.s
	if err := s.opts.Clock.Refresh(); err != nil {
		s.opts.Logger.Error("clock bound", "err", err)
	}
	if err := s.eng.CheckDisk(); err != nil && !errors.Is(err, storage.ErrDiskFull) {
		return
	}
	if backlog := s.log.BacklogBytes(); backlog > maxLogBacklog ||
		backlog > 0 && time.Since(m.lastFlush) > flushIdleAfter {
		m.lastFlush = time.Now()
		if err := s.eng.StartFlush(); err != nil {
			s.opts.Logger.Error("flush", "err", err)
		}
	}
	if time.Since(m.lastTrim) > trimEvery {
		m.lastTrim = time.Now()
		for _, r := range s.all() {
			r.Trim()
		}
	}
}

// truncateLog drops the part of every range's log that is in the durable state.
func (m *maintenance) truncateLog() {
	for _, r := range m.s.Replicas() {
		id := r.RangeID()
		if st, ok := m.s.log.State(raftlog.GroupID(id)); !ok || st.Last == st.Truncated.Index {
			continue // nothing in it
		}
		st, err := apply.LoadState(m.durable, id)
		if errors.Is(err, apply.ErrNoState) || err == nil && st.Index > m.s.log.LastIndex(raftlog.GroupID(id)) {
			continue // a snapshot is being taken in: its state, or its log, is not there yet
		}
		if err != nil {
			m.s.opts.Logger.Error("truncate log", "range", id, "err", err)
			continue
		}
		if st.Index > r.AppliedIndex() {
			continue // the log is about to be emptied after a snapshot
		}
		if from, ok := r.SnapshotFrom(); ok && from < st.Index && st.Index-from < maxKeptForSnapshot {
			continue
		}
		if need := r.NeededFrom(); need < st.Index && st.Index-need < maxKeptEntries {
			continue // when the followers have it, the next flush comes here again
		}
		if err := m.s.log.Truncate(raftlog.GroupID(id), st.Index, st.Term); err != nil {
			m.s.opts.Logger.Error("truncate log", "range", id, "err", err)
		}
	}
}

// collectLoop collects garbage now and then until the store is closed. It has a
// goroutine of its own, since its commands take as long as a quorum takes.
func (s *Store) collectLoop() {
	defer s.done.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	tick := time.NewTicker(s.opts.GCTTL / collectFraction)
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

// collect drops old versions that nobody can read any more.
func (s *Store) collect(ctx context.Context) {
	for _, r := range s.Replicas() {
		if ctx.Err() != nil {
			return
		}
		if !r.Leads() {
			continue
		}
		if err := r.CollectGarbage(ctx, s.CollectBelow(r.Desc())); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("collect garbage", "range", r.RangeID(), "err", err)
		}
	}
}
