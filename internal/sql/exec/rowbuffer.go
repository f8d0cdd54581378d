package exec

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/types"
)

// RowBuffer keeps copies of rows, for cursors that move backwards or outlive their
// transaction. Its memory counts against a pool.
type RowBuffer struct{ store rowStore }

// NewRowBuffer returns an empty buffer for rows of the given width.
func NewRowBuffer(mem *quota.Pool, width int) *RowBuffer {
	b := &RowBuffer{}
	b.store.width = width
	b.store.acc.Init(mem)
	return b
}

// Add appends copies of the rows of a batch.
func (b *RowBuffer) Add(rows *Batch) error { return b.store.addBatch(rows) }

// AddRow appends a copy of a row.
func (b *RowBuffer) AddRow(row types.Row) error {
	_, err := b.store.add(row)
	return err
}

// Len returns the number of rows.
func (b *RowBuffer) Len() int { return b.store.len() }

// Row returns a row, from 0; it stays valid until Close.
func (b *RowBuffer) Row(i int) types.Row { return b.store.rows[i] }

// Close gives the memory back.
func (b *RowBuffer) Close() { b.store.close() }
