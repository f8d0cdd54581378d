package mutation

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// referringOp produces the rows that refer to one of the statement's keys: through an index
// on the foreign key's columns, many keys with one request, or by looking at all
// rows if there is none.
type referringOp struct {
	run   *operator.Run
	stmt  *Statement
	ref   *plan.Reference
	key   *refKey
	width int

	x       *rowcodec.Index // that is read
	parts   []int           // of its leading columns, the position in the foreign key
	primary *rowcodec.Index
	pkDec   *rowcodec.Decoder // from entries of x, if that is secondary
	rowDec  *rowcodec.Decoder
	access  scan.RowAccess // to x
	table   scan.RowAccess // to the table's rows
	rows    *scan.Lookups
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

// CompileReferringRows compiles the source of rows of a referential action.
func CompileReferringRows(c *operator.Compiler, st *Statement, n *plan.ReferringRows) (operator.Operator, error) {
	return newReferringOp(c.Run, st, n.Reference, len(n.Cols))
}

func newReferringOp(r *operator.Run, st *Statement, ref *plan.Reference, width int) (*referringOp, error) {
	o := &referringOp{run: r, stmt: st, ref: ref, width: width}
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
		pk := tableaccess.KeyOrds(o.primary)
		o.pkDec, o.pkRow = o.x.NewDecoder(pk), make(types.Row, len(pk))
	}
	o.access, o.table = scan.NewRowAccess(r, o.x, tableaccess.AllOrds(t)), scan.NewRowAccess(r, o.primary, tableaccess.AllOrds(t))
	o.rows = scan.NewLookups(&o.table)
	for i := range n {
		o.parts = append(o.parts, slices.Index(ref.Key.Columns, ix.Columns[i].Column))
	}
	o.rowDec, o.full = o.primary.NewDecoder(tableaccess.AllOrds(t)), make(types.Row, len(t.Columns))
	return o, nil
}

func (o *referringOp) Open() error {
	referred := o.stmt.keys
	o.byKey = make(map[string]int, len(referred.keys))
	for i, k := range referred.keys {
		o.byKey[k] = i
	}
	o.spans, o.request, o.ahead, o.resume = o.spans[:0], nil, 0, nil
	if len(o.parts) == 0 {
		o.spans = append(o.spans, kvpb.Span{Key: o.x.Prefix(), EndKey: keys.PrefixEnd(o.x.Prefix())})
		return nil
	}
	for _, row := range referred.rows {
		key := bytes.Clone(o.x.Prefix())
		for i, p := range o.parts {
			if key = o.x.AppendKeyDatum(key, i, row[p]); i == o.x.HashColumns()-1 {
				key = o.x.InsertBucket(key)
			}
		}
		o.spans = append(o.spans, kvpb.Span{Key: key, EndKey: keys.PrefixEnd(key)})
	}
	slices.SortFunc(o.spans, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	o.spans = slices.CompactFunc(o.spans, func(a, b kvpb.Span) bool { return bytes.Equal(a.Key, b.Key) })
	return nil
}

func (o *referringOp) Close() {
	o.byKey, o.spans, o.request = nil, nil, nil
	scan.LeavePage(&o.run.State, &o.page)
	o.rows.Release()
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
		last := min(len(o.spans), o.ahead+scan.MaxPageSpans)
		o.request, o.ahead = o.spans[o.ahead:last], last
	} else {
		o.request = kvpb.Rest(o.request, o.resume)
		if o.resume = nil; len(o.request) == 0 {
			return true, nil
		}
	}
	scan.TakePage(&o.page)
	if err := o.access.Txn().ScanSpans(o.run.Ctx, o.request, kv.ScanOptions{MaxRows: rowcontainer.BatchRows}, &o.page); err != nil {
		return false, err
	}
	if o.page.Resume != nil {
		o.resume = bytes.Clone(o.page.Resume)
	}
	return true, nil
}

func (o *referringOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	o.matched = o.matched[:0]
	for b.Len() == 0 {
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

func (o *referringOp) emitRows(b *rowcontainer.Batch) error {
	for i := range o.page.Len() {
		if err := o.emit(b, o.page.Key(i), o.page.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

// emitEntries reads the rows behind the entries of a secondary index.
func (o *referringOp) emitEntries(b *rowcontainer.Batch) error {
	o.rows.Reset()
	o.pkDec.Reset()
	for i := range o.page.Len() {
		if err := o.pkDec.Decode(o.page.Key(i), o.page.Value(i), o.pkRow); err != nil {
			return err
		}
		for j := range o.pkRow {
			o.full[o.primary.Key[j].Ord] = o.pkRow[j]
		}
		buf, err := o.primary.AppendKey(o.rows.Room(), o.full)
		if err != nil {
			return err
		}
		o.rows.Added(buf)
	}
	if o.rows.Len() == 0 {
		return nil
	}
	if err := o.rows.Fetch(); err != nil {
		return err
	}
	for i := range o.rows.Len() {
		value, found, err := o.rows.Get(o.rows.Key(i))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := o.emit(b, o.rows.Key(i), value); err != nil {
			return err
		}
	}
	return nil
}

// emit adds the row of a primary entry if it refers to one of the keys.
func (o *referringOp) emit(b *rowcontainer.Batch, key, value []byte) error {
	row := b.Add()
	n := len(o.ref.Table.Columns)
	if err := o.rowDec.Decode(key, value, row[:n]); err != nil {
		return err
	}
	if nulls(row[:n], o.ref.Ords) > 0 {
		b.DropLast()
		return nil
	}
	k, err := o.key.referring(o.run, row[:n])
	if err != nil {
		return err
	}
	i, ok := o.byKey[string(k)]
	if !ok {
		b.DropLast()
		return nil
	}
	o.matched = append(o.matched, i)
	if o.width > n {
		values := o.stmt.keys.rows[i]
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
