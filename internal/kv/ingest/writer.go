package ingest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
)

// Limits of a Writer.
const (
	// runBytes bounds what it collects to be sorted.
	runBytes = 32 << 20
	// blockBytes is the size at which entries are written: that of a raft entry, and of a table.
	blockBytes = 1 << 20
	// writers is how many blocks are on their way at once: while one is synced, the next is made.
	writers = 2
	// scanRatio is how many keys are read one after the other in the time in which one is looked up.
	scanRatio = 10
)

// DuplicateError says that two entries of a unique index have the same key. The entry is one of them.
type DuplicateError struct {
	Index      int
	Key, Value []byte
}

// Error implements error.
func (e *DuplicateError) Error() string {
	return "ingest: two entries of a unique index have the same key"
}

// Writer writes the entries of new indexes.
type Writer struct {
	db   *kv.DB
	ctx  context.Context // of the blocks under way
	stop context.CancelFunc
	mem  quota.Account
	runs []run
	held int // bytes of all runs

	slots chan struct{}
	wg    sync.WaitGroup
	mu    sync.Mutex
	err   error // the first of a block
}

// New returns a Writer of indexes whose keys begin with the prefixes. Its memory counts against mem.
func New(ctx context.Context, db *kv.DB, mem *quota.Pool, prefixes [][]byte) *Writer {
	w := &Writer{db: db, runs: make([]run, len(prefixes)), slots: make(chan struct{}, writers)}
	w.ctx, w.stop = context.WithCancel(ctx)
	w.mem.Init(mem)
	for i, p := range prefixes {
		w.runs[i] = run{prefix: len(p), ordered: true}
	}
	return w
}

// Add takes an entry of an index, by its position among the prefixes. It may return the error of an earlier one.
func (w *Writer) Add(index int, key, value []byte, unique bool) error {
	n := len(key) + len(value) + entryBytes
	if w.mem.Grow(int64(n)) != nil {
		if err := w.emitAll(); err != nil {
			return err
		}
		if err := w.mem.Grow(int64(n)); err != nil {
			return err
		}
	}
	r := &w.runs[index]
	r.add(key, value, unique)
	w.held += n
	switch {
	case r.ordered && len(r.arena) >= blockBytes:
		return w.emit(index)
	case w.held >= runBytes:
		return w.emitAll()
	}
	return nil
}

// Finish writes what is left and waits until all is there.
func (w *Writer) Finish() error {
	if err := w.emitAll(); err != nil {
		return err
	}
	w.wg.Wait()
	return w.failed()
}

// Close gives up what is not written yet and waits for what is on its way. It must be called in the end.
func (w *Writer) Close() {
	w.stop()
	w.wg.Wait()
	w.mem.Close()
}

func (w *Writer) emitAll() error {
	for i := range w.runs {
		if err := w.emit(i); err != nil {
			return err
		}
	}
	return nil
}

// emit sorts a run and begins to write its blocks.
func (w *Writer) emit(index int) error {
	r := &w.runs[index]
	if len(r.entries) == 0 {
		return nil
	}
	r.sort()
	if err := w.verify(index); err != nil {
		return err
	}
	bytes := r.bytes()
	if last := r.key(&r.entries[len(r.entries)-1]); string(last) > string(r.max) {
		r.max = append(r.max[:0], last...)
	}
	r.written += len(r.entries)
	writes := r.take()
	for len(writes) > 0 {
		n := cut(writes)
		if err := w.write(writes[:n:n]); err != nil {
			return err
		}
		writes = writes[n:]
	}
	w.held -= bytes
	w.mem.Shrink(int64(bytes))
	return nil
}

// write begins to write a block when there is a slot for it.
func (w *Writer) write(block []kv.Write) error {
	w.slots <- struct{}{}
	if err := w.failed(); err != nil || w.ctx.Err() != nil {
		<-w.slots
		return cmp.Or(err, w.ctx.Err())
	}
	w.wg.Go(func() {
		if err := w.db.Ingest(w.ctx, block); err != nil {
			w.fail(err)
		}
		<-w.slots
	})
	return nil
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.stop()
	}
}

func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// verify looks for duplicates in a sorted run, and among what was written before.
func (w *Writer) verify(index int) error {
	r := &w.runs[index]
	for i := 1; i < len(r.entries); i++ {
		if a, b := &r.entries[i-1], &r.entries[i]; (a.unique || b.unique) && a.order == b.order && bytes.Equal(r.key(a), r.key(b)) {
			return r.duplicate(index, b)
		}
	}
	if r.max == nil || !slices.ContainsFunc(r.entries, func(e entry) bool { return e.unique }) {
		return nil
	}
	return w.verifyWritten(index)
}

// verifyWritten looks up the unique keys of a run that are not above all that was written before.
func (w *Writer) verifyWritten(index int) error {
	r := &w.runs[index]
	if bytes.Compare(r.key(&r.entries[0]), r.max) > 0 {
		return nil
	}
	w.wg.Wait() // for what was written before
	if err := w.failed(); err != nil {
		return err
	}
	txn := w.db.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead, ReadOnly: true})
	txn.BeginStatement()
	defer txn.Rollback(w.ctx)
	if r.written < scanRatio*len(r.entries) {
		return w.scanWritten(txn, index)
	}
	return w.getWritten(txn, index)
}

// scanWritten looks for the keys of a run while it reads all that lies between them.
func (w *Writer) scanWritten(txn *kv.Txn, index int) error {
	r := &w.runs[index]
	var page kv.ScanResult
	rest, end := r.entries, append(bytes.Clone(r.max), 0)
	for start := r.key(&rest[0]); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := txn.Scan(w.ctx, start, end, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			key := page.Key(i)
			for bytes.Compare(r.key(&rest[0]), key) < 0 {
				if rest = rest[1:]; len(rest) == 0 {
					return nil
				}
			}
			if rest[0].unique && bytes.Equal(r.key(&rest[0]), key) {
				return r.duplicate(index, &rest[0])
			}
		}
	}
	return nil
}

// getWritten looks for each key of a run.
func (w *Writer) getWritten(txn *kv.Txn, index int) error {
	r := &w.runs[index]
	for i := range r.entries {
		e := &r.entries[i]
		if bytes.Compare(r.key(e), r.max) > 0 {
			return nil
		}
		if !e.unique {
			continue
		}
		switch _, found, err := txn.Get(w.ctx, r.key(e)); {
		case err != nil:
			return err
		case found:
			return r.duplicate(index, e)
		}
	}
	return nil
}

func (r *run) duplicate(index int, e *entry) error {
	return &DuplicateError{Index: index, Key: bytes.Clone(r.key(e)), Value: bytes.Clone(r.value(e))}
}
