package coord

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Limits of the write buffer. A transaction that reaches spillBytes gives its
// writes to the ranges, where they stay invisible until it commits.
const (
	spillBytes = 16 << 20
	// spillChunkBytes bounds one request of a spill.
	spillChunkBytes = 4 << 20
	// freeBytes of a write buffer are not charged: most transactions need no more.
	freeBytes = 32 << 10
	// chargeBytes is the step in which larger buffers are charged.
	chargeBytes = 256 << 10
	// lockOverhead is what each write is charged beside what the buffer says: its row's
	// lock, and its place in the commit.
	lockOverhead = 160
)

// charge reserves the memory of a buffer that grows.
func (t *Txn) charge() error {
	need := t.buf.Bytes() + lockOverhead*int64(t.buf.Len()) - freeBytes - t.charged
	if need <= 0 || t.env.Mem == nil {
		return nil
	}
	need = max(need, chargeBytes)
	if err := t.env.Mem.Reserve(need); err != nil {
		return err
	}
	t.charged += need
	return nil
}

// discharge gives back what charge reserved.
func (t *Txn) discharge() {
	if t.charged > 0 {
		t.env.Mem.Release(t.charged)
		t.charged = 0
	}
}

// spillState is what the gateway remembers of writes that it no longer holds.
type spillState struct {
	base   int       // writes spilled or undone: positions of the buffer count from here
	anchor []byte    // first key spilled, nil if none
	span   kvpb.Span // of all keys spilled
}

// maybeSpill spills the buffer when it has grown too large. A statement whose
// writes spill goes on seeing what was there when it began.
func (t *Txn) maybeSpill(ctx context.Context) error {
	if t.buf.Bytes() < spillBytes {
		return nil
	}
	var req kvpb.SpillRequest
	size := 0
	flush := func() error {
		if len(req.Writes) == 0 {
			return nil
		}
		if t.spill.anchor == nil {
			t.spill.anchor = bytes.Clone(req.Writes[0].Key)
		}
		t.spill.span = kvpb.Cover(kvpb.Cover(t.spill.span, req.Writes[0].Key), req.Writes[len(req.Writes)-1].Key)
		t.state = spilled // even if it fails: a part may be there
		req.Txn, req.Anchor = &t.meta, t.spill.anchor
		if err := t.env.Sender.Spill(ctx, &req); err != nil {
			return err
		}
		req, size = kvpb.SpillRequest{}, 0
		return nil
	}
	for c := t.buf.Seek(nil, t.seq+1); c.Valid(); c.Next() {
		w := kvpb.Write{Key: c.Key()}
		if val, del := c.Value(); !del {
			w.Value = val
		}
		req.Writes = append(req.Writes, w)
		req.Positions = append(req.Positions, uint64(t.spill.base+c.Position()))
		if size += len(w.Key) + len(w.Value); size >= spillChunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	t.dropSpilledLocks(ctx)
	t.spill.base += t.buf.Len()
	t.buf.Reset()
	t.discharge()
	return nil
}

// dropSpilledLocks gives up the row locks that durable locks now stand for.
func (t *Txn) dropSpilledLocks(ctx context.Context) {
	kept := t.locks[:0]
	t.lockKeys = t.lockKeys[:0]
	for _, l := range t.locks {
		if _, _, _, ok := t.buf.Get(l.key, t.seq+1); ok {
			t.lockKeys = append(t.lockKeys, l.key)
		} else {
			kept = append(kept, l)
		}
	}
	clear(t.locks[len(kept):])
	t.locks = kept
	if len(t.lockKeys) > 0 {
		_ = t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.lockKeys})
	}
}

// visibleBelow is the position below which a read sees own writes: those of
// statements before below.
func (t *Txn) visibleBelow(below int32) uint64 {
	if below > t.seq {
		return 1 << 63 // every write
	}
	return uint64(t.stmtBase)
}

// getSpilled reads an own spilled write of a statement before below.
func (t *Txn) getSpilled(ctx context.Context, key []byte, below int32) (val []byte, found, ok bool, err error) {
	w, err := t.env.Sender.Spilled(ctx, &kvpb.SpilledRequest{
		Txn: &t.meta, Span: kvpb.Span{Key: key}, Below: t.visibleBelow(below),
	})
	if err != nil || len(w) == 0 {
		return nil, false, false, err
	}
	return w[0].Value, !w[0].Deleted, true, nil
}

// mergeSpilled puts a page together with the transaction's writes in [lo, hi),
// spilled and buffered.
func (t *Txn) mergeSpilled(ctx context.Context, lo, hi []byte, reverse bool, res *kvpb.ScanResponse) error {
	disk, err := t.env.Sender.Spilled(ctx, &kvpb.SpilledRequest{
		Txn: &t.meta, Span: kvpb.Span{Key: lo, EndKey: hi}, Below: t.visibleBelow(t.seq),
	})
	if err != nil {
		return err
	}
	var own []ownWrite
	add := func(w ownWrite) { own = append(own, w) }
	c := t.buf.Seek(lo, t.seq)
	inBuffer := func() bool { return c.Valid() && bytes.Compare(c.Key(), hi) < 0 }
	for _, w := range disk {
		for inBuffer() && bytes.Compare(c.Key(), w.Key) < 0 {
			val, del := c.Value()
			add(ownWrite{key: c.Key(), val: val, del: del})
			c.Next()
		}
		if inBuffer() && bytes.Equal(c.Key(), w.Key) {
			continue // the buffered write is newer; the loop above adds it
		}
		add(ownWrite{key: w.Key, val: w.Value, del: w.Deleted})
	}
	for ; inBuffer(); c.Next() {
		val, del := c.Value()
		add(ownWrite{key: c.Key(), val: val, del: del})
	}
	mergeOwn(&t.page, own, reverse, res)
	return nil
}

// spillRollback undoes spilled writes since sp.
func (t *Txn) spillRollback(ctx context.Context, sp Savepoint) error {
	if t.state != spilled || sp.writes >= t.spill.base {
		return nil
	}
	err := t.env.Sender.Unspill(ctx, &kvpb.UnspillRequest{Txn: &t.meta, Anchor: t.spill.anchor, From: uint64(sp.writes), Span: t.spill.span})
	if err != nil {
		return err
	}
	t.spill.base += t.buf.Len()
	t.buf.Reset()
	return nil
}

func (t *Txn) abortSpilled(ctx context.Context) {
	if t.state == spilled {
		// What can't be undone now is undone when the range starts again.
		_ = t.env.Sender.Unspill(ctx, &kvpb.UnspillRequest{Txn: &t.meta, Anchor: t.spill.anchor, Abort: true, Span: t.spill.span})
	}
}
