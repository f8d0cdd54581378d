package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// distinctOp keeps the first row of each key, in place.
type distinctOp struct {
	run     *operator.Run
	input   operator.Operator
	keys    []int
	vals    types.Row
	seen    rowcontainer.Distinct
	drained bool // the input is at its end
	// ordered: duplicates are adjacent, so one remembered row suffices.
	ordered bool
	order   rowcontainer.Ordering
	last    rowcontainer.Store
	width   int
}

func (c *compiler) distinct(n *plan.Distinct) (operator.Operator, error) {
	input, err := c.Node(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	d := &distinctOp{run: c.Run, input: input, ordered: n.Ordered, width: len(cols)}
	if d.keys, err = expr.ScopeOf(cols).Positions(n.Keys); err != nil {
		return nil, err
	}
	ts := rowcontainer.ColTypes(cols, d.keys)
	d.vals, d.seen, d.order = make(types.Row, len(ts)), rowcontainer.NewDistinct(ts, len(cols)), rowcontainer.Ascending(&c.Run.State, d.keys, ts)
	if n.On {
		d.seen.StayInMemory() // its rows are in the input's order
	}
	return d, nil
}

func (d *distinctOp) Open() error {
	d.drained = false
	if d.ordered {
		d.last.Open(&d.run.State, d.width)
	} else {
		d.seen.Open(&d.run.State)
	}
	return d.input.Open()
}

func (d *distinctOp) Close() {
	d.input.Close()
	d.seen.Close()
	d.last.Close()
}

func (d *distinctOp) Next(b *rowcontainer.Batch) error {
	for !d.drained {
		if err := d.input.Next(b); err != nil {
			return err
		}
		if b.Len() == 0 {
			d.drained = true
			break
		}
		if err := b.Keep(0, d.first); err != nil {
			return b.StopAt(b.Len(), err)
		}
		if b.Len() > 0 {
			return nil
		}
		if b.Err != nil {
			return b.Err
		}
	}
	b.Clear()
	return d.seen.RestOf(b, d.first)
}

// first reports whether no row with this key came before.
func (d *distinctOp) first(row types.Row) (bool, error) {
	if !d.ordered {
		rowcontainer.CopySlots(d.vals, row, d.keys)
		return d.seen.First(d.vals, row)
	}
	if d.last.Len() > 0 && d.order.Compare(d.last.Rows[0], row) == 0 {
		return false, nil
	}
	d.last.Open(&d.run.State, d.width)
	_, err := d.last.Add(row)
	return true, err
}
