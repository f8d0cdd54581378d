package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer/distribution"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

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

	// leastSel is the least that a histogram is believed: rows come after it was made.
	leastSel = 0.0001
)

// TableStats describe the contents of a table.
type TableStats struct {
	Rows float64
	// Known is how many rows there were when the columns were looked at, 0 if they never were.
	Known float64
	// Column returns what is known of a column, nil where that is nothing. A nil
	// function knows nothing.
	Column func(id catalog.ColumnID) *catalog.ColumnStatistics
	// Extended is what is known of the table's statistics objects, by their oids.
	Extended map[uint32]*catalog.ExtendedData

	values *valueSource
}

// StatsSource provides table statistics.
type StatsSource interface {
	// Stats returns the statistics of a table, nil if there are none.
	Stats(t *catalog.Table) *TableStats
}

// stats returns t's statistics or the defaults.
func (o *optimizer) stats(t *catalog.Table) TableStats {
	out := TableStats{Rows: DefaultRows}
	if o.opts.Stats != nil {
		if s := o.opts.Stats.Stats(t); s != nil {
			out = *s
		}
	}
	out.values = &o.values
	return out
}

// column returns what is known of a column of t, nil if nothing.
func (s *TableStats) column(t *catalog.Table, ord int) *catalog.ColumnStatistics {
	if s == nil || s.Column == nil {
		return nil
	}
	return s.Column(t.Columns[ord].ID)
}

// distinct estimates the number of distinct values of a column.
func (s *TableStats) distinct(t *catalog.Table, ord int) float64 {
	if c := s.column(t, ord); c != nil && c.Distinct >= 1 {
		return c.Distinct
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

// equal estimates the share of rows whose column ord has the value of e.
func (s *TableStats) equal(t *catalog.Table, ord int, e plan.Expr) float64 {
	other := 1 / s.distinct(t, ord)
	c := s.column(t, ord)
	if c == nil || len(c.Common) == 0 {
		return other
	}
	d, ok := s.values.of(e)
	if !ok || d.IsNull() || d.Family() != c.Common[0].Value.Family() {
		return other
	}
	d = catalog.CutStatistic(d)
	rest := 1 - c.Nulls
	for _, v := range c.Common {
		if types.CompareTyped(t.Columns[ord].Type, v.Value, d, nil) == 0 {
			return v.Share
		}
		rest -= v.Share
	}
	return max(rest/max(c.Distinct-float64(len(c.Common)), 1), 0)
}

// anyOf estimates the share of rows whose column ord has one of the listed values.
func (s *TableStats) anyOf(t *catalog.Table, ord int, list []plan.Expr) float64 {
	sel := 0.0
	for _, e := range list {
		sel += s.equal(t, ord, e)
	}
	return min(sel, 1)
}

// maxWeighed bounds the elements of an array whose frequencies are looked up.
const maxWeighed = 100

// anyElement estimates the share of rows whose column ord equals an element of an array.
func (s *TableStats) anyElement(t *catalog.Table, ord int, array plan.Expr) float64 {
	d, ok := s.values.of(array)
	if n := s.values.elements(array); !ok || d.IsNull() || n > maxWeighed {
		return min(n/s.distinct(t, ord), 1)
	}
	sel := 0.0
	for _, e := range d.Array().Elems {
		if !e.IsNull() {
			sel += s.equal(t, ord, plan.NewConst(t.Columns[ord].Type, e))
		}
	}
	return min(sel, 1)
}

// between estimates the share of rows whose column ord lies between two bounds, each of
// one value; nil is no bound.
func (s *TableStats) between(t *catalog.Table, ord int, lo, hi *plan.Bound) float64 {
	c, of := s.column(t, ord), t.Columns[ord].Type
	from, knowLo := s.below(c, of, lo, false)
	to, knowHi := s.below(c, of, hi, true)
	switch {
	case lo != nil && hi != nil && !knowLo && !knowHi:
		return boundedSel
	case lo != nil && !knowLo || hi != nil && !knowHi:
		if lo == nil || hi == nil {
			return rangeSel
		}
		if !knowLo {
			from = 0
		} else {
			to = 1
		}
		return max((to-from)*rangeSel, leastSel)
	case lo == nil:
		from = 0
	case hi == nil:
		to = 1
	}
	if lo != nil && from == 1 {
		return max(s.added(), leastSel)
	}
	return max((to-from)*(1-c.Nulls), leastSel)
}

// added is the share of rows that came after the columns were looked at. Mostly they have
// greater numbers and later times than all rows before.
func (s *TableStats) added() float64 {
	if s.Known <= 0 {
		return 0
	}
	return max(1-s.Known/max(s.Rows, 1), 0)
}

// below estimates the share of the values below a bound; equal ones count if an upper
// bound includes them, or a lower one excludes them.
func (s *TableStats) below(c *catalog.ColumnStatistics, of *types.T, b *plan.Bound, upper bool) (share float64, known bool) {
	if b == nil || c == nil || len(c.Bounds) < 2 {
		return 0, false
	}
	d, ok := s.values.of(b.Values[0])
	if ok && d.Family() == types.TimestampFamily && c.Bounds[0].Family() == types.DateFamily {
		d = types.NewDate(d.Int() / (24 * 3600 * types.MicrosPerSec))
	}
	if !ok || d.Family() != c.Bounds[0].Family() {
		return 0, false
	}
	return distribution.ShareBelow(c, of, catalog.CutStatistic(d), upper == b.Inclusive), true
}
