package coord

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Limits of the write buffer. A transaction that reaches maxBufferBytes gives its
// writes to the ranges, where they stay invisible until it commits.
const (
	maxBufferBytes = 16 << 20
	// spillChunkBytes bounds one request of a spill, and so the command that others who
	// write in the range, or whose messages take the same way, wait behind.
	spillChunkBytes = 512 << 10
	// spillParallel bounds the requests of a spill that are under way at a time.
	spillParallel = 8
	// spillOverhead is about what each write takes in that command beside its key and value:
	// its durable lock.
	spillOverhead = 128
	// freeBytes of a write buffer are not charged: most transactions need no more.
	freeBytes = 32 << 10
	// chargeBytes is the step in which larger buffers are charged.
	chargeBytes = 256 << 10
	// lockOverhead is what each write is charged beside what the buffer says: its row's
	// lock, and its place in the commit.
	lockOverhead = 160
)

// charge reserves the memory of a buffer that is about to grow by so many bytes.
func (t *Txn) charge(more int64) error {
	need := t.bufferBytes() + more - freeBytes - t.charged
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

func (t *Txn) bufferBytes() int64 { return t.buf.Bytes() + lockOverhead*int64(t.buf.Len()) }

// trim gives back what was reserved for writes that were undone.
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

// spillState is what the gateway remembers of writes that it no longer holds.
type spillState struct {
	base int // writes spilled or undone: positions of the buffer count from here
	// keep is the position of the oldest savepoint or snapshot that is not the present
	// statement's; it counts if kept is set.
	keep   int
	kept   bool
	anchor []byte    // first key spilled, nil if none
	span   kvpb.Span // of all keys spilled
}

// maybeSpill spills the buffer when it has grown too large. A statement whose
// writes spill goes on seeing what was there when it began.
func (t *Txn) maybeSpill(ctx context.Context) error {
	if t.buf.Bytes() < t.env.spillBytes() {
		return nil
	}
	return t.spillBuffer(ctx)
}

// SpillRest spills what a transaction that has spilled still buffers. Its commit then is
// short, whatever it wrote, and can be in time for a Deadline that is set afterwards.
func (t *Txn) SpillRest(ctx context.Context) error {
	if t.state != spilled || t.buf.Len() == 0 {
		return nil
	}
	return t.spillBuffer(ctx)
}

// spillBuffer gives what is buffered to the ranges.
func (t *Txn) spillBuffer(ctx context.Context) error {
	err := t.sendBuffer(ctx)
	t.mustRestart = t.mustRestart || err != nil && kvpb.Classify(err) == kvpb.ClassRetry
	return err
}

func (t *Txn) sendBuffer(ctx context.Context) error {
	chunks := t.spillChunks()
	if len(chunks) > 0 {
		first := chunks[0].Writes[0].Key
		last := chunks[len(chunks)-1].Writes
		t.spill.span = kvpb.Cover(kvpb.Cover(t.spill.span, first), last[len(last)-1].Key)
		t.state = spilled // even if it fails: a part may be there
		if t.spill.anchor == nil {
			// Its range has the record, which those who meet the other parts look for.
			t.spill.anchor = bytes.Clone(first)
			if err := t.sendSpills(ctx, chunks[:1]); err != nil {
				return err
			}
			chunks = chunks[1:]
		}
		if err := t.sendInParallel(ctx, chunks); err != nil {
			return err
		}
	}
	t.dropSpilledLocks()
	t.spill.base += t.buf.Len()
	t.buf.Reset()
	t.discharge()
	return nil
}

// spillsAtSnapshot reports whether what is spilled is to lie at the snapshot, where a SERIALIZABLE
// transaction commits if it can. It can't if it has locked a key with a later version, and what another
// node's clock has shown may be the snapshot of others too.
func (t *Txn) spillsAtSnapshot() bool {
	return t.opts.Isolation == kvpb.Serializable && !t.moved && t.minTS.Less(t.meta.ReadTS)
}

// spillChunks returns the requests that spill what is buffered, in the order of keys.
func (t *Txn) spillChunks() (chunks []kvpb.SpillRequest) {
	most := min(spillChunkBytes, int(t.env.spillBytes()/spillParallel))
	size, keep := most, t.oldestKept()
	locks := slices.Clone(t.locks)
	slices.SortFunc(locks, func(a, b lockedKey) int { return bytes.Compare(a.key, b.key) })
	var req *kvpb.SpillRequest
	for c := t.buf.Seek(nil, t.seq+1); c.Valid(); c.Next() {
		if size >= most { // all writes of a key go together
			chunks = append(chunks, kvpb.SpillRequest{Txn: &t.meta, Keep: uint64(keep), Statement: uint64(t.stmtBase), AtSnapshot: t.spillsAtSnapshot()})
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
				req.Locks, req.LockEpochs = append(req.Locks, l.key), append(req.LockEpochs, l.epoch)
			}
		}
	}
	return chunks
}

// sendInParallel sends runs of adjoining requests at the same time: they are probably for
// different ranges.
func (t *Txn) sendInParallel(ctx context.Context, chunks []kvpb.SpillRequest) error {
	var wg sync.WaitGroup
	errs := make([]error, min(spillParallel, len(chunks)))
	for i := range errs {
		run := chunks[i*len(chunks)/len(errs) : (i+1)*len(chunks)/len(errs)]
		wg.Go(func() { errs[i] = t.sendSpills(ctx, run) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Txn) sendSpills(ctx context.Context, chunks []kvpb.SpillRequest) error {
	for i := range chunks {
		chunks[i].Anchor = t.spill.anchor
		if err := t.env.Sender.Spill(ctx, &chunks[i]); err != nil {
			return err
		}
		chunks[i] = kvpb.SpillRequest{} // its memory may go
	}
	return nil
}

// oldestKept is the lowest position that the transaction may return to or read below.
func (t *Txn) oldestKept() int {
	if t.spill.kept {
		return min(t.spill.keep, t.stmtBase)
	}
	return t.stmtBase
}

// keepHistory makes spilled writes of one key be kept apart from now on, where so far
// the present statement's beginning was the only point that mattered.
func (t *Txn) keepHistory() {
	if !t.spill.kept {
		t.spill.keep, t.spill.kept = min(t.stmtBase, t.spill.base+t.buf.Len()), true
	}
}

// dropSpilledLocks forgets the row locks that durable locks now stand for: the spill has
// released them.
func (t *Txn) dropSpilledLocks() {
	kept := t.locks[:0]
	for _, l := range t.locks {
		if _, _, _, ok := t.buf.Get(l.key, t.seq+1); !ok {
			kept = append(kept, l)
		}
	}
	clear(t.locks[len(kept):])
	t.locks = kept
}

// visibleBelow is the position below which a read sees own writes: those of
// statements before below.
func (t *Txn) visibleBelow(below int32) uint64 {
	if below > t.seq {
		return 1 << 63 // every write
	}
	return uint64(t.stmtBase)
}

// getSpilled reads an own spilled write of a statement before below. self says that the
// present statement wrote it.
func (t *Txn) getSpilled(ctx context.Context, key []byte, below int32) (w kvpb.SpilledWrite, self, ok bool, err error) {
	resp, err := t.env.Sender.Spilled(ctx, &kvpb.SpilledRequest{
		Txn: &t.meta, Span: kvpb.Span{Key: key}, Below: t.visibleBelow(below),
	})
	if err != nil || len(resp.Writes) == 0 {
		return w, false, false, err
	}
	w = resp.Writes[0]
	return w, w.Position >= uint64(t.stmtBase), true, nil
}

// mergeSpilled puts a page together with the transaction's writes in [lo, hi),
// spilled and buffered. If there are too many of them it ends the page early.
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

// pageWithin returns how many of a page's first rows lie in [lo, hi).
func pageWithin(page *kvpb.ScanResponse, lo, hi []byte, reverse bool) int {
	return sort.Search(page.Len(), func(i int) bool {
		if reverse {
			return bytes.Compare(page.Key(i), lo) < 0
		}
		return bytes.Compare(page.Key(i), hi) >= 0
	})
}

// spillRollback undoes spilled writes since sp. Their locks went when they were spilled:
// what was seen under these has to hold as if it had been read.
func (t *Txn) spillRollback(ctx context.Context, sp Savepoint) error {
	if t.state != spilled || sp.writes >= t.spill.base {
		return nil
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
	return nil
}

func (t *Txn) abortSpilled(ctx context.Context) {
	if t.state == spilled {
		// What can't be undone now is undone when the range starts again.
		_ = t.env.Sender.Unspill(ctx, &kvpb.UnspillRequest{Txn: &t.meta, Anchor: t.spill.anchor, Abort: true, Span: t.spill.span})
	}
}
