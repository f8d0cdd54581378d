package vecexpr

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// rowwise computes an expression row by row.
type rowwise struct {
	fn     expr.Func
	family types.Family
	// cols are the columns that the expression reads, row has them at their positions.
	cols []int
	row  types.Row
	out  vector.Vector
}

func (c Compiler) rowwise(e plan.Expr) (*rowwise, error) {
	fn, err := c.Rows.Expr(e, c.Scope)
	if err != nil {
		return nil, err
	}
	return &rowwise{fn: fn, family: e.Type().Family, cols: c.ColumnsOf(e), row: make(types.Row, len(c.Scope))}, nil
}

// Eval implements Expr.
func (e *rowwise) Eval(f *Frame) *vector.Vector {
	e.out.Reset(e.family, f.N)
	for _, i := range f.Sel {
		d, err := e.at(f, i)
		if err != nil {
			f.Fail(i, err)
			break
		}
		e.out.Set(i, d)
	}
	return &e.out
}

func (e *rowwise) at(f *Frame, i uint16) (types.Datum, error) {
	for _, c := range e.cols {
		e.row[c] = f.Cols[c].Datum(i)
	}
	return e.fn(e.row)
}

// Select implements Pred.
func (e *rowwise) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	for _, i := range sel {
		d, err := e.at(f, i)
		if err != nil {
			f.Fail(i, err)
			break
		}
		if d.IsTrue() {
			out = append(out, i)
		}
	}
	return out
}
