package exec

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TableReader reads the rows of a table's primary index in key order, as of the
// statement's start.
type TableReader struct {
	x    *rowcodec.Index
	dec  *rowcodec.Decoder
	row  types.Row
	next []byte // first key of the next page
	end  []byte
	page kv.ScanResult
	pos  int
	more bool
}

// NewTableReader returns a reader from a resume key on, or from the beginning
// if it is nil.
func NewTableReader(t *catalog.Table, from []byte) (*TableReader, error) {
	x, err := rowcodec.Compile(t, t.Primary())
	if err != nil {
		return nil, err
	}
	r := &TableReader{x: x, dec: x.NewDecoder(allOrds(t)), row: make(types.Row, len(t.Columns)), more: true}
	r.next = append(r.next, x.Prefix()...)
	if from != nil {
		r.next = bytes.Clone(from)
	}
	r.end = appendPrefixEnd(nil, x.Prefix())
	return r, nil
}

// Next returns the next row, with one datum per Table.Columns, and its key; nil
// at the end. Both are valid until the next call.
func (r *TableReader) Next(ctx context.Context, txn Txn) (row types.Row, key []byte, err error) {
	for r.pos == r.page.Len() {
		if !r.more {
			return nil, nil, nil
		}
		if err := Rows(txn, r.x).Scan(ctx, r.next, r.end, kv.ScanOptions{MaxRows: BatchRows}, &r.page); err != nil {
			return nil, nil, err
		}
		r.pos = 0
		if r.more = r.page.Resume != nil; r.more {
			r.next = append(r.next[:0], r.page.Resume...)
		}
		r.dec.Reset()
	}
	key = r.page.Key(r.pos)
	err = r.dec.Decode(key, r.page.Value(r.pos), r.row)
	r.pos++
	return r.row, key, err
}

// BackfillIndex writes the entries of index ix of t for up to maxRows rows of
// the table, beginning at from (nil: the first). It returns where to go on, nil
// at the end. A duplicate in a unique index is error 23505. fc formats values in
// messages.
func BackfillIndex(ctx context.Context, txn Txn, t *catalog.Table, ix *catalog.Index, fc *types.FormatContext,
	from []byte, maxRows int) (resume []byte, err error) {
	w, err := NewTableWriter(t)
	if err != nil {
		return nil, err
	}
	w.SetFormat(fc)
	x, err := rowcodec.Compile(t, ix)
	if err != nil {
		return nil, err
	}
	reader, err := NewTableReader(t, from)
	if err != nil {
		return nil, err
	}
	var key, value []byte
	for n := 0; ; n++ {
		row, rowKey, err := reader.Next(ctx, txn)
		if row == nil || err != nil {
			return nil, err
		}
		if n == maxRows {
			return bytes.Clone(rowKey), nil
		}
		if err := w.check.Check(row); err != nil {
			return nil, err
		}
		if key, err = x.AppendKey(key[:0], row); err != nil {
			return nil, err
		}
		if value, err = x.AppendValue(value[:0], row); err != nil {
			return nil, err
		}
		if x.UniqueKeyComplete(row) {
			if err := w.claimUnique(ctx, txn, x, row, key, value); err != nil {
				return nil, err
			}
		}
		if err := txn.Put(key, value); err != nil {
			return nil, err
		}
	}
}

// claimUnique locks a key of an index that is being built. An entry of the very
// same row may be there already: writers maintain the index meanwhile.
func (w *TableWriter) claimUnique(ctx context.Context, txn Txn, x *rowcodec.Index, row types.Row, key, value []byte) error {
	res, err := txn.Lock(ctx, key, kvpb.LockUpdate, kvpb.WaitBlock)
	if err != nil {
		return err
	}
	if !res.Found || bytes.Equal(res.Value, value) {
		return nil
	}
	e := pgerr.New(pgerr.UniqueViolation, "could not create unique index %q", x.Desc.Name)
	e.Detail = w.keyDetail(x, row) + " is duplicated."
	e.Table, e.Constraint = w.table.Name, constraintName(x.Desc)
	return e
}
