package exec

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// valuesOp produces constant rows.
type valuesOp struct {
	run   *operator.Run
	width int
	cells []valueCell // row by row
	rows  int
	pos   int
}

// valueCell is a constant, or an expression if fn is set: large INSERTs consist
// of constants, which need no closure each.
type valueCell struct {
	d  types.Datum
	fn expr.Func
}

func (c *compiler) values(n *plan.Values) (operator.Operator, error) {
	v := &valuesOp{run: c.Run, width: len(n.Cols), rows: len(n.RowExprs)}
	v.cells = make([]valueCell, 0, v.width*v.rows)
	for _, row := range n.RowExprs {
		if len(row) != v.width {
			return nil, pgerr.Assertion("row of %d values for %d columns", len(row), v.width)
		}
		for _, e := range row {
			if k, ok := e.(*plan.Const); ok {
				v.cells = append(v.cells, valueCell{d: k.D})
				continue
			}
			fn, err := c.Expr(e, nil)
			if err != nil {
				return nil, err
			}
			v.cells = append(v.cells, valueCell{fn: fn})
		}
	}
	return v, nil
}

func (v *valuesOp) Open() error { v.pos = 0; return nil }

func (v *valuesOp) Close() {}

func (v *valuesOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for ; v.pos < v.rows && !b.Full(); v.pos++ {
		row := b.Add()
		for i := range row {
			cell := &v.cells[v.pos*v.width+i]
			row[i] = cell.d
			if cell.fn == nil {
				continue
			}
			d, err := cell.fn(nil)
			if err != nil {
				return b.StopAt(b.Len()-1, err)
			}
			row[i] = d
		}
	}
	return nil
}

// maxCopyBytes bounds the texts of a batch of COPY FROM: a row that goes beyond is its last.
const maxCopyBytes = 64 << 10

// copyRowsOp reads the rows that the client sends.
type copyRowsOp struct {
	run      *operator.Run
	oneByOne bool
	done     bool
	text     rowcontainer.Scratch
}

func (c *compiler) copyRows(n *plan.CopyRows) (operator.Operator, error) {
	return &copyRowsOp{run: c.Run, oneByOne: n.OneByOne}, nil
}

func (o *copyRowsOp) Open() error {
	if o.run.Env.Copy == nil {
		return pgerr.Assertion("no source of rows for COPY")
	}
	o.done = false
	return nil
}

func (o *copyRowsOp) Close() {}

func (o *copyRowsOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	o.text.Reset()
	o.run.Env.Copy.Forget()
	for !o.done && !b.Full() && o.text.Len() < maxCopyBytes {
		if n := b.Len(); n > 0 {
			if o.oneByOne || !o.keep(b.Row(n-1)) {
				break
			}
		}
		ok, err := o.run.Env.Copy.NextRow(b.Add())
		if !ok {
			b.DropLast()
			o.done = true
		}
		if err != nil {
			return b.StopAt(b.Len(), err)
		}
	}
	return nil
}

// keep copies the texts of the last row, which go with the next one. It returns false if one is too
// long to be copied without being accounted for: then that row ends the batch.
func (o *copyRowsOp) keep(row types.Row) bool {
	for _, d := range row {
		if len(d.Str()) >= quota.LargeValue {
			return false
		}
	}
	o.text.Row(row)
	return true
}
