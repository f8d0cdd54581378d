package coord

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/lichendb/lichen/internal/kv/coord/writebuffer"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Limits of the write buffer. At maxBufferBytes a transaction spills: its ranges store the writes,
// invisible until it commits.
const (
	maxBufferBytes = 16 << 20
	// A transaction that has spilled spills again at one furtherSpills-th of that: the statement goes on
	// while the ranges store its writes, and its commit has little left to write.
	furtherSpills = 4
	// spillChunkBytes bounds one request of a spill, and so the size of its command. Other writes
	// of the range and messages on the same connection wait behind it.
	spillChunkBytes = 512 << 10
	// spillParallel bounds the concurrent requests of a spill.
	spillParallel = 8
	// spillOverhead estimates the size of a write's durable lock, which the command has in addition
	// to key and value.
	spillOverhead = 128
	// freeBytes of a write buffer are not charged: most transactions fit in them.
	freeBytes = 32 << 10
	// chargeBytes is the step in which larger buffers are charged.
	chargeBytes = 256 << 10
	// lockOverhead is charged for a write in addition to its place in the buffer: for its row lock
	// and its place in the commit.
	lockOverhead = 160
)

// charge reserves memory for a buffer that grows by more bytes.
func (t *Txn) charge(more int64) error {
	need := t.bufferBytes() + more - freeBytes - t.charged
	if need <= 0 || t.env.Mem == nil {
		return nil
	}
	need = max(need, chargeBytes)
	if err := t.env.Mem.Reserve(need); err != nil {
		if t.spill.flight == nil || t.awaitSpill() != nil {
			return err
		}
		return t.charge(more) // the memory of the spill is free now
	}
	t.charged += need
	return nil
}

func (t *Txn) bufferBytes() int64 { return t.buf.Bytes() + lockOverhead*int64(t.buf.Len()) }

// trim gives back the memory that was reserved for writes that were rolled back.
func (t *Txn) trim() {
	need := max(t.bufferBytes()-freeBytes, 0)
	if t.charged-need >= chargeBytes {
		t.env.Mem.Release(t.charged - need)
		t.charged = need
	}
}

// discharge gives back what charge reserved.
func (t *Txn) discharge() {
	if t.charged > 0 {
		t.env.Mem.Release(t.charged)
		t.charged = 0
	}
}

// forgetSpilled gives back the memory of what the transaction knows of its spilled keys.
func (t *Txn) forgetSpilled() {
	t.spill.keys.acc.Close()
	t.spill.keys = spilledKeys{}
}

// spillState is the gateway's knowledge of the writes that it has spilled.
type spillState struct {
	base int // number of writes spilled or undone; the buffer's positions count from here
	// keep is the position of the oldest savepoint or snapshot other than the present statement's;
	// valid if kept is set.
	keep   int
	kept   bool
	anchor []byte    // first key spilled, nil if none
	span   kvpb.Span // of all keys spilled
	keys   spilledKeys
	flight *spillFlight // nil: no spill is under way
	torn   bool         // a spill failed: ranges may have stored some of the buffer's writes
}

// maybeSpill spills a buffer that has grown too large. The present statement still sees the state
// at its beginning.
func (t *Txn) maybeSpill(ctx context.Context) error {
	most := t.env.spillBytes()
	if t.spill.flight != nil || t.state == spilled {
		most /= furtherSpills
	}
	if t.buf.Bytes() < most {
		return nil
	}
	return t.beginSpill(ctx)
}

// SpillRest spills the rest of the buffer of a transaction that has spilled. Its commit is then
// short whatever it wrote, and can meet a Deadline that is set afterwards. If ctx ends before, the
// transaction must be rolled back.
func (t *Txn) SpillRest(ctx context.Context) error {
	if t.state != spilled {
		return nil
	}
	defer t.SetSpillContext(t.spillCtx)
	t.SetSpillContext(ctx)
	if err := t.beginSpill(ctx); err != nil {
		return err
	}
	return t.awaitSpill()
}

// spillsAtSnapshot reports whether spilled versions should be written at the snapshot, where a
// SERIALIZABLE transaction commits if it can. It can't if it has locked a key with a later version.
// Nor does it if the snapshot came from another node's clock: another transaction may have the same
// one.
func (t *Txn) spillsAtSnapshot() bool {
	return t.opts.Isolation == kvpb.Serializable && !t.moved && t.minTS.Less(t.meta.ReadTS)
}

// spillChunks returns the requests that spill the buffer, in key order.
func (t *Txn) spillChunks() (chunks []kvpb.SpillRequest) {
	most := min(spillChunkBytes, int(t.env.spillBytes()/spillParallel))
	size, keep := most, t.oldestKept()
	locks := slices.Clone(t.locks)
	slices.SortFunc(locks, func(a, b lockedKey) int { return bytes.Compare(a.key, b.key) })
	var req *kvpb.SpillRequest
	for c := t.buf.Seek(nil, t.newest+1); c.Valid(); c.Next() {
		if size >= most { // all writes of a key are in one request
			next := kvpb.SpillRequest{Keep: uint64(keep), Statement: uint64(t.stmtBase), AtSnapshot: t.spillsAtSnapshot()}
			if req != nil { // probably as many writes as before
				next.Writes, next.Positions = make([]kvpb.Write, 0, len(req.Writes)), make([]uint64, 0, len(req.Positions))
				next.Locks, next.LockTableIDs = make([][]byte, 0, len(req.Locks)), make([]uint64, 0, len(req.LockTableIDs))
			}
			chunks = append(chunks, next)
			req, size = &chunks[len(chunks)-1], 0
		}
		c.History(keep-t.spill.base, func(position int, val []byte, del bool) {
			w := kvpb.Write{Key: c.Key()}
			if !del {
				w.Value = val
			}
			req.Writes = append(req.Writes, w)
			req.Positions = append(req.Positions, uint64(t.spill.base+position))
			size += len(w.Key) + len(w.Value) + spillOverhead
		})
		for ; len(locks) > 0 && bytes.Compare(locks[0].key, c.Key()) <= 0; locks = locks[1:] {
			if l := &locks[0]; bytes.Equal(l.key, c.Key()) {
				req.Locks, req.LockTableIDs = append(req.Locks, l.key), append(req.LockTableIDs, l.lockTable)
			}
		}
	}
	return chunks
}

// oldestKept is the lowest position that the transaction may roll back to or read below.
func (t *Txn) oldestKept() int {
	if t.spill.kept {
		return min(t.spill.keep, t.stmtBase)
	}
	return t.stmtBase
}

// keepHistory makes later spills keep the versions of one key apart. Before, only the beginning of
// the present statement mattered.
func (t *Txn) keepHistory() {
	if !t.spill.kept {
		t.spill.keep, t.spill.kept = min(t.stmtBase, t.spill.base+t.buf.Len()), true
	}
}

// dropSpilledLocks drops the row locks that the spill of buf replaced by durable locks and released.
func (t *Txn) dropSpilledLocks(buf *writebuffer.Buffer) {
	kept, c := t.locks[:0], buf.Seek(nil, math.MaxInt32)
	for _, l := range t.locks { // mostly in the order of the keys
		if !c.Valid() || !bytes.Equal(c.Key(), l.key) {
			c = buf.Seek(l.key, math.MaxInt32)
		}
		if c.Valid() && bytes.Equal(c.Key(), l.key) {
			c.Next()
		} else {
			kept = append(kept, l)
		}
	}
	clear(t.locks[len(kept):])
	t.locks = kept
}

// visibleBelow is the position below which own writes are visible to a read: those of statements
// before below.
func (t *Txn) visibleBelow(below int32) uint64 {
	if below > t.seq {
		return 1 << 63 // every write
	}
	return uint64(t.stmtBase)
}

// getSpilled reads an own spilled write of a statement before below. self reports whether the
// present statement wrote it.
func (t *Txn) getSpilled(ctx context.Context, key []byte, below int32) (w kvpb.SpilledWrite, self, ok bool, err error) {
	if !t.spill.span.Contains(key) || !t.spill.keys.mayHold(key) {
		return w, false, false, nil
	}
	if err := t.endSpill(); err != nil {
		return w, false, false, err
	}
	resp, err := t.env.Sender.Spilled(ctx, &kvpb.SpilledRequest{
		Txn: &t.meta, Span: kvpb.Span{Key: key}, Below: t.visibleBelow(below),
	})
	if err != nil || len(resp.Writes) == 0 {
		return w, false, false, err
	}
	w = resp.Writes[0]
	return w, w.Position >= uint64(t.stmtBase), true, nil
}

// mergeSpilled merges a page with the transaction's writes in [lo, hi), spilled and buffered. It
// ends the page early if there are too many of them.
func (t *Txn) mergeSpilled(ctx context.Context, lo, hi []byte, reverse bool, res *kvpb.ScanResponse) error {
	disk, err := t.env.Sender.Spilled(ctx, &kvpb.SpilledRequest{
		Txn: &t.meta, Span: kvpb.Span{Key: lo, EndKey: hi}, Below: t.visibleBelow(t.seq),
		MaxBytes: maxPageBytes, Reverse: reverse,
	})
	if err != nil {
		return err
	}
	if disk.Resume != nil {
		res.Resume = disk.Resume
		if reverse {
			lo = disk.Resume
		} else {
			hi = disk.Resume
		}
		t.page.Truncate(pageWithin(&t.page, lo, hi, reverse))
	}
	var own []ownWrite
	add := func(w ownWrite) { own = append(own, w) }
	c := t.buf.Seek(lo, t.seq)
	inBuffer := func() bool { return c.Valid() && bytes.Compare(c.Key(), hi) < 0 }
	for _, w := range disk.Writes {
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

// pageWithin returns how many leading rows of a page are in [lo, hi).
func pageWithin(page *kvpb.ScanResponse, lo, hi []byte, reverse bool) int {
	return sort.Search(page.Len(), func(i int) bool {
		if reverse {
			return bytes.Compare(page.Key(i), lo) < 0
		}
		return bytes.Compare(page.Key(i), hi) >= 0
	})
}

// spillRollback undoes the spilled writes since sp. The spill released their row locks, so the keys
// must now stay unchanged as if they had been read. It returns a retry error if a failed spill may
// have stored some writes since sp while others from before are only in the buffer. If ctx ends before,
// nothing is undone.
func (t *Txn) spillRollback(ctx context.Context, sp Savepoint) error {
	if err := t.spill.await(ctx); err != nil {
		return err
	}
	_ = t.endSpill() // after an error its writes are in the buffer
	switch {
	case t.state != spilled || sp.writes >= t.spill.base && !t.spill.torn:
		return nil
	case sp.writes > t.spill.base:
		return &kvpb.RetryError{Reason: "a large write before the rollback to a savepoint has failed half-way", Key: t.spill.anchor}
	}
	if t.remembersReads() {
		seen := []kvpb.Span{t.spill.span}
		err := t.env.Sender.Refresh(ctx, &kvpb.RefreshRequest{Txn: &t.meta, Spans: seen, From: t.meta.ReadTS, To: t.meta.ReadTS})
		if err != nil {
			return err
		}
		t.reads.AddSpan(t.spill.span.Key, t.spill.span.EndKey)
	}
	err := t.env.Sender.Unspill(ctx, &kvpb.UnspillRequest{Txn: &t.meta, Anchor: t.spill.anchor, From: uint64(sp.writes), Span: t.spill.span})
	if err != nil {
		return err
	}
	t.spill.base += t.buf.Len()
	t.buf.Reset()
	t.spill.torn = false
	return nil
}

func (t *Txn) abortSpilled(ctx context.Context) {
	if t.detach() {
		return
	}
	if f := t.spill.flight; f != nil {
		f.stopped.Store(true)
	}
	_ = t.endSpill()
	if t.state == spilled {
		// If this fails, the range undoes the writes when it starts again.
		_ = t.env.Sender.Unspill(ctx, &kvpb.UnspillRequest{Txn: &t.meta, Anchor: t.spill.anchor, Abort: true, Span: t.spill.span})
	}
}
