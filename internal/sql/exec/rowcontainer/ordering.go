package rowcontainer

import (
	"slices"

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
	composed   *types.T                 // of the column, if its values have many parts
}

// NewOrdering returns the ordering of rows of cols by sort keys.
func NewOrdering(keys []plan.SortKey, cols []plan.Column) (Ordering, error) {
	o := make(Ordering, len(keys))
	for i, k := range keys {
		pos := plan.FindCol(cols, k.Col)
		if pos < 0 {
			return nil, expr.ErrNoColumn(k.Col)
		}
		o[i] = OrderKey{pos: pos, Desc: k.Desc, NullsFirst: k.NullsFirst, Cmp: expr.CompareOf(cols[pos].Type),
			abbrev: abbrevOf(cols[pos].Type), composed: composedOf(cols[pos].Type)}
	}
	return o, nil
}

// composedOf returns t if its values have parts that a comparison goes through, else nil.
func composedOf(t *types.T) *types.T {
	switch t.Family {
	case types.ArrayFamily, types.RecordFamily, types.JSONFamily, types.MultirangeFamily:
		return t
	}
	return nil
}

// stepping returns o with comparisons that count the parts of values as fc's steps. Once the
// statement is cancelled their results mean nothing.
func (o Ordering) stepping(fc *types.FormatContext) Ordering {
	if !slices.ContainsFunc(o, func(k OrderKey) bool { return k.composed != nil }) {
		return o
	}
	o = slices.Clone(o)
	for i := range o {
		if t := o[i].composed; t != nil {
			o[i].Cmp = func(a, b types.Datum) int { return types.CompareTyped(t, a, b, fc) }
		}
	}
	return o
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
func Ascending(pos []int, ts []*types.T) Ordering {
	o := make(Ordering, len(pos))
	for i := range pos {
		o[i] = OrderKey{pos: pos[i], Cmp: expr.CompareOf(ts[i])}
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
