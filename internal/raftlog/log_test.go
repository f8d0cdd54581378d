package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

const testDir = "store/log"

// testOptions returns options whose random ids differ from one call to the
// next, as those of two processes would.
func testOptions(f fs.FS) Options {
	n := opened.Add(1) << 10
	return Options{FS: sealedFS(f), Dir: testDir, SegmentBytes: 16 << 10, Recycle: 2, CacheBytes: 8 << 10,
		Rand: func() uint64 { n++; return n * 0x9e3779b97f4a7c15 }}
}

var opened atomic.Uint64

func newTestFS(t testing.TB) *fs.MemFS {
	t.Helper()
	m := fs.NewCrashableMem()
	if err := m.MkdirAll("store", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fs.SyncDir(m, "/"); err != nil {
		t.Fatal(err)
	}
	return m
}

func mustOpen(t testing.TB, f fs.FS) *Log {
	t.Helper()
	l, err := Open(testOptions(f))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func payload(g GroupID, index, term uint64, size int) []byte {
	b := []byte(fmt.Sprintf("%d/%d/%d:", g, index, term))
	for len(b) < size {
		b = append(b, byte(len(b)*7+int(index)))
	}
	return b
}

func entries(g GroupID, first, n, term uint64, size int) []Entry {
	var out []Entry
	for i := range n {
		out = append(out, Entry{Index: first + i, Term: term, Type: uint8((first + i) % 3), Data: payload(g, first+i, term, size)})
	}
	return out
}

func appendN(t testing.TB, l *Log, g GroupID, first, n, term uint64, size int) {
	t.Helper()
	err := l.Append([]Write{{Group: g, Replica: 1, Entries: entries(g, first, n, term, size), HardState: &HardState{Term: term, Commit: first}}})
	if err != nil {
		t.Fatalf("append %d+%d: %v", first, n, err)
	}
}

func checkEntries(t testing.TB, l *Log, g GroupID, want []Entry) {
	t.Helper()
	if len(want) == 0 {
		if l.FirstIndex(g) != l.LastIndex(g)+1 {
			t.Fatalf("group %d: log is [%d, %d], want it empty", g, l.FirstIndex(g), l.LastIndex(g))
		}
		return
	}
	lo, hi := want[0].Index, want[len(want)-1].Index+1
	if l.FirstIndex(g) != lo || l.LastIndex(g) != hi-1 {
		t.Fatalf("group %d: log is [%d, %d], want [%d, %d]", g, l.FirstIndex(g), l.LastIndex(g), lo, hi-1)
	}
	got, err := l.Entries(g, lo, hi, noIndex)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("group %d: %d entries, want %d", g, len(got), len(want))
	}
	for i := range want {
		w, h := want[i], got[i]
		if w.Index != h.Index || w.Term != h.Term || w.Type != h.Type || !bytes.Equal(w.Data, h.Data) {
			t.Fatalf("group %d: entry %d is %v, want %v", g, w.Index, h, w)
		}
		if term, err := l.Term(g, w.Index); err != nil || term != w.Term {
			t.Fatalf("group %d: term of %d is %d, %v", g, w.Index, term, err)
		}
	}
}

func TestAppendReopen(t *testing.T) {
	f := newTestFS(t)
	l := mustOpen(t, f)
	appendN(t, l, 7, 1, 5, 1, 100)
	appendN(t, l, 7, 4, 3, 2, 100) // replaces 4 and 5
	appendN(t, l, 9, 1, 1, 1, 0)
	if err := l.Reset(12, 3, 100, 5); err != nil {
		t.Fatal(err)
	}
	want := append(entries(7, 1, 3, 1, 100), entries(7, 4, 3, 2, 100)...)
	check := func() {
		t.Helper()
		checkEntries(t, l, 7, want)
		checkEntries(t, l, 9, entries(9, 1, 1, 1, 0))
		checkEntries(t, l, 12, nil)
		if s, ok := l.State(12); !ok || s.Truncated != (Mark{100, 5}) || s.Replica != 3 || s.Last != 100 {
			t.Fatalf("state of group 12 is %+v, %v", s, ok)
		}
		if h, ok := l.HardState(7); !ok || h != (HardState{Term: 2, Commit: 4}) {
			t.Fatalf("hard state of group 7 is %+v, %v", h, ok)
		}
		if g := l.Groups(); fmt.Sprint(g) != "[7 9 12]" {
			t.Fatalf("groups are %v", g)
		}
	}
	check()
	for range 3 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = mustOpen(t, f)
		check()
	}
	if err := l.Truncate(7, 5, 2); err != nil {
		t.Fatal(err)
	}
	if err := l.Destroy(9, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Term(7, 4); !errors.Is(err, ErrCompacted) {
		t.Fatalf("term of a truncated entry: %v", err)
	}
	if _, err := l.Entries(7, 6, 8, 1); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("entries beyond the last: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, f)
	checkEntries(t, l, 7, want[5:])
	if term, err := l.Term(7, 5); err != nil || term != 2 {
		t.Fatalf("term of the truncation mark is %d, %v", term, err)
	}
	if g := l.Groups(); fmt.Sprint(g) != "[7 12]" {
		t.Fatalf("groups are %v", g)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRotateRecycle(t *testing.T) {
	f := newTestFS(t)
	l := mustOpen(t, f)
	defer func() { l.Close() }()
	idx := uint64(1)
	for round := range 40 {
		for range 10 {
			appendN(t, l, 1, idx, 2, 1, 500)
			idx += 2
		}
		if round%3 == 2 {
			if err := l.Truncate(1, idx-5, 1); err != nil {
				t.Fatal(err)
			}
		}
		if round%10 == 9 {
			checkEntries(t, l, 1, entries(1, l.FirstIndex(1), l.LastIndex(1)+1-l.FirstIndex(1), 1, 500))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = mustOpen(t, f)
			checkEntries(t, l, 1, entries(1, l.FirstIndex(1), l.LastIndex(1)+1-l.FirstIndex(1), 1, 500))
		}
	}
	s := l.Stats()
	if s.DiskBytes > 10*16<<10 {
		t.Fatalf("disk use grew to %d bytes: %+v", s.DiskBytes, s)
	}
}

// TestOnDisk runs a history on the file system of the operating system.
func TestOnDisk(t *testing.T) {
	o := testOptions(fs.Disk())
	o.Dir = t.TempDir() + "/log"
	h, m := newHistory(21), model{}
	for range 3 {
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.differs(l, false); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			op := h.next(m)
			if err := op.do(l); err != nil {
				t.Fatalf("%v: %v", op, err)
			}
			m.apply(op)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Tail finds where the last entries of a size begin.
func TestTail(t *testing.T) {
	l := mustOpen(t, newTestFS(t))
	defer l.Close()
	if _, ok := l.Tail(7, 1000); ok {
		t.Error("a tail of nothing")
	}
	if err := l.Append([]Write{{Group: 7, Replica: 1, Entries: entries(7, 1, 20, 3, 100)}}); err != nil {
		t.Fatal(err)
	}
	one := int64(100 + entryOverhead)
	for _, c := range []struct {
		bytes int64
		want  uint64
	}{{0, 20}, {one - 1, 20}, {one, 19}, {5*one + 1, 15}, {20 * one, 0}, {1 << 30, 0}} {
		if m, ok := l.Tail(7, c.bytes); !ok || m.Index != c.want || c.want > 0 && m.Term != 3 {
			t.Errorf("the last %d bytes begin behind %+v, not %d", c.bytes, m, c.want)
		}
	}
	if err := l.Truncate(7, 12, 3); err != nil {
		t.Fatal(err)
	}
	if m, ok := l.Tail(7, 1<<30); !ok || m != (Mark{Index: 12, Term: 3}) {
		t.Errorf("after a truncation the tail begins behind %+v", m)
	}
}
