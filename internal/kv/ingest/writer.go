package ingest

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
)

// Limits of a Writer.
const (
	// fewBytes and FewEntries are how much the statement's transaction writes without a question.
	fewBytes   = 1 << 20
	FewEntries = 8192
	// runBytes bounds the entries that are collected to be sorted and ingested.
	runBytes = 32 << 20
	// blockBytes is the size at which entries are written: that of a raft entry, and of a table.
	blockBytes = 1 << 20
	// gentleBytes is that size where others write beside it: theirs wait behind a block that is being synced.
	gentleBytes = 128 << 10
)

// DuplicateError says that two entries of a unique index have the same key. The entry is the later one. Of several
// such entries it is the one of the lowest row, then of the lowest index and key.
type DuplicateError struct {
	Index      int
	Key, Value []byte
	Row        int64 // as given to Add
}

// Error implements error.
func (e *DuplicateError) Error() string {
	return "ingest: two entries of a unique index have the same key"
}

// Options describe a Writer.
type Options struct {
	// Prefixes are what the keys of each index begin with.
	Prefixes [][]byte
	// Memory is the pool that collected entries count against; nil: none.
	Memory *quota.Pool
	// Txn is the statement's transaction, which writes the entries if they are few.
	Txn *kv.Txn
	// Always says that a few entries are many: for tests.
	Always bool
	// Gently says, before each block, whether to write a smaller one, by itself: others use the ranges, and nobody waits
	// for the index. nil: never.
	Gently func() bool
	// Many is called once if the entries are many. It returns where other transactions ingest them, or nil if Txn has to
	// write these as well.
	Many func() (*Target, error)
}

// Target is where entries are ingested.
type Target struct {
	DB *kv.DB
	// Lease waits until blocks may be written for a while, and Until returns up to which timestamp; nil: they may be at all
	// times. An entry that another writer, which may do so no longer, has written before is not there twice if it is equal.
	Lease func(context.Context) error
	Until func() hlc.Timestamp
}

// Writer writes the entries of new indexes.
type Writer struct {
	ctx   context.Context
	o     Options
	mem   quota.Account
	runs  []run
	held  int // bytes of all runs
	count int // entries of all runs
	// out is where the entries go; nil as long as they are few.
	out output
	// block is the size of the next one, gentle that it is written by itself.
	block  int
	gentle bool
	// resumed says that entries may have been written before.
	resumed bool
}

// output is where a Writer's sorted entries go.
type output interface {
	// write writes a block, or begins to; one that is alone when no other is on its way.
	write(block []kv.Write, alone bool) error
	// find calls found with the position of each unique entry of a sorted run whose key was written before.
	find(r *run, found func(i int)) error
	// finish waits until everything is there.
	finish() error
	// close gives up what is on its way, and waits for its end.
	close()
}

// New returns a Writer.
func New(ctx context.Context, o Options) *Writer {
	w := &Writer{ctx: ctx, o: o, runs: make([]run, len(o.Prefixes)), block: blockBytes}
	w.mem.Init(o.Memory)
	for i, p := range o.Prefixes {
		w.runs[i] = run{prefix: len(p), ordered: true}
	}
	return w
}

// Add takes an entry of an index, by its position among the prefixes. It may return the error of an earlier one. row is the
// number of the row to which the entry belongs, not less than that of the entry before; 0 if errors need not name the first.
func (w *Writer) Add(index int, key, value []byte, unique bool, row int64) error {
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
	r.add(key, value, unique, row)
	w.held += n
	w.count++
	if w.out == nil && (w.o.Always || w.full()) {
		if err := w.decide(); err != nil {
			return err
		}
	}
	switch {
	case w.Beside() && r.ordered && len(r.arena) >= w.block:
		return w.emit(index)
	case w.full():
		return w.emitAll()
	}
	return nil
}

// full reports whether as much is collected as may be.
func (w *Writer) full() bool {
	if w.Beside() {
		return w.held >= runBytes
	}
	return w.held >= fewBytes || w.count >= FewEntries
}

// Beside reports whether other transactions than the statement's write the entries.
func (w *Writer) Beside() bool {
	_, ok := w.out.(*ingested)
	return ok
}

// Resume has the writer go on with what another one has begun: it ingests, and entries that are there already, and equal, are
// those of the same rows. It must come before Add.
func (w *Writer) Resume(t *Target) {
	w.resumed = true
	w.out = newIngested(w.ctx, t, true)
	for i, p := range w.o.Prefixes {
		w.runs[i].max = keys.PrefixEnd(p)
	}
	w.choose()
}

// Flush writes what was added, and waits until all is there, if the entries are ingested.
func (w *Writer) Flush() error {
	if !w.Beside() {
		return nil
	}
	if err := w.emitAll(); err != nil {
		return err
	}
	return w.out.finish()
}

// decide chooses where the entries go, which are many, unless that is known.
func (w *Writer) decide() error {
	if w.out != nil {
		return nil
	}
	to, err := w.o.Many()
	switch {
	case err != nil:
		return err
	case to == nil:
		w.out = &transactional{ctx: w.ctx, txn: w.o.Txn}
	default:
		w.out = newIngested(w.ctx, to, false)
	}
	w.choose()
	return nil
}

// choose decides on the next block.
func (w *Writer) choose() {
	w.block, w.gentle = blockBytes, false
	if w.o.Gently != nil && w.o.Gently() {
		w.block, w.gentle = gentleBytes, true
	}
}

// Finish writes what is left and waits until all is there.
func (w *Writer) Finish() error {
	if w.out == nil {
		w.out = &transactional{ctx: w.ctx, txn: w.o.Txn}
	}
	if err := w.emitAll(); err != nil {
		return err
	}
	return w.out.finish()
}

// Close gives up what is not written yet and waits for what is on its way. It must be called in the end.
func (w *Writer) Close() {
	if w.out != nil {
		w.out.close()
	}
	w.mem.Close()
}

func (w *Writer) emitAll() error {
	if err := w.decide(); err != nil {
		return err
	}
	for i := range w.runs {
		if err := w.emit(i); err != nil {
			return err
		}
	}
	return nil
}

// emit sorts a run, verifies it and writes its blocks.
func (w *Writer) emit(index int) error {
	r := &w.runs[index]
	if len(r.entries) == 0 {
		return nil
	}
	switch dup, err := w.verify(index); {
	case err != nil:
		return err
	case dup != nil:
		return w.Verify()
	}
	bytes, count := r.bytes(), len(r.entries)
	if last := r.key(&r.entries[count-1]); string(last) > string(r.max) {
		r.max = append(r.max[:0], last...)
	}
	r.written += count
	writes := r.take()
	for len(writes) > 0 {
		n := cut(writes, w.block)
		if err := w.out.write(writes[:n:n], w.gentle); err != nil {
			return err
		}
		writes = writes[n:]
		w.choose()
	}
	w.held -= bytes
	w.count -= count
	w.mem.Shrink(int64(bytes))
	return nil
}

// Verify looks for duplicates among all entries that were added.
func (w *Writer) Verify() error {
	var first *DuplicateError
	for i := range w.runs {
		switch dup, err := w.verify(i); {
		case err != nil:
			return err
		case dup != nil && (first == nil || dup.Row < first.Row):
			first = dup
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// verify sorts a run and looks for duplicates in it, and among what was written before.
func (w *Writer) verify(index int) (*DuplicateError, error) {
	r := &w.runs[index]
	if len(r.entries) == 0 {
		return nil, nil
	}
	r.sort()
	first := -1 // the duplicate to report
	found := func(i int) {
		if first < 0 || r.entries[i].row < r.entries[first].row {
			first = i
		}
	}
	unique := r.entries[0].unique()
	for i := 1; i < len(r.entries); i++ {
		a, b := &r.entries[i-1], &r.entries[i]
		unique = unique || b.unique()
		if (a.unique() || b.unique()) && r.sameKey(a, b) {
			found(i)
		}
	}
	if unique && r.max != nil && bytes.Compare(r.key(&r.entries[0]), r.max) <= 0 {
		if err := w.out.find(r, found); err != nil {
			return nil, err
		}
	}
	if first < 0 {
		return nil, nil
	}
	e := &r.entries[first]
	return &DuplicateError{Index: index, Key: bytes.Clone(r.key(e)), Value: bytes.Clone(r.value(e)), Row: r.first + int64(e.row)}, nil
}
