package tableaccess

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// RowTxn is a transaction to which a row of a table with several families is one entry:
// the key of its first pair and what all its pairs hold. A row is locked by the lock on
// its first pair, which everyone takes before another pair; those of the other pairs only
// tell whether they changed.
type RowTxn struct {
	Txn
	x    *rowcodec.Index
	want []int // families to read of single rows
	all  bool  // want are all

	spans    []kvpb.Span
	keys     []byte // of spans
	page     kvpb.ScanResponse
	rest     kvpb.ScanResponse // of a row at the end of a page
	value    []byte
	key      []byte
	other    [][]byte // keys of a row's pairs but the first
	otherBuf []byte   // that other points into
}

// Rows returns a transaction that reads whole rows of the primary index x by txn.
func Rows(txn Txn, x *rowcodec.Index) Txn {
	if !x.HasFamilies() {
		return txn
	}
	r := NewRowTxn(x, AllOrds(x.Table))
	r.Txn = txn
	return r
}

// NewRowTxn returns a transaction, to be set, that reads the columns at the positions ords.
func NewRowTxn(x *rowcodec.Index, ords []int) *RowTxn {
	r := &RowTxn{x: x, want: x.ReadFamilies(ords)}
	r.all = len(r.want) == x.Families()
	return r
}

// Get implements Txn.
func (r *RowTxn) Get(ctx context.Context, key []byte) (value []byte, found bool, err error) {
	if len(r.want) == 1 {
		r.key = append(r.key[:0], key...)
		r.x.SetFamily(r.key, r.want[0])
		return r.Txn.Get(ctx, r.key)
	}
	row := [1]kvpb.Span{{Key: key}}
	for {
		err := r.ScanSpans(ctx, row[:], kv.ScanOptions{}, &r.page)
		switch {
		case err != nil:
			return nil, false, err
		case r.page.Len() > 0:
			return handOver(&r.page), true, nil
		case r.page.Resume == nil:
			return nil, false, nil
		}
	}
}

// Lock implements Txn.
func (r *RowTxn) Lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (kv.LockResult, error) {
	res, err := r.Txn.Lock(ctx, key, s, w)
	if err != nil || res.Skipped || !res.Found {
		return res, err
	}
	r.value = append(r.value[:0], res.Value...)
	others := r.others(key)
	if len(others) > 1 {
		if err := r.Txn.LockAhead(ctx, others, s); err != nil {
			return res, err
		}
	}
	for _, k := range others {
		o, err := r.Txn.Lock(ctx, k, s, lock.WaitBlock)
		if err != nil {
			return res, err
		}
		res.Changed, res.Self = res.Changed || o.Changed, res.Self || o.Self
		if !o.Found {
			continue
		}
		if r.value, err = r.x.AppendPart(r.value, o.Value); err != nil {
			return res, err
		}
	}
	if res.Value = r.value; len(r.value) >= quota.LargeValue {
		r.value = nil // it belongs to the caller
	}
	return res, nil
}

// LockUnchanged implements Txn. The value of a row that has not changed is not missing.
func (r *RowTxn) LockUnchanged(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (kv.LockResult, error) {
	return r.Lock(ctx, key, s, w)
}

// LockUnchangedAhead implements Txn.
func (r *RowTxn) LockUnchangedAhead(ctx context.Context, keys [][]byte, s lock.Strength) error {
	return r.LockAhead(ctx, keys, s)
}

// handOver returns the only value of a page. A large one belongs to the caller from then on.
func handOver(page *kvpb.ScanResponse) []byte {
	v := page.Value(0)
	if len(v) >= quota.LargeValue {
		*page = kvpb.ScanResponse{}
	}
	return v
}

// others returns the keys of a row's pairs but the first.
func (r *RowTxn) others(key []byte) [][]byte {
	r.other, r.otherBuf = r.other[:0], slices.Grow(r.otherBuf[:0], (r.x.Families()-1)*len(key))
	for i := 1; i < r.x.Families(); i++ {
		n := len(r.otherBuf)
		r.otherBuf = append(r.otherBuf, key...)
		k := r.otherBuf[n:len(r.otherBuf):len(r.otherBuf)]
		r.x.SetFamily(k, i)
		r.other = append(r.other, k)
	}
	return r.other
}

// Scan implements Txn.
func (r *RowTxn) Scan(ctx context.Context, start, end []byte, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	err := r.Txn.Scan(ctx, start, end, r.options(o), res)
	if err == nil {
		err = r.completeLast(ctx, o.Reverse, res)
	}
	if err != nil {
		return err
	}
	if done := res.Resume; done != nil && (!o.Reverse && bytes.Compare(done, end) >= 0 || o.Reverse && bytes.Compare(done, start) <= 0) {
		res.Resume = nil
	}
	return r.assemble(res)
}

// ScanSpans implements Txn. Single keys are those of rows.
func (r *RowTxn) ScanSpans(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	r.spans, r.keys = r.spans[:0], r.keys[:0]
	for _, s := range spans {
		if len(s.EndKey) > 0 {
			r.spans = append(r.spans, s)
		} else {
			r.addRow(s.Key)
		}
	}
	err := r.Txn.ScanSpans(ctx, r.spans, r.options(o), res)
	if err == nil {
		err = r.completeSpans(ctx, spans, res)
	}
	if err != nil {
		return err
	}
	return r.assemble(res)
}

// ReadAhead implements Txn: the pairs of rows are put together as they are read.
func (r *RowTxn) ReadAhead(context.Context, []kvpb.Span, kv.ScanOptions, *kvpb.ScanResponse, func()) *kv.ReadAhead {
	return nil
}

// options asks for as many pairs as the rows may have.
func (r *RowTxn) options(o kv.ScanOptions) kv.ScanOptions {
	o.MaxRows *= r.x.Families()
	return o
}

// addRow adds spans for the pairs to read of a row.
func (r *RowTxn) addRow(key []byte) {
	if r.all {
		start := rowcodec.RowStart(key)
		n := len(r.keys)
		r.keys = keys.AppendPrefixEnd(r.keys, start)
		r.spans = append(r.spans, kvpb.Span{Key: start, EndKey: r.keys[n:len(r.keys):len(r.keys)]})
		return
	}
	for _, i := range r.want {
		n := len(r.keys)
		r.keys = append(r.keys, key...)
		k := r.keys[n:len(r.keys):len(r.keys)]
		r.x.SetFamily(k, i)
		r.spans = append(r.spans, kvpb.Span{Key: k})
	}
}

// completeLast reads the rest of the last row of a page whose end cuts it apart.
func (r *RowTxn) completeLast(ctx context.Context, reverse bool, res *kvpb.ScanResponse) error {
	if res.Resume == nil || res.Len() == 0 {
		return nil
	}
	row := rowcodec.RowStart(res.Key(res.Len() - 1))
	if !bytes.HasPrefix(res.Resume, row) {
		return nil
	}
	return r.complete(ctx, bytes.Clone(row), reverse, res)
}

// complete appends the remaining pairs of the row with this key prefix, from res.Resume on.
func (r *RowTxn) complete(ctx context.Context, row []byte, reverse bool, res *kvpb.ScanResponse) error {
	start, end := bytes.Clone(res.Resume), keys.PrefixEnd(row)
	res.Resume = end
	if reverse {
		start, end, res.Resume = row, start, row
	}
	for bytes.Compare(start, end) < 0 {
		r.rest.Reset()
		if err := r.Txn.Scan(ctx, start, end, kv.ScanOptions{Reverse: reverse}, &r.rest); err != nil {
			return err
		}
		for i := range r.rest.Len() {
			res.Append(r.rest.Key(i), r.rest.Value(i))
		}
		switch {
		case r.rest.Resume == nil:
			return nil
		case reverse:
			end = bytes.Clone(r.rest.Resume)
		default:
			start = bytes.Clone(r.rest.Resume)
		}
	}
	return nil
}

// completeSpans makes a page of spans end between rows.
func (r *RowTxn) completeSpans(ctx context.Context, spans []kvpb.Span, res *kvpb.ScanResponse) error {
	if err := r.completeLast(ctx, false, res); err != nil || res.Resume == nil {
		return err
	}
	n := kvpb.CountBefore(spans, res.Resume)
	if n == 0 || len(spans[n-1].EndKey) > 0 || !bytes.HasPrefix(res.Resume, rowcodec.RowStart(spans[n-1].Key)) {
		if n == len(spans) {
			res.Resume = nil
		}
		return nil
	}
	// It ends within a row of which nothing was found so far.
	key := spans[n-1].Key
	r.key = append(r.key[:0], key...)
	if r.x.SetFamily(r.key, r.want[0]); bytes.Compare(res.Resume, r.key) <= 0 {
		res.Resume = bytes.Clone(key)
		return nil
	}
	if err := r.complete(ctx, bytes.Clone(rowcodec.RowStart(key)), false, res); err != nil {
		return err
	}
	if n == len(spans) {
		res.Resume = nil
	}
	return nil
}

// assemble makes one entry of the pairs of each row. An entry is no longer than they were:
// it takes their place.
func (r *RowTxn) assemble(res *kvpb.ScanResponse) error {
	arena, offsets := res.Arena[:0], res.Offsets[:0]
	for i := range res.Len() {
		key, value := res.Key(i), res.Value(i)
		// Offsets are triples: where a key starts, its value starts, and both end.
		if n := len(offsets); n > 0 && rowcodec.SameRow(arena[offsets[n-3]:offsets[n-2]], key) {
			var err error
			if arena, err = r.x.AppendPart(arena, value); err != nil {
				return err
			}
			offsets[n-1] = uint32(len(arena))
			continue
		}
		start := len(arena)
		arena = append(arena, key...)
		rowcodec.SetDefaultFamily(arena[start:])
		mid := len(arena)
		arena = append(arena, value...)
		offsets = append(offsets, uint32(start), uint32(mid), uint32(len(arena)))
	}
	res.Arena, res.Offsets = arena, offsets
	return nil
}
