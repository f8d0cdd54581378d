package distribution

import (
	"math/bits"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Combined is what ANALYZE has found of a table's statistics objects.
type Combined struct {
	Table *catalog.Table
	Data  map[uint32]*catalog.ExtendedData // by their oids
}

// each calls f for the statistics objects of which something is known.
func (k Combined) each(f func(x *catalog.Extended, d *catalog.ExtendedData)) {
	for i := range k.Table.Extended {
		if d := k.Data[k.Table.Extended[i].Oid]; d != nil {
			f(&k.Table.Extended[i], d)
		}
	}
}

// Largest returns the combinations of the largest part of some columns that was looked at, nil if no two of them were.
func (k Combined) Largest(ords []int) (best *catalog.Combinations) {
	k.each(func(_ *catalog.Extended, d *catalog.ExtendedData) {
		for i := range d.Distinct {
			c := &d.Distinct[i]
			within := !slices.ContainsFunc(c.Columns, func(id catalog.ColumnID) bool { return !slices.Contains(ords, k.Table.ColumnByID(id)) })
			if within && (best == nil || len(c.Columns) > len(best.Columns)) {
				best = c
			}
		}
	})
	return best
}

// Equality is a condition that a column has a value.
type Equality struct {
	Ord   int
	Value types.Datum
	Known bool    // Value is
	Sel   float64 // the share of the rows for which it holds
}

// maxEqualities bounds the equalities of which common combinations are looked up.
const maxEqualities = 64

// Share estimates the share of the rows for which all equalities, of different columns, hold: by common combinations, then by
// dependencies, and as if they had nothing to do with one another where neither is known.
func (k Combined) Share(eqs []Equality) float64 {
	sel, eqs := 1.0, slices.Clone(eqs)
	for len(eqs) > 1 && len(eqs) <= maxEqualities {
		share, left, ok := k.common(eqs)
		if !ok {
			break
		}
		sel, eqs = sel*share, left
	}
	for len(eqs) > 1 {
		d := k.strongest(eqs)
		if d == nil {
			break
		}
		sel *= k.given(d, eqs)
		eqs = slices.DeleteFunc(eqs, func(e Equality) bool { return k.id(e) == d.To })
	}
	for _, e := range eqs {
		sel *= e.Sel
	}
	return sel
}

func (k Combined) id(e Equality) catalog.ColumnID { return k.Table.Columns[e.Ord].ID }

// given estimates the share of the rows with the other values of a dependency for which the equality of its target holds too. Where the
// dependency holds that is all of them, or as many as the target has rows; in the rest they have nothing to do with one another.
func (k Combined) given(d *catalog.Dependency, eqs []Equality) float64 {
	from, to := 1.0, 1.0
	for _, e := range eqs {
		switch id := k.id(e); {
		case id == d.To:
			to = e.Sel
		case slices.Contains(d.From, id):
			from *= e.Sel
		}
	}
	if from <= to {
		return d.Degree + (1-d.Degree)*to
	}
	return d.Degree*to/from + (1-d.Degree)*to
}

// strongest returns the dependency between columns of eqs that has the most columns, and of those the highest degree; nil if there is none.
func (k Combined) strongest(eqs []Equality) (best *catalog.Dependency) {
	has := func(id catalog.ColumnID) bool {
		return slices.ContainsFunc(eqs, func(e Equality) bool { return k.id(e) == id })
	}
	k.each(func(_ *catalog.Extended, x *catalog.ExtendedData) {
		for i := range x.Dependencies {
			d := &x.Dependencies[i]
			if !has(d.To) || slices.ContainsFunc(d.From, func(id catalog.ColumnID) bool { return !has(id) }) {
				continue
			}
			if best == nil || len(d.From) > len(best.From) || len(d.From) == len(best.From) && d.Degree > best.Degree {
				best = d
			}
		}
	})
	return best
}

// common estimates the share of the rows for which those equalities hold that are about columns of a statistics object with common
// combinations, the one with the most of them; left are the others. ok is false if there is no such object.
func (k Combined) common(eqs []Equality) (share float64, left []Equality, ok bool) {
	var best *catalog.ExtendedData
	var at map[int]types.Datum // the values, by their positions among the columns of best
	var used uint64
	k.each(func(x *catalog.Extended, d *catalog.ExtendedData) {
		values, set := map[int]types.Datum{}, uint64(0)
		for i, e := range eqs {
			if p := slices.Index(x.Columns, k.id(e)); p >= 0 && e.Known && !e.Value.IsNull() {
				values[p], set = catalog.CutStatistic(e.Value), set|1<<i
			}
		}
		if len(d.Common) > 0 && len(values) > max(len(at), 1) {
			best, at, used = d, values, set
		}
	})
	if best == nil || bits.OnesCount64(used) < 2 {
		return 1, eqs, false
	}
	simple, base, all := 1.0, 0.0, 0.0
	for i, e := range eqs {
		if used&(1<<i) != 0 {
			simple *= e.Sel
		} else {
			left = append(left, e)
		}
	}
	for i := range best.Common {
		c := &best.Common[i]
		all += c.Share
		if hasValues(c, at) {
			share, base = share+c.Share, base+c.Base
		}
	}
	// The rows beside the common combinations share what the product leaves.
	share += min(max(simple-base, 0), max(1-all, 0))
	return min(share, 1), left, true
}

// hasValues reports whether a common combination has some values at positions.
func hasValues(c *catalog.CommonCombination, at map[int]types.Datum) bool {
	for k, v := range at {
		if k >= len(c.Values) || c.Values[k].IsNull() || c.Values[k].Family() != v.Family() || types.Compare(c.Values[k], v) != 0 {
			return false
		}
	}
	return true
}
