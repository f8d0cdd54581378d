package backfill

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// verifyRows is how many entries verifyUnique reads at once.
const verifyRows = 8192

// deferrable reports whether an index to fill is unique, though its entries do not tell.
func (b *Builder) deferrable() bool {
	for _, x := range b.indexes {
		if x.Desc.Deferrable {
			return true
		}
	}
	return false
}

// verifyUnique looks for rows with the same key in the deferrable indexes as a transaction sees them.
func (b *Builder) verifyUnique(ctx context.Context, txn *kv.Txn) error {
	for _, x := range b.indexes {
		if !x.Desc.Deferrable {
			continue
		}
		if err := b.verifyUniqueOf(ctx, txn, x); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) verifyUniqueOf(ctx context.Context, txn *kv.Txn, x *rowcodec.Index) error {
	d := b.newDeclared(x)
	var page kvpb.ScanResponse
	var last []byte // the unique key of the row before: equal keys follow one another
	start, end := x.Prefix(), keys.PrefixEnd(x.Prefix())
	for start != nil {
		page.Reset()
		if err := txn.Scan(ctx, start, end, kv.ScanOptions{MaxRows: verifyRows}, &page); err != nil {
			return err
		}
		d.dec.Reset()
		for i := range page.Len() {
			key, err := d.uniqueKey(page.Key(i), page.Value(i))
			switch {
			case err != nil:
				return err
			case key == nil:
				continue
			case bytes.Equal(key, last):
				return b.duplicate(x, d.row)
			}
			last = append(last[:0], key...)
		}
		start = bytes.Clone(page.Resume)
	}
	return nil
}

// verifyNew looks, in the deferrable indexes as t sees them, for other rows with the keys of entries that are new.
func (b *Builder) verifyNew(ctx context.Context, t *kv.Txn, before, after entrySet) error {
	all := make([]*declared, len(b.indexes))
	return after.without(before, func(entryKey []byte, e entry) error {
		if e.index >= len(b.indexes) || !b.indexes[e.index].Desc.Deferrable {
			return nil
		}
		x := b.indexes[e.index]
		if all[e.index] == nil {
			all[e.index] = b.newDeclared(x)
		}
		d := all[e.index]
		d.dec.Reset()
		key, err := d.uniqueKey(entryKey, e.value)
		if err != nil || key == nil {
			return err
		}
		start := rowcodec.RowStart(key)
		var page kvpb.ScanResponse
		if err := t.Scan(ctx, start, keys.PrefixEnd(start), kv.ScanOptions{MaxRows: 2}, &page); err != nil {
			return err
		}
		if page.Len() > 1 {
			return b.duplicate(x, d.row)
		}
		return nil
	})
}

// declared reads the columns of an index that it was declared with.
type declared struct {
	x      *rowcodec.Index
	dec    *rowcodec.Decoder
	ords   []int
	values []types.Datum
	row    []types.Datum // of the table: of the entry that was read last
	key    []byte
}

func (b *Builder) newDeclared(x *rowcodec.Index) *declared {
	d := &declared{x: x, ords: make([]int, x.Declared), values: make([]types.Datum, x.Declared), row: make([]types.Datum, len(b.Table.Columns))}
	for i := range d.ords {
		d.ords[i] = x.Key[i].Ord
	}
	d.dec = x.NewDecoder(d.ords)
	return d
}

// uniqueKey returns the key that no other row may have, valid until the next call; nil if others may.
func (d *declared) uniqueKey(key, value []byte) (_ []byte, err error) {
	if err := d.dec.Decode(key, value, d.values); err != nil {
		return nil, err
	}
	for i, ord := range d.ords {
		d.row[ord] = d.values[i]
	}
	if !d.x.MustBeUnique(d.row) {
		return nil, nil
	}
	d.key, err = d.x.AppendUniqueKey(d.key[:0], d.row)
	return d.key, err
}
