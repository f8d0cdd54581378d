package mvcc

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/storage"
)

// Reader does several reads within one statement, reusing one iterator for the
// gets and one for the scans. Each of the two sees the state of the engine at its
// first use, or a later one, and so everything that was committed before the Reader
// was made. The zero Reader is not usable. Close gives the iterators back.
type Reader struct {
	eng   *storage.Engine
	point *storage.PooledIter
	scan  *storage.PooledIter
}

// NewReader returns a reader on eng. It holds nothing until its first read.
func NewReader(eng *storage.Engine) Reader { return Reader{eng: eng} }

// Values accounts for the large values that reads return; nil: nobody does.
func (r *Reader) Values() *quota.Values { return r.eng.Values() }

// Close gives the iterators back. The Reader can be used again afterwards and
// then sees the engine as it is by then.
func (r *Reader) Close() {
	if r.point != nil {
		r.point.Release()
		r.point = nil
	}
	if r.scan != nil {
		r.scan.Release()
		r.scan = nil
	}
}

func (r *Reader) pointIter() (it *storage.PooledIter, err error) {
	if r.point == nil {
		r.point, err = r.eng.AcquirePoint()
	}
	return r.point, err
}

func (r *Reader) scanIter() (it *storage.PooledIter, err error) {
	if r.scan == nil {
		r.scan, err = r.eng.AcquireScan()
	}
	return r.scan, err
}

// Get is the function Get on the reader's state.
func (r *Reader) Get(key []byte, ts hlc.Timestamp, buf []byte) (Value, bool, error) {
	_, v, found, err := r.Append(key, ts, buf)
	return v, found, err
}

// Append is Get that also returns buf with the payload appended.
func (r *Reader) Append(key []byte, ts hlc.Timestamp, buf []byte) ([]byte, Value, bool, error) {
	if out, v, found, ok := remembered(r.eng, key, ts, buf); ok {
		return out, v, found, nil
	}
	it, err := r.pointIter()
	if err != nil {
		return buf, Value{}, false, err
	}
	return get(r.eng, it, key, ts, buf, r.eng.Values())
}

// Scan appends to res the keys of span that exist at ts, in order, with their values. If it ends
// before the span does, res.Resume says where to go on.
func (r *Reader) Scan(
	ctx context.Context, span keys.Span, ts hlc.Timestamp, opts ScanOptions, res *ScanResult,
) error {
	it, err := r.scanIter()
	if err != nil {
		return err
	}
	return scan(ctx, r.eng, it, span, ts, opts, res)
}

// Scanner returns a scanner over span on the reader's state. It uses the
// reader's iterator: no other scan may run on the reader until it is done.
func (r *Reader) Scanner(span keys.Span, ts hlc.Timestamp, reverse bool) (*Scanner, error) {
	it, err := r.scanIter()
	if err != nil {
		return nil, err
	}
	s := &Scanner{}
	s.init(r.eng, it, span, ts, reverse)
	return s, nil
}

// Rescan makes s a forward scanner over span, reusing its memory; s is zero or was
// made by this reader. As with Scanner, no other scan may run on the reader until s
// is done.
func (r *Reader) Rescan(s *Scanner, span keys.Span, ts hlc.Timestamp) error {
	it, err := r.scanIter()
	if err != nil {
		return err
	}
	s.init(r.eng, it, span, ts, false)
	return nil
}

// CollectInline is the function CollectInline on the reader's state.
func (r *Reader) CollectInline(key []byte, threshold hlc.Timestamp, dst []Garbage) ([]Garbage, error) {
	it, err := r.pointIter()
	if err != nil {
		return dst, err
	}
	return collectInline(r.eng, it, key, threshold, inlineLimits(), dst)
}

// Each calls fn for the unversioned keys of span on the state that the reader's scans see,
// until it returns false or an error. As with Scanner, no other scan may run meanwhile.
func (r *Reader) Each(span keys.Span, fn func(key, value []byte) (more bool, err error)) error {
	it, err := r.scanIter()
	if err != nil {
		return err
	}
	it.SetSpan(span.Start, span.End)
	for ok := it.First(); ok; ok = it.Next() {
		key, ts, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return err
		}
		if !ts.IsEmpty() {
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if more, err := fn(key, v); err != nil || !more {
			return err
		}
	}
	return r.eng.ReadError(it.Error())
}
