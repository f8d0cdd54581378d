package sql

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// noteIndexes counts that a plan's indexes are used, once for each execution, which has ended.
func (s *Session) noteIndexes(p *prepared.Plan, at time.Time) {
	if s.internal {
		return
	}
	uses := p.Indexes(func() (out []prepared.IndexUse) {
		for _, r := range advise.Reads(p.Prep.Root) {
			if u := s.srv.indexes.Use(stmtstats.IndexKey{Table: r.Table, Index: r.Index}); u != nil {
				out = append(out, prepared.IndexUse{Counter: u, Full: r.Full})
			}
		}
		return out
	})
	if len(uses) == 0 {
		return
	}
	now := at.UnixNano()
	for _, u := range uses {
		u.Counter.Note(u.Full, now)
	}
}
