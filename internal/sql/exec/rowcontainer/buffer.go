package rowcontainer

import (
	"context"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/tempstore"
)

// Buffer keeps copies of rows, for cursors that move backwards or outlive their
// transaction: its memory and its temporary file are its own.
type Buffer struct {
	st   expr.State
	list List
}

// NewBuffer returns an empty buffer for rows of the given width. It takes up to workMem bytes of mem, and
// goes on in a file of temp; nil: it has none.
func NewBuffer(mem *quota.Pool, temp *tempstore.Store, workMem int64, width int) *Buffer {
	b := &Buffer{}
	b.st.Bind(context.Background(), nil, nil, mem)
	b.st.BindTemp(temp, workMem)
	b.list.Open(&b.st, width)
	return b
}

// Add appends copies of the rows of a batch.
func (b *Buffer) Add(rows *Batch) error { return b.list.AddBatch(rows) }

// AddRow appends a copy of a row.
func (b *Buffer) AddRow(row types.Row) error { return b.list.Add(row) }

// Len returns the number of rows.
func (b *Buffer) Len() int { return b.list.Len() }

// Row returns a row, from 0; it stays valid until Close.
func (b *Buffer) Row(i int) (types.Row, error) { return b.list.At(i) }

// Close gives memory and file back.
func (b *Buffer) Close() {
	b.list.Close()
	b.st.Unbind()
}
