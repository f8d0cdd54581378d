package optimizer

import "github.com/lichendb/lichen/internal/sql/catalog"

// Statistics that are assumed where none were collected.
const (
	// DefaultRows is the number of rows of a table.
	DefaultRows = 1000
	// DefaultDistinct is the number of distinct values of a column.
	DefaultDistinct = 200
)

// Selectivities that are assumed where nothing is known, as PostgreSQL's.
const (
	eqSel        = 0.005
	rangeSel     = 1.0 / 3
	boundedSel   = 0.005
	matchSel     = 0.005
	nullSel      = 0.005
	otherSel     = 0.5
	subquerySel  = 0.5
	srfRows      = 100
	recursiveMul = 10
	defaultLimit = 0.1 // the part of the rows an unknown LIMIT leaves
)

// TableStats describe the contents of a table.
type TableStats struct {
	Rows float64
	// Distinct returns the number of distinct values of a column and the
	// fraction of NULLs; ok is false where that is unknown. Nil knows nothing.
	Distinct func(id catalog.ColumnID) (distinct, nulls float64, ok bool)
}

// StatsSource provides table statistics.
type StatsSource interface {
	// Stats returns the statistics of a table, nil if there are none.
	Stats(t *catalog.Table) *TableStats
}

// stats returns t's statistics or the defaults.
func (o *optimizer) stats(t *catalog.Table) TableStats {
	if o.opts.Stats != nil {
		if s := o.opts.Stats.Stats(t); s != nil {
			return *s
		}
	}
	return TableStats{Rows: DefaultRows}
}

// distinct estimates the number of distinct values of a column.
func (s *TableStats) distinct(t *catalog.Table, ord int) float64 {
	if s.Distinct != nil {
		if d, _, ok := s.Distinct(t.Columns[ord].ID); ok && d >= 1 {
			return d
		}
	}
	id := t.Columns[ord].ID
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if ix.Unique && ix.Total() && len(ix.Columns) == 1 && ix.Columns[0].Column == id {
			return max(s.Rows, 1)
		}
	}
	return max(min(DefaultDistinct, s.Rows), 1)
}
