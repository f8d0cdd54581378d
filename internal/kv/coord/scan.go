package coord

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Scan reads a page of [start, end) in the statement's snapshot, the transaction's own earlier
// writes included. If res.Resume is not nil there is more: it is the next page's start, or its end
// in reverse.
func (t *Txn) Scan(ctx context.Context, start, end []byte, o ScanOptions, res *kvpb.ScanResponse) error {
	if _, ok := t.spill.span.Clip(start, end); ok { // a version that comes during the read might not be hidden from it
		if err := t.endSpill(); err != nil {
			return err
		}
	}
	req := &t.scanReq
	req.Start, req.End, req.MaxKeys, req.MaxBytes, req.Reverse = start, end, o.MaxRows, o.pageBytes(), o.Reverse
	req.Spans, req.ChangedSince = nil, o.ChangedSince
	own := (t.buf.Len() > 0 || t.state == spilled) && o.ChangedSince.IsEmpty()
	page := res
	if own {
		page = &t.page
	}
	page.Reset()
	if err := t.scanStored(ctx, page); err != nil {
		return err
	}
	lo, hi := t.noteSpan(start, end, o.Reverse, page)
	if !own {
		return nil
	}
	res.Reset()
	res.Resume = page.Resume
	if t.state == spilled {
		if _, ok := t.spill.span.Clip(lo, hi); ok {
			return t.mergeSpilled(ctx, lo, hi, o.Reverse, res)
		}
	}
	t.merge(lo, hi, o.Reverse, res)
	return nil
}

// ScanSpans is a forward Scan of several spans, which are sorted and disjoint: one page of the keys
// in all of them. If res.Resume is not nil, the rest of the spans from there on is left; the caller
// cuts them. A page may have one own write more than o.MaxRows.
func (t *Txn) ScanSpans(ctx context.Context, spans []kvpb.Span, o ScanOptions, res *kvpb.ScanResponse) error {
	must.True(!o.Reverse, "coord: several spans in reverse")
	start, end := kvpb.Bounds(spans)
	if len(spans) == 1 || t.state == spilled {
		return t.scanFirst(ctx, spans, o, res)
	}
	req := &t.scanReq
	req.Start, req.End, req.MaxKeys, req.MaxBytes, req.Reverse = start, end, o.MaxRows, o.pageBytes(), false
	req.Spans, req.ChangedSince = spans, hlc.Timestamp{}
	own := t.buf.Len() > 0
	page := res
	if own {
		page = &t.page
	}
	err := t.scanStored(ctx, page)
	req.Spans = nil // the caller's
	if err != nil {
		return err
	}
	done, end := t.noteSpans(spans, page)
	if own {
		res.Reset()
		res.Resume = page.Resume
		t.mergeSpans(done, end, res)
	}
	return nil
}

// noteSpan records the read of a page of [start, end), and returns the bounds of the page.
func (t *Txn) noteSpan(start, end []byte, reverse bool, page *kvpb.ScanResponse) (lo, hi []byte) {
	lo, hi = start, end
	switch {
	case page.Resume == nil:
	case reverse:
		lo = page.Resume
	default:
		hi = page.Resume
	}
	if t.remembersReads() {
		t.reads.AddSpan(lo, hi)
	}
	return lo, hi
}

// noteSpans records the read of a page of several spans. It covers the spans done, up to end. A page
// behind which nothing is left loses its Resume.
func (t *Txn) noteSpans(spans []kvpb.Span, page *kvpb.ScanResponse) (done []kvpb.Span, end []byte) {
	start, end := kvpb.Bounds(spans)
	done = spans
	if page.Resume != nil {
		done = kvpb.Narrow(spans, start, page.Resume)
		if len(kvpb.Narrow(spans, page.Resume, end)) == 0 {
			page.Resume = nil // a boundary behind the last span, or a single key
		} else {
			end = page.Resume
		}
	}
	if t.remembersReads() {
		t.rememberSpans(done, end)
	}
	return done, end
}

// scanFirst reads a page of the first of several spans.
func (t *Txn) scanFirst(ctx context.Context, spans []kvpb.Span, o ScanOptions, res *kvpb.ScanResponse) error {
	start, end := kvpb.Bounds(spans[:1])
	err := t.Scan(ctx, start, end, o, res)
	if err == nil {
		resumeAfterFirst(spans, res)
	}
	return err
}

// resumeAfterFirst makes a page of the first of several spans one of all of them.
func resumeAfterFirst(spans []kvpb.Span, page *kvpb.ScanResponse) {
	switch {
	case page.Resume != nil && !spans[0].Before(page.Resume):
	case len(spans) > 1:
		page.Resume = bytes.Clone(spans[1].Key)
	default:
		page.Resume = nil
	}
}

// rememberSpans records the read of spans up to end.
func (t *Txn) rememberSpans(spans []kvpb.Span, end []byte) {
	for _, s := range spans {
		if len(s.EndKey) == 0 {
			t.reads.AddKey(s.Key)
		} else if s, ok := s.Clip(s.Key, end); ok {
			t.reads.AddSpan(s.Key, s.EndKey)
		}
	}
}

// mergeSpans is merge for several spans up to end.
func (t *Txn) mergeSpans(spans []kvpb.Span, end []byte, res *kvpb.ScanResponse) {
	own := t.own[:0]
	for _, s := range spans {
		s, ok := s.Clip(s.Key, end)
		if !ok {
			continue
		}
		for c := t.buf.Seek(s.Key, t.seq); c.Valid(); c.Next() {
			if !s.Contains(c.Key()) {
				break
			}
			val, del := c.Value()
			own = append(own, ownWrite{key: c.Key(), val: val, del: del})
		}
	}
	mergeOwn(&t.page, own, false, res)
	clear(own)
	t.own = own[:0]
}

// ownWrite is a write of the transaction in the range of a page.
type ownWrite struct {
	key, val []byte
	del      bool
}

// merge merges the page with the buffered writes of [lo, hi) in order. A buffered write hides the
// stored value.
func (t *Txn) merge(lo, hi []byte, reverse bool, res *kvpb.ScanResponse) {
	own := t.own[:0]
	for c := t.buf.Seek(lo, t.seq); c.Valid() && bytes.Compare(c.Key(), hi) < 0; c.Next() {
		val, del := c.Value()
		own = append(own, ownWrite{key: c.Key(), val: val, del: del})
	}
	mergeOwn(&t.page, own, reverse, res)
	clear(own)
	t.own = own[:0]
}

// mergeOwn merges stored rows, ordered as scanned, with own writes, ordered
// ascending.
func mergeOwn(page *kvpb.ScanResponse, own []ownWrite, reverse bool, res *kvpb.ScanResponse) {
	next := func() *ownWrite {
		if len(own) == 0 {
			return nil
		}
		if reverse {
			return &own[len(own)-1]
		}
		return &own[0]
	}
	pop := func() {
		if reverse {
			own = own[:len(own)-1]
		} else {
			own = own[1:]
		}
	}
	emit := func(w *ownWrite) {
		if !w.del {
			res.Append(w.key, w.val)
		}
		pop()
	}
	for i := range page.Len() {
		key := page.Key(i)
		hidden := false
		for w := next(); w != nil; w = next() {
			c := bytes.Compare(w.key, key)
			if reverse {
				c = -c
			}
			if c > 0 {
				break
			}
			hidden = hidden || c == 0
			emit(w)
		}
		if !hidden {
			res.Append(key, page.Value(i))
		}
	}
	for w := next(); w != nil; w = next() {
		emit(w)
	}
}
