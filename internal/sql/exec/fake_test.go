package exec

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"testing"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fakeStore is a multi-version map with row locks, for one goroutine: what would
// wait calls onWait instead, which must make the lock free.
type fakeStore struct {
	clock    int
	versions map[string][]fakeVersion // oldest first
	locks    map[string]*fakeTxn
	onWait   func(holder *fakeTxn)
	pageRows int // largest page, to exercise paging
	gets     int
	scans    int
	lockings int
}

type fakeVersion struct {
	ts    int
	value []byte // nil: deleted
}

func newFakeStore() *fakeStore {
	return &fakeStore{versions: map[string][]fakeVersion{}, locks: map[string]*fakeTxn{}}
}

type fakeWrite struct {
	seq   int
	value []byte
}

// fakeTxn has statement snapshots and sees its own earlier statements' writes.
type fakeTxn struct {
	s      *fakeStore
	iso    kvpb.Isolation
	readTS int
	seq    int
	writes map[string][]fakeWrite
	held   []string
	buf    []byte // what the last Get or Lock returned, overwritten by the next call
}

func (s *fakeStore) begin(iso kvpb.Isolation) *fakeTxn {
	t := &fakeTxn{s: s, iso: iso, writes: map[string][]fakeWrite{}}
	t.BeginStatement()
	return t
}

func (t *fakeTxn) BeginStatement() {
	t.seq++
	if t.seq == 1 || t.iso == kvpb.ReadCommitted {
		t.readTS = t.s.clock
	}
}

func (t *fakeTxn) LockAhead(context.Context, [][]byte, lock.Strength) error { return nil }

func (t *fakeTxn) LockUnchanged(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (kv.LockResult, error) {
	return t.Lock(ctx, key, s, w)
}

func (t *fakeTxn) LockUnchangedAhead(context.Context, [][]byte, lock.Strength) error { return nil }

func (t *fakeTxn) BeginCheck(bool)               { t.BeginStatement() }
func (t *fakeTxn) EndCheck()                     {}
func (t *fakeTxn) Freshen(context.Context) error { return nil }

func (t *fakeTxn) Isolation() kvpb.Isolation { return t.iso }

func (s *fakeStore) at(key string, ts int) (v fakeVersion, ok bool) {
	vs := s.versions[key]
	for i := len(vs) - 1; i >= 0; i-- {
		if vs[i].ts <= ts {
			return vs[i], true
		}
	}
	return v, false
}

// own returns the transaction's newest write before statement seq.
func (t *fakeTxn) own(key string, seq int) (w fakeWrite, ok bool) {
	ws := t.writes[key]
	for i := len(ws) - 1; i >= 0; i-- {
		if ws[i].seq < seq {
			return ws[i], true
		}
	}
	return w, false
}

// lend returns a copy that the next call destroys.
func (t *fakeTxn) lend(v []byte) []byte {
	for i := range t.buf {
		t.buf[i] = 0xAA
	}
	t.buf = append(t.buf[:0], v...)
	return t.buf
}

func (t *fakeTxn) read(key string, seq int) ([]byte, bool) {
	if w, ok := t.own(key, seq); ok {
		return w.value, w.value != nil
	}
	v, ok := t.s.at(key, t.readTS)
	return v.value, ok && v.value != nil
}

func (t *fakeTxn) Get(ctx context.Context, key []byte) ([]byte, bool, error) {
	t.s.gets++
	v, ok := t.read(string(key), t.seq)
	return t.lend(v), ok, ctx.Err()
}

func (t *fakeTxn) Lock(ctx context.Context, key []byte, _ lock.Strength, w lock.WaitPolicy) (kv.LockResult, error) {
	t.s.lockings++
	k := string(key)
	for h := t.s.locks[k]; h != nil && h != t; h = t.s.locks[k] {
		switch {
		case w == lock.WaitSkip:
			return kv.LockResult{Skipped: true}, nil
		case w == lock.WaitError || t.s.onWait == nil:
			return kv.LockResult{}, &kvpb.LockNotAvailableError{}
		}
		t.s.onWait(h)
	}
	if t.s.locks[k] == nil {
		t.s.locks[k] = t
		t.held = append(t.held, k)
	}
	if own, ok := t.own(k, t.seq+1); ok {
		return kv.LockResult{Value: t.lend(own.value), Found: own.value != nil, Self: own.seq == t.seq}, nil
	}
	v, ok := t.s.at(k, t.s.clock)
	res := kv.LockResult{Value: t.lend(v.value), Found: ok && v.value != nil, Changed: ok && v.ts > t.readTS}
	if res.Changed && t.iso != kvpb.ReadCommitted {
		return kv.LockResult{}, &kvpb.RetryError{Reason: "changed"}
	}
	return res, ctx.Err()
}

func (t *fakeTxn) Scan(ctx context.Context, start, end []byte, o kv.ScanOptions, res *kv.ScanResult) error {
	t.s.scans++
	var keys []string
	collect := func(k string) {
		if k >= string(start) && k < string(end) && !slices.Contains(keys, k) {
			if _, ok := t.read(k, t.seq); ok {
				keys = append(keys, k)
			}
		}
	}
	for k := range t.s.versions {
		collect(k)
	}
	for k := range t.writes {
		collect(k)
	}
	sort.Strings(keys)
	if o.Reverse {
		slices.Reverse(keys)
	}
	for i := range res.Arena {
		res.Arena[i] = 0xAA
	}
	res.Reset()
	limit := len(keys)
	if o.MaxRows > 0 {
		limit = min(limit, o.MaxRows)
	}
	if t.s.pageRows > 0 {
		limit = min(limit, t.s.pageRows)
	}
	for i, k := range keys[:limit] {
		v, _ := t.read(k, t.seq)
		res.Append([]byte(k), v)
		if i == limit-1 && limit < len(keys) {
			if o.Reverse {
				res.Resume = []byte(k)
			} else {
				res.Resume = []byte(keys[limit])
			}
		}
	}
	return ctx.Err()
}

// ScanSpans reads a page of the keys in several spans.
func (t *fakeTxn) ScanSpans(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kv.ScanResult) error {
	t.s.scans++
	var all kvpb.ScanResponse
	for _, s := range spans {
		start, end := kvpb.Bounds([]kvpb.Span{s})
		var part kvpb.ScanResponse
		paged := t.s.pageRows
		t.s.pageRows = 0
		err := t.Scan(ctx, start, end, kv.ScanOptions{}, &part)
		t.s.scans--
		t.s.pageRows = paged
		if err != nil {
			return err
		}
		for i := range part.Len() {
			all.Append(part.Key(i), part.Value(i))
		}
	}
	limit := all.Len()
	for _, most := range []int{o.MaxRows, t.s.pageRows} {
		if most > 0 {
			limit = min(limit, most)
		}
	}
	for i := range res.Arena {
		res.Arena[i] = 0xAA
	}
	res.Reset()
	for i := range limit {
		res.Append(all.Key(i), all.Value(i))
	}
	if limit < all.Len() {
		res.Resume = append(bytes.Clone(all.Key(limit-1)), 0)
	}
	return ctx.Err()
}

// ReadAhead never does.
func (t *fakeTxn) ReadAhead(context.Context, []kvpb.Span, kv.ScanOptions, *kv.ScanResult, func()) *kv.ReadAhead {
	return nil
}

func (t *fakeTxn) write(key string, value []byte) error {
	t.writes[key] = append(t.writes[key], fakeWrite{t.seq, value})
	return nil
}

func (t *fakeTxn) ReserveMemory(int) error { return nil }
func (t *fakeTxn) Put(key, value []byte) error {
	return t.write(string(key), append([]byte{}, value...))
}
func (t *fakeTxn) PutOwned(key, value []byte) error { return t.write(string(key), value) }
func (t *fakeTxn) Delete(key []byte) error          { return t.write(string(key), nil) }

func (t *fakeTxn) commit() {
	t.s.clock++
	for k, ws := range t.writes {
		t.s.versions[k] = append(t.s.versions[k], fakeVersion{t.s.clock, ws[len(ws)-1].value})
	}
	t.rollback()
}

func (t *fakeTxn) rollback() {
	for _, k := range t.held {
		delete(t.s.locks, k)
	}
	t.held, t.writes = nil, map[string][]fakeWrite{}
}

var _ tableaccess.Txn = (*fakeTxn)(nil)
var _ tableaccess.Txn = (*kv.Txn)(nil)

func TestFakeTxn(t *testing.T) {
	s := newFakeStore()
	a := s.begin(kvpb.ReadCommitted)
	_ = a.Put([]byte("k"), []byte("1"))
	if _, ok, _ := a.Get(context.Background(), []byte("k")); ok {
		t.Fatal("a statement sees its own writes")
	}
	a.BeginStatement()
	if v, ok, _ := a.Get(context.Background(), []byte("k")); !ok || !bytes.Equal(v, []byte("1")) {
		t.Fatal("a later statement does not see them")
	}
	b := s.begin(kvpb.ReadCommitted)
	a.commit()
	if r, err := b.Lock(context.Background(), []byte("k"), lock.Update, lock.WaitBlock); err != nil || !r.Changed || !r.Found {
		t.Fatalf("%+v %v", r, err)
	}
}

func newCanned(t testing.TB, w *world) *canned {
	txn := w.store.begin(kvpb.ReadCommitted)
	x := w.tables["t"]
	tw, err := tableaccess.NewWriter(x)
	if err != nil {
		t.Fatal(err)
	}
	value, err := tw.PrimaryValue(types.Row{types.NewInt(1), types.NewInt(10), types.NewString("x")})
	if err != nil {
		t.Fatal(err)
	}
	return &canned{fakeTxn: txn, value: bytes.Clone(value), primary: rowcodec.IndexPrefix(x, x.Primary())}
}

func (c *canned) Get(context.Context, []byte) ([]byte, bool, error) { return c.value, true, nil }
func (c *canned) Lock(_ context.Context, key []byte, _ lock.Strength, _ lock.WaitPolicy) (kv.LockResult, error) {
	// Keys of the primary index exist, those of the unique one do not.
	return kv.LockResult{Value: c.value, Found: bytes.HasPrefix(key, c.primary)}, nil
}
func (c *canned) Put(_, _ []byte) error { c.puts++; return nil }
func (c *canned) Delete([]byte) error   { return nil }
