package rowcontainer

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Distinct tells which rows have a key that did not come before. Rows for whose keys it has no memory
// wait until the others are done.
type Distinct struct {
	table KeyTable
	later *Partitions // nil: no row has waited yet
	rows  *FileReader // of later, while Rest returns them
	stays bool
	width int
}

// NewDistinct returns a Distinct for keys of the given types, in rows of the given width.
func NewDistinct(ts []*types.T, width int) Distinct {
	return Distinct{table: NewKeyTable(ts), width: width}
}

// ExpectFew says that there are many of them, each with few keys.
func (d *Distinct) ExpectFew() { d.table.ExpectFew() }

// StayInMemory has First fail if there is no memory: for those whose rows have to come in sequence.
func (d *Distinct) StayInMemory() { d.stays = true }

// Open empties d and binds it to an execution.
func (d *Distinct) Open(st *expr.State) {
	d.Close()
	d.table.Open(st)
}

// Close gives memory and space back.
func (d *Distinct) Close() {
	d.table.Close()
	if d.later != nil {
		d.later.Close()
	}
	d.later, d.rows = nil, nil
}

// First reports whether the key of a row comes for the first time. If it has no memory for the key, it
// says no, and Rest returns the row.
func (d *Distinct) First(key, row types.Row) (bool, error) {
	i, err := d.table.Find(key)
	if i >= 0 || err != nil {
		return false, err
	}
	st, used := d.table.state, d.table.Acc.Used()
	if d.stays || !(d.later != nil && d.later.Active()) && (used == 0 || !st.Full(used)) {
		_, added, err := d.table.Put(key)
		if d.stays || !st.Refused(err, used) {
			return added, err
		}
	}
	if d.later == nil {
		d.later = &Partitions{}
		d.later.Open(st, d.width)
	}
	return false, d.later.Add(d.table.Hash(key), row)
}

// Rest returns the next row that has waited, nil if there is none: First is to be asked for it again.
// It is called when no other rows come any more.
func (d *Distinct) Rest() (types.Row, error) {
	for d.later != nil {
		if d.rows == nil {
			rows, err := d.later.Next()
			if rows == nil || err != nil {
				return nil, err
			}
			d.rows = rows
			d.table.Open(d.table.state)
		}
		row, err := d.rows.Next()
		if row != nil || err != nil {
			return row, err
		}
		d.rows = nil
	}
	return nil, nil
}

// RestOf fills b with those rows that have waited for which first says yes.
func (d *Distinct) RestOf(b *Batch, first func(types.Row) (bool, error)) error {
	for !b.Full() {
		row, err := d.Rest()
		if row == nil || err != nil {
			return err
		}
		if err := d.table.state.Tick(); err != nil {
			return err
		}
		ok, err := first(row)
		if err != nil {
			return err
		}
		if ok {
			b.AddCopy(row)
		}
	}
	return nil
}
