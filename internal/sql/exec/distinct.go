package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// distinctOp keeps the first row of each key, in place.
type distinctOp struct {
	run   *run
	input operator
	keys  []int
	vals  types.Row
	table keyTable
	// ordered: duplicates are adjacent, so one remembered row suffices.
	ordered bool
	order   rowOrdering
	last    rowStore
	width   int
}

func (c *compiler) distinct(n *plan.Distinct) (operator, error) {
	input, err := c.node(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	d := &distinctOp{run: c.run, input: input, ordered: n.Ordered, width: len(cols)}
	if d.keys, err = expr.ScopeOf(cols).Positions(n.Keys); err != nil {
		return nil, err
	}
	ts := colTypes(cols, d.keys)
	d.vals, d.table, d.order = make(types.Row, len(ts)), newKeyTable(ts), ascending(d.keys, ts)
	return d, nil
}

func (d *distinctOp) open() error {
	if d.ordered {
		d.last.open(d.run, d.width)
	} else {
		d.table.open(d.run)
	}
	return d.input.open()
}

func (d *distinctOp) close() {
	d.input.close()
	d.table.close()
	d.last.close()
}

func (d *distinctOp) next(b *Batch) error {
	for {
		if err := d.input.next(b); err != nil || b.n == 0 {
			return err
		}
		if err := b.keep(0, d.first); err != nil {
			return b.stopAt(b.n, err)
		}
		if b.n > 0 {
			return nil
		}
		if b.err != nil {
			return b.err
		}
	}
}

// first reports whether no row with this key came before.
func (d *distinctOp) first(row types.Row) (bool, error) {
	if !d.ordered {
		copySlots(d.vals, row, d.keys)
		_, added, err := d.table.put(d.vals)
		return added, err
	}
	if d.last.len() > 0 && d.order.compare(d.last.rows[0], row) == 0 {
		return false, nil
	}
	d.last.open(d.run, d.width)
	_, err := d.last.add(row)
	return true, err
}
