package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rowOrdering compares rows by sort keys.
type rowOrdering []orderKey

type orderKey struct {
	pos        int
	desc       bool
	nullsFirst bool
	cmp        expr.CompareFunc
	abbrev     func(types.Datum) uint64 // see rowSorter; nil: none
}

func (c *compiler) ordering(keys []plan.SortKey, cols []plan.Column) (rowOrdering, error) {
	o := make(rowOrdering, len(keys))
	for i, k := range keys {
		pos := plan.FindCol(cols, k.Col)
		if pos < 0 {
			return nil, expr.ErrNoColumn(k.Col)
		}
		o[i] = orderKey{pos: pos, desc: k.Desc, nullsFirst: k.NullsFirst, cmp: expr.CompareOf(cols[pos].Type),
			abbrev: abbrevOf(cols[pos].Type)}
	}
	return o, nil
}

func (o rowOrdering) compare(a, b types.Row) int {
	for i := range o {
		if r := o[i].compare(a[o[i].pos], b[o[i].pos]); r != 0 {
			return r
		}
	}
	return 0
}

func (k *orderKey) compare(a, b types.Datum) int {
	if a.IsNull() || b.IsNull() {
		switch {
		case a.IsNull() && b.IsNull():
			return 0
		case a.IsNull() == k.nullsFirst:
			return -1
		}
		return 1
	}
	if k.desc {
		return k.cmp(b, a)
	}
	return k.cmp(a, b)
}

// ascending orders by columns ascending, NULLs last: equality of keys.
func ascending(pos []int, ts []*types.T) rowOrdering {
	o := make(rowOrdering, len(pos))
	for i := range pos {
		o[i] = orderKey{pos: pos[i], cmp: expr.CompareOf(ts[i])}
	}
	return o
}

// colTypes returns the types of the columns at the given positions.
func colTypes(cols []plan.Column, pos []int) []*types.T {
	ts := make([]*types.T, len(pos))
	for i, p := range pos {
		ts[i] = cols[p].Type
	}
	return ts
}
