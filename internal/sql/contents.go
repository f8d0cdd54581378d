package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// contentsInTxn is what a transaction has learned and changed of the contents of tables.
// Statistics are no part of a transaction: those that ANALYZE collects in one are used by
// it, and stored after its commit.
type contentsInTxn struct {
	analysed map[catalog.ID]*catalog.Statistics
	changes  []rowChange
}

// rowChange counts the rows of a table that a transaction has changed; see note.
type rowChange struct {
	table          *catalog.Table
	grown, changed int64
}

// analyse takes in what ANALYZE has collected of a table; columns that it did not look at
// stay as they are known, if anything is.
func (c *contentsInTxn) analyse(id catalog.ID, st, known *catalog.Statistics) {
	st.AnalyzeCount = 1
	if before := c.analysed[id]; before != nil {
		st.AnalyzeCount += before.AnalyzeCount
	}
	if known != nil {
		count := st.AnalyzeCount
		st = st.Over(known)
		st.AnalyzeCount, st.AutoAnalyzeCount = count, 0
	}
	if c.analysed == nil {
		c.analysed = map[catalog.ID]*catalog.Statistics{}
	}
	c.analysed[id] = st
}

// tableContents returns the statistics of a table that hold for the transaction, nil if
// there are none, and how many rows have been added since.
func (s *Session) tableContents(t *catalog.Table) (st *catalog.Statistics, grown float64) {
	if st = s.contents.analysed[t.ID]; st != nil && st.Index == t.Primary().ID {
		return st, 0
	}
	st, grown = s.srv.stats.Lookup(t)
	if c := s.contents.of(t); c != nil {
		grown += float64(c.grown)
	}
	return st, grown
}

func (c *contentsInTxn) of(t *catalog.Table) *rowChange {
	for i := range c.changes {
		if x := &c.changes[i]; x.table.ID == t.ID && x.table.Primary().ID == t.Primary().ID {
			return x
		}
	}
	return nil
}

// noteWritten tells of the rows that a plan has changed.
func (s *Session) noteWritten(root plan.Node, rows int64) {
	switch n := root.(type) {
	case *plan.Insert:
		s.noteRows(n.Table, rows, rows)
	case *plan.Delete:
		s.noteRows(n.Table, -rows, rows)
	case *plan.Update:
		s.noteRows(n.Table, 0, rows)
	case *plan.Merge:
		s.noteRows(n.Table, 0, rows)
	}
}

// noteRows tells that the transaction has changed rows of t, which has grown by so many.
// It counts when the transaction has been committed.
func (s *Session) noteRows(t *catalog.Table, grown, changed int64) {
	if changed == 0 || t.Kind != catalog.KindTable {
		return
	}
	if !s.txn.Open() {
		s.srv.stats.Note(t, grown, changed)
		return
	}
	c := s.contents.of(t)
	if c == nil {
		s.contents.changes = append(s.contents.changes, rowChange{table: t})
		c = &s.contents.changes[len(s.contents.changes)-1]
	}
	c.grown += grown
	c.changed += changed
}

// noteFilled tells that indexes of t were filled with all its rows. If the primary one was
// not among them that is news only if nothing was known of the table.
func (s *Session) noteFilled(t *catalog.Table, rows int64, primary bool) {
	if t.Kind != catalog.KindTable {
		return
	}
	grown := rows
	if !primary {
		st, known := s.tableContents(t)
		if st != nil {
			return
		}
		grown -= int64(known)
	}
	s.noteRows(t, grown, rows)
}

// contentsCommitted makes what the transaction knows of tables known to others.
func (s *Session) contentsCommitted(ctx context.Context) {
	c := s.contents
	if c.analysed == nil && c.changes == nil {
		return
	}
	s.contents = contentsInTxn{changes: c.changes[:0]}
	for _, x := range c.changes {
		if c.analysed[x.table.ID] == nil {
			s.srv.stats.Note(x.table, x.grown, x.changed)
		}
	}
	for id, st := range c.analysed {
		if err := s.srv.stats.Store(ctx, id, st); err != nil {
			s.srv.cfg.Logger.Warn("statistics were not stored", "table", id, "error", err)
			s.warnings = append(s.warnings, pgerr.New(pgerr.Warning, "the statistics that were collected could not be stored: %v", err).
				WithHint("Repeat ANALYZE."))
		}
	}
}
