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
	run   *operator.Run
	input operator.Operator
	keys  []int
	vals  types.Row
	table rowcontainer.KeyTable
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
	d.vals, d.table, d.order = make(types.Row, len(ts)), rowcontainer.NewKeyTable(ts), rowcontainer.Ascending(&c.Run.State, d.keys, ts)
	return d, nil
}

func (d *distinctOp) Open() error {
	if d.ordered {
		d.last.Open(&d.run.State, d.width)
	} else {
		d.table.Open(&d.run.State)
	}
	return d.input.Open()
}

func (d *distinctOp) Close() {
	d.input.Close()
	d.table.Close()
	d.last.Close()
}

func (d *distinctOp) Next(b *rowcontainer.Batch) error {
	for {
		if err := d.input.Next(b); err != nil || b.Len() == 0 {
			return err
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
}

// first reports whether no row with this key came before.
func (d *distinctOp) first(row types.Row) (bool, error) {
	if !d.ordered {
		rowcontainer.CopySlots(d.vals, row, d.keys)
		_, added, err := d.table.Put(d.vals)
		return added, err
	}
	if d.last.Len() > 0 && d.order.Compare(d.last.Rows[0], row) == 0 {
		return false, nil
	}
	d.last.Open(&d.run.State, d.width)
	_, err := d.last.Add(row)
	return true, err
}
