package exec

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// referringOp produces the rows that refer to one of run.env.keys: through an index
// on the foreign key's columns, many keys with one request, or by looking at all
// rows if there is none.
type referringOp struct {
	run   *run
	ref   *plan.Reference
	key   *refKey
	width int

	x       *rowcodec.Index // that is read
	parts   []int           // of its leading columns, the position in the foreign key
	primary *rowcodec.Index
	pkDec   *rowcodec.Decoder // from entries of x, if that is secondary
	rowDec  *rowcodec.Decoder
	access  rowAccess // to x
	table   rowAccess // to the table's rows
	rows    *lookups
	pkRow   types.Row
	full    types.Row
	pk      []byte

	byKey   map[string]int // position in the keys
	matched []int          // of each row of the last batch
	spans   []kvpb.Span
	request []kvpb.Span
	ahead   int // first span that is not in request
	resume  []byte
	page    kvpb.ScanResponse
}

func (c *compiler) referringRows(n *plan.ReferringRows) (operator, error) {
	return newReferringOp(c.run, n.Reference, len(n.Cols))
}

func newReferringOp(r *run, ref *plan.Reference, width int) (*referringOp, error) {
	o := &referringOp{run: r, ref: ref, width: width}
	var err error
	if o.key, err = newRefKey(ref); err != nil {
		return nil, err
	}
	t := ref.Table
	if o.primary, err = rowcodec.Compile(t, t.Primary()); err != nil {
		return nil, err
	}
	ix, n := childIndex(ref)
	if o.x = o.primary; ix != nil && ix.ID != t.Primary().ID {
		if o.x, err = rowcodec.Compile(t, ix); err != nil {
			return nil, err
		}
		pk := keyOrds(o.primary)
		o.pkDec, o.pkRow = o.x.NewDecoder(pk), make(types.Row, len(pk))
	}
	o.access, o.table = newRowAccess(r, o.x, allOrds(t)), newRowAccess(r, o.primary, allOrds(t))
	o.rows = &lookups{rows: &o.table}
	for i := range n {
		o.parts = append(o.parts, slices.Index(ref.Key.Columns, ix.Columns[i].Column))
	}
	o.rowDec, o.full = o.primary.NewDecoder(allOrds(t)), make(types.Row, len(t.Columns))
	return o, nil
}

func (o *referringOp) open() error {
	keys := o.run.env.keys
	o.byKey = make(map[string]int, len(keys.keys))
	for i, k := range keys.keys {
		o.byKey[k] = i
	}
	o.spans, o.request, o.ahead, o.resume = o.spans[:0], nil, 0, nil
	if len(o.parts) == 0 {
		o.spans = append(o.spans, kvpb.Span{Key: o.x.Prefix(), EndKey: appendPrefixEnd(nil, o.x.Prefix())})
		return nil
	}
	for _, row := range keys.rows {
		key := bytes.Clone(o.x.Prefix())
		for i, p := range o.parts {
			if key = o.x.AppendKeyDatum(key, i, row[p]); i == o.x.HashColumns()-1 {
				key = o.x.InsertBucket(key)
			}
		}
		o.spans = append(o.spans, kvpb.Span{Key: key, EndKey: appendPrefixEnd(nil, key)})
	}
	slices.SortFunc(o.spans, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	o.spans = slices.CompactFunc(o.spans, func(a, b kvpb.Span) bool { return bytes.Equal(a.Key, b.Key) })
	return nil
}

func (o *referringOp) close() {
	o.byKey, o.spans, o.request = nil, nil, nil
	o.run.leavePage(&o.page)
	o.rows.release()
}

// read reads the next page of entries and reports whether there is one.
func (o *referringOp) read() (bool, error) {
	if err := o.run.Canceled(); err != nil {
		return false, err
	}
	if o.resume == nil {
		if o.ahead == len(o.spans) {
			return false, nil
		}
		last := min(len(o.spans), o.ahead+maxPageSpans)
		o.request, o.ahead = o.spans[o.ahead:last], last
	} else {
		n := 0
		for n < len(o.request) && o.request[n].Before(o.resume) {
			n++
		}
		o.request = slices.Clone(o.request[n:])
		if len(o.request) > 0 && bytes.Compare(o.request[0].Key, o.resume) < 0 {
			o.request[0].Key = o.resume
		}
		if o.resume = nil; len(o.request) == 0 {
			return true, nil
		}
	}
	takePage(&o.page)
	if err := o.access.txn().ScanSpans(o.run.Ctx, o.request, kv.ScanOptions{MaxRows: BatchRows}, &o.page); err != nil {
		return false, err
	}
	if o.page.Resume != nil {
		o.resume = bytes.Clone(o.page.Resume)
	}
	return true, nil
}

func (o *referringOp) next(b *Batch) error {
	b.clear()
	o.matched = o.matched[:0]
	for b.n == 0 {
		o.page.Reset()
		if ok, err := o.read(); !ok {
			return err
		}
		o.rowDec.Reset()
		emit := o.emitRows
		if o.pkDec != nil {
			emit = o.emitEntries
		}
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}

func (o *referringOp) emitRows(b *Batch) error {
	for i := range o.page.Len() {
		if err := o.emit(b, o.page.Key(i), o.page.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

// emitEntries reads the rows behind the entries of a secondary index.
func (o *referringOp) emitEntries(b *Batch) error {
	o.rows.reset()
	o.pkDec.Reset()
	for i := range o.page.Len() {
		if err := o.pkDec.Decode(o.page.Key(i), o.page.Value(i), o.pkRow); err != nil {
			return err
		}
		for j := range o.pkRow {
			o.full[o.primary.Key[j].Ord] = o.pkRow[j]
		}
		var err error
		if o.rows.buf, err = o.primary.AppendKey(o.rows.buf, o.full); err != nil {
			return err
		}
		o.rows.ends = append(o.rows.ends, len(o.rows.buf))
	}
	if len(o.rows.ends) == 0 {
		return nil
	}
	if err := o.rows.fetch(); err != nil {
		return err
	}
	for i := range o.rows.ends {
		value, found, err := o.rows.get(o.rows.key(i))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := o.emit(b, o.rows.key(i), value); err != nil {
			return err
		}
	}
	return nil
}

// emit adds the row of a primary entry if it refers to one of the keys.
func (o *referringOp) emit(b *Batch, key, value []byte) error {
	row := b.add()
	n := len(o.ref.Table.Columns)
	if err := o.rowDec.Decode(key, value, row[:n]); err != nil {
		return err
	}
	if nulls(row[:n], o.ref.Ords) > 0 {
		b.drop()
		return nil
	}
	k, err := o.key.referring(o.run, row[:n])
	if err != nil {
		return err
	}
	i, ok := o.byKey[string(k)]
	if !ok {
		b.drop()
		return nil
	}
	o.matched = append(o.matched, i)
	if o.width > n {
		values := o.run.env.keys.rows[i]
		copy(row[n:], values[len(values)-(o.width-n):])
	}
	return nil
}

// primaryKey encodes the key under which a row lives, valid until the next call.
func (o *referringOp) primaryKey(row types.Row) ([]byte, error) {
	var err error
	o.pk, err = o.primary.AppendKey(o.pk[:0], row)
	return o.pk, err
}
