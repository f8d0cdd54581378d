package rowcontainer

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Buffer keeps copies of rows, for cursors that move backwards or outlive their
// transaction. Its memory counts against a pool.
type Buffer struct{ store Store }

// NewBuffer returns an empty buffer for rows of the given width.
func NewBuffer(mem *quota.Pool, width int) *Buffer {
	b := &Buffer{}
	b.store.width = width
	b.store.Acc.Init(mem)
	return b
}

// Add appends copies of the rows of a batch.
func (b *Buffer) Add(rows *Batch) error { return b.store.AddBatch(rows) }

// AddRow appends a copy of a row.
func (b *Buffer) AddRow(row types.Row) error {
	_, err := b.store.Add(row)
	return err
}

// Len returns the number of rows.
func (b *Buffer) Len() int { return b.store.Len() }

// Row returns a row, from 0; it stays valid until Close.
func (b *Buffer) Row(i int) types.Row { return b.store.Rows[i] }

// Close gives the memory back.
func (b *Buffer) Close() { b.store.Close() }
