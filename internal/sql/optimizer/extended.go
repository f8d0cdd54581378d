package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer/distribution"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// growingShare is the share of different combinations in the rows from which on new rows are taken to bring new ones.
const growingShare = 0.1

// combined estimates how many combinations of values some columns have: as many as was found of the largest part of them, times those of
// the others; ok is false if nothing was found of two of them.
func (s *TableStats) combined(t *catalog.Table, ords []int) (values float64, ok bool) {
	best := distribution.Combined{Table: t, Data: s.Extended}.Largest(ords)
	if best == nil {
		return 0, false
	}
	values = best.Distinct
	if s.Known > 0 && values >= growingShare*s.Known {
		values *= s.Rows / s.Known
	}
	rest := slices.DeleteFunc(slices.Clone(ords), func(ord int) bool { return slices.Contains(best.Columns, t.Columns[ord].ID) })
	if more, ok := s.combined(t, rest); ok {
		return values * more, true
	}
	for _, ord := range rest {
		values *= s.distinct(t, ord)
	}
	return values, true
}

// together estimates the share of rows that meet the conditions that are equalities of columns and values, if something is known of
// several columns, and returns the other conditions.
func (s *TableStats) together(conds []plan.Expr, scan *plan.Scan) (sel float64, rest []plan.Expr) {
	if s == nil || len(s.Extended) == 0 || scan == nil || len(conds) < 2 {
		return 1, conds
	}
	var eqs []distribution.Equality
	for _, cond := range conds {
		if c, ok := cond.(*plan.Call); ok {
			ord, op, value := columnSide(scan, c)
			if ord >= 0 && op == "=" && fixed(scan, ord, value) && !slices.ContainsFunc(eqs, func(o distribution.Equality) bool { return o.Ord == ord }) {
				eqs = append(eqs, s.equality(scan.Table, ord, value))
				continue
			}
		}
		rest = append(rest, cond)
	}
	return distribution.Combined{Table: scan.Table, Data: s.Extended}.Share(eqs), rest
}

func (s *TableStats) equality(t *catalog.Table, ord int, value plan.Expr) distribution.Equality {
	e := distribution.Equality{Ord: ord, Sel: s.equal(t, ord, value)}
	e.Value, e.Known = s.values.of(value)
	return e
}

// correlated is how many times as many rows equalities leave as they would if they had nothing to do with one another.
func (s *TableStats) correlated(t *catalog.Table, eqs []distribution.Equality) float64 {
	product := 1.0
	for _, e := range eqs {
		product *= e.Sel
	}
	if len(s.Extended) == 0 || len(eqs) < 2 || product == 0 {
		return 1
	}
	return distribution.Combined{Table: t, Data: s.Extended}.Share(eqs) / product
}
