package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// pending is what waits for the commit of the transaction.
type pending struct {
	ranges   ranges.Pending
	settings clustersetting.Pending
}

// pendingMark is a state of pending; the zero one is empty.
type pendingMark struct{ ranges, settings int }

func (p *pending) mark() pendingMark { return pendingMark{p.ranges.Mark(), p.settings.Mark()} }

// rollbackTo forgets what was added since the mark.
func (p *pending) rollbackTo(m pendingMark) {
	p.ranges.RollbackTo(m.ranges)
	p.settings.RollbackTo(m.settings)
}

// afterCommit makes known what a transaction that has committed knows of tables, and does what
// waited for the commit. Failures become warnings: the commit stands.
func (s *Session) afterCommit(ctx context.Context) {
	s.contents.Committed(ctx, func(table catalog.ID, err error) {
		s.srv.cfg.Logger.Warn("statistics were not stored", "table", table, "error", err)
		s.warnings = append(s.warnings, pgerr.New(pgerr.Warning, "the statistics that were collected could not be stored: %v", err).
			WithHint("Repeat ANALYZE."))
	})
	s.pending.settings.Committed(ctx, s.srv.cfg.Settings)
	s.pending.ranges.Committed(ctx, s.srv.cfg.Ranges, s.coll, func(table catalog.ID, err error) {
		s.srv.cfg.Logger.Warn("ranges were not split after a commit", "table", table, "error", err)
		s.warnings = append(s.warnings, pgerr.New(pgerr.Warning, "the transaction was committed, but its ranges were not changed: %v", err).
			WithHint("Use ALTER TABLE ... SPLIT AT."))
	})
}
