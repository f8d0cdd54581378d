package coord

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Scan reads a page of [start, end) in the statement's snapshot, the
// transaction's own earlier writes included. While res.Resume is not nil there
// is more: continue with it as start, or as end in reverse.
func (t *Txn) Scan(ctx context.Context, start, end []byte, o ScanOptions, res *kvpb.ScanResponse) error {
	req := &t.scanReq
	req.Start, req.End, req.MaxKeys, req.MaxBytes, req.Reverse = start, end, o.MaxRows, o.MaxBytes, o.Reverse
	if req.MaxBytes == 0 {
		req.MaxBytes = maxPageBytes
	}
	own := t.buf.Len() > 0 || t.state == spilled
	page := res
	if own {
		page = &t.page
	}
	page.Reset()
	if err := t.scanStored(ctx, page); err != nil {
		return err
	}
	lo, hi := start, end
	if page.Resume != nil {
		if o.Reverse {
			lo = page.Resume
		} else {
			hi = page.Resume
		}
	}
	if t.remembersReads() {
		t.reads.AddSpan(lo, hi)
	}
	if !own {
		return nil
	}
	res.Reset()
	res.Resume = page.Resume
	if t.state == spilled {
		return t.mergeSpilled(ctx, lo, hi, o.Reverse, res)
	}
	t.merge(lo, hi, o.Reverse, res)
	return nil
}

// ownWrite is a write of the transaction within a page.
type ownWrite struct {
	key, val []byte
	del      bool
}

// merge puts the page and the buffered writes of [lo, hi) together in order; a
// buffered write hides the stored value.
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
