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
	raftTickEvery = 100 * time.Millisecond
	// maxKeptEntries bounds the log that a leader keeps for followers that are behind.
	maxKeptEntries = 20000
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
	s           *Store
	durable     *storage.DurableReader
	lastFlush   time.Time
	lastCollect time.Time
}

func newMaintenance(s *Store) *maintenance {
	now := time.Now()
	return &maintenance{s: s, durable: s.eng.NewDurableReader(), lastFlush: now, lastCollect: now}
}

func (m *maintenance) tick(ctx context.Context) {
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
	if time.Since(m.lastCollect) > s.opts.GCTTL/collectFraction {
		m.lastCollect = time.Now()
		m.collect(ctx)
	}
}

// truncateLog drops the part of every range's log that is in the durable state.
func (m *maintenance) truncateLog() {
	for _, r := range m.s.Replicas() {
		id := r.Desc().RangeID
		st, err := apply.LoadState(m.durable, id)
		if errors.Is(err, apply.ErrNoState) || err == nil && st.Index > m.s.log.LastIndex(raftlog.GroupID(id)) {
			continue // a snapshot is being taken in: its state, or its log, is not there yet
		}
		if err != nil {
			m.s.opts.Logger.Error("truncate log", "range", id, "err", err)
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

// collect drops old versions that nobody can read any more.
func (m *maintenance) collect(ctx context.Context) {
	for _, r := range m.s.Replicas() {
		if !r.Leads() {
			continue
		}
		if err := r.CollectGarbage(ctx, m.s.CollectBelow()); err != nil && ctx.Err() == nil {
			m.s.opts.Logger.Error("collect garbage", "range", r.Desc().RangeID, "err", err)
		}
	}
}
