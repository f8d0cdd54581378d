package operator

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Count evaluates a LIMIT, OFFSET or bound: NULL or nil is the given default.
func Count(f expr.Func, none int64) (int64, error) {
	if f == nil {
		return none, nil
	}
	d, err := f(nil)
	if err != nil || d.IsNull() {
		return none, err
	}
	return d.Int(), nil
}

// RowBound is a compiled plan.RowBound.
type RowBound struct{ count, offset expr.Func }

// Bound compiles a bound of rows.
func (c *Compiler) Bound(b plan.RowBound) (RowBound, error) {
	var out RowBound
	var err error
	if out.count, err = c.Optional(b.Count, nil); err != nil {
		return out, err
	}
	out.offset, err = c.Optional(b.Offset, nil)
	return out, err
}

// Rows returns how many rows are needed, -1 for all.
func (b *RowBound) Rows() (int64, error) {
	if b.count == nil {
		return -1, nil
	}
	n, err := Count(b.count, -1)
	if err != nil || n < 0 {
		return -1, err
	}
	skip, err := Count(b.offset, 0)
	if err != nil || skip < 0 || n+skip < 0 {
		return -1, err
	}
	return n + skip, nil
}
