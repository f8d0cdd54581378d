package stats

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// InTxn is what the transaction of a session has learned and changed of the contents of tables.
// Statistics are no part of a transaction: those that ANALYZE collects in one are used by it, and
// stored after its commit. Use Init before anything else.
type InTxn struct {
	tables   *Tables
	open     func() bool
	analysed map[catalog.ID]*catalog.Statistics
	changes  []rowChange
}

// rowChange counts the rows of a table that a transaction has changed; see Tables.Note.
type rowChange struct {
	table          *catalog.Table
	grown, changed int64
}

// Init makes c ready; open reports whether a transaction is open.
func (c *InTxn) Init(tables *Tables, open func() bool) { c.tables, c.open = tables, open }

// Analysed takes in what ANALYZE has collected of a table; columns that it did not look at stay as
// they are known, if anything is.
func (c *InTxn) Analysed(t *catalog.Table, st *catalog.Statistics) {
	known, _ := c.Lookup(t)
	st.AnalyzeCount = 1
	if before := c.analysed[t.ID]; before != nil {
		st.AnalyzeCount += before.AnalyzeCount
	}
	if known != nil {
		count := st.AnalyzeCount
		st = st.Over(known)
		st.AnalyzeCount, st.AutoAnalyzeCount = count, 0
	}
	if c.analysed == nil {
		c.analysed = map[catalog.ID]*catalog.Statistics{}
	}
	c.analysed[t.ID] = st
}

// HasOwn reports whether the transaction has statistics that others do not see.
func (c *InTxn) HasOwn() bool { return c.analysed != nil }

// own returns the statistics of a table that the transaction has collected, nil if it has none.
func (c *InTxn) own(t *catalog.Table) *catalog.Statistics {
	if st := c.analysed[t.ID]; st != nil && st.Index == t.Primary().ID {
		return st
	}
	return nil
}

// Lookup is Tables.Lookup as the transaction knows the table.
func (c *InTxn) Lookup(t *catalog.Table) (st *catalog.Statistics, grown float64) {
	if st = c.own(t); st != nil {
		return st, 0
	}
	st, grown = c.tables.Lookup(t)
	if x := c.changeOf(t); x != nil {
		grown += float64(x.grown)
	}
	return st, grown
}

// Known is Tables.Known as the transaction knows the table.
func (c *InTxn) Known(t *catalog.Table) (st *catalog.Statistics, grown float64, changed int64) {
	if st = c.own(t); st != nil {
		return st, 0, 0
	}
	return c.tables.Known(t)
}

func (c *InTxn) changeOf(t *catalog.Table) *rowChange {
	for i := range c.changes {
		if x := &c.changes[i]; x.table.ID == t.ID && x.table.Primary().ID == t.Primary().ID {
			return x
		}
	}
	return nil
}

// NoteWritten records the rows that a plan has changed.
func (c *InTxn) NoteWritten(root plan.Node, rows int64) {
	switch n := root.(type) {
	case *plan.Insert:
		c.Note(n.Table, rows, rows)
	case *plan.Delete:
		c.Note(n.Table, -rows, rows)
	case *plan.Update:
		c.Note(n.Table, 0, rows)
	case *plan.Merge:
		c.Note(n.Table, 0, rows)
	}
}

// Note records that the transaction has changed rows of t, which has grown by so many. It counts when
// the transaction has been committed.
func (c *InTxn) Note(t *catalog.Table, grown, changed int64) {
	if changed == 0 || t.Kind != catalog.KindTable {
		return
	}
	if !c.open() {
		c.tables.Note(t, grown, changed)
		return
	}
	x := c.changeOf(t)
	if x == nil {
		c.changes = append(c.changes, rowChange{table: t})
		x = &c.changes[len(c.changes)-1]
	}
	x.grown += grown
	x.changed += changed
}

// NoteFilled records that indexes of t were filled with all its rows. If the primary one was not among
// them that is news only if nothing was known of the table.
func (c *InTxn) NoteFilled(t *catalog.Table, rows int64, primary bool) {
	if t.Kind != catalog.KindTable {
		return
	}
	grown := rows
	if !primary {
		st, known := c.Lookup(t)
		if st != nil {
			return
		}
		grown -= int64(known)
	}
	c.Note(t, grown, rows)
}

// Committed makes what the transaction knows of tables known to others; failed is told which
// statistics could not be stored.
func (c *InTxn) Committed(ctx context.Context, failed func(table catalog.ID, err error)) {
	if c.analysed == nil && c.changes == nil {
		return
	}
	analysed, changes := c.analysed, c.changes
	c.analysed, c.changes = nil, changes[:0]
	for _, x := range changes {
		if analysed[x.table.ID] == nil {
			c.tables.Note(x.table, x.grown, x.changed)
		}
	}
	for id, st := range analysed {
		if err := c.tables.Store(ctx, id, st); err != nil {
			failed(id, err)
		}
	}
}

// Undone forgets what a transaction that was rolled back has learned and changed.
func (c *InTxn) Undone() { c.analysed, c.changes = nil, nil }

// UndoneTo forgets the statistics that a transaction has collected which returns to a savepoint: they
// may be of rows that are gone. What it has changed is an estimate anyhow.
func (c *InTxn) UndoneTo() { c.analysed = nil }
