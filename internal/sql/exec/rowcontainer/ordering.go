package rowcontainer

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Ordering compares rows by sort keys.
type Ordering []OrderKey

// OrderKey is one sort key.
type OrderKey struct {
	pos        int
	Desc       bool
	NullsFirst bool
	Cmp        expr.CompareFunc
	abbrev     func(types.Datum) uint64 // see Sorter; nil: none
}

// NewOrdering returns the ordering of rows of cols by sort keys, for executions with the state st.
func NewOrdering(st *expr.State, keys []plan.SortKey, cols []plan.Column) (Ordering, error) {
	o := make(Ordering, len(keys))
	for i, k := range keys {
		pos := plan.FindCol(cols, k.Col)
		if pos < 0 {
			return nil, expr.ErrNoColumn(k.Col)
		}
		o[i] = OrderKey{pos: pos, Desc: k.Desc, NullsFirst: k.NullsFirst, Cmp: st.CompareOf(cols[pos].Type),
			abbrev: abbrevOf(cols[pos].Type)}
	}
	return o, nil
}

// Compare orders two rows.
func (o Ordering) Compare(a, b types.Row) int {
	for i := range o {
		if r := o[i].Compare(a[o[i].pos], b[o[i].pos]); r != 0 {
			return r
		}
	}
	return 0
}

// Compare orders two values of the key's column.
func (k *OrderKey) Compare(a, b types.Datum) int {
	if a.IsNull() || b.IsNull() {
		switch {
		case a.IsNull() && b.IsNull():
			return 0
		case a.IsNull() == k.NullsFirst:
			return -1
		}
		return 1
	}
	if k.Desc {
		return k.Cmp(b, a)
	}
	return k.Cmp(a, b)
}

// Ascending orders by columns ascending, NULLs last: equality of keys.
func Ascending(st *expr.State, pos []int, ts []*types.T) Ordering {
	o := make(Ordering, len(pos))
	for i := range pos {
		o[i] = OrderKey{pos: pos[i], Cmp: st.CompareOf(ts[i])}
	}
	return o
}

// ColTypes returns the types of the columns at the given positions.
func ColTypes(cols []plan.Column, pos []int) []*types.T {
	ts := make([]*types.T, len(pos))
	for i, p := range pos {
		ts[i] = cols[p].Type
	}
	return ts
}
