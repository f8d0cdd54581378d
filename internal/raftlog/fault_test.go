package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/lichendb/lichen/internal/fs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// growing selects the operations that a full disk refuses.
func growing(op *fs.Op) bool {
	switch op.Kind {
	case fs.OpCreate, fs.OpRename, fs.OpMkdirAll, fs.OpWrite:
		return true
	}
	return false
}

// TestDiskFullEverywhere runs out of disk once, and for good until lifted, at
// every operation that could. The log must stay readable and correct, refuse
// writes with ErrDiskFull, lose nothing at a crash, and accept the same
// writes later.
func TestDiskFullEverywhere(t *testing.T) {
	count := &fs.Counter{Match: growing}
	if _, _, failed := crashRun(fs.WithHooks(newTestFS(t), count.Hook), newHistory(5), model{}, 60); failed {
		t.Fatal("failed without a fault")
	}
	for n := int64(1); n <= count.Count(); n += stride() {
		for _, forever := range []bool{false, true} {
			for _, short := range []int{0, 5000} {
				diskFullRun(t, &fs.FailAt{N: n, Err: syscall.ENOSPC, Forever: forever, Short: short, Match: growing})
			}
		}
	}
}

func diskFullRun(t *testing.T, fail *fs.FailAt) {
	t.Helper()
	label := fmt.Sprintf("operation %d, forever %v, short %d", fail.N, fail.Forever, fail.Short)
	var lifted atomic.Bool
	mem := newTestFS(t)
	f := fs.WithHooks(mem, func(op *fs.Op) error {
		if lifted.Load() {
			return nil
		}
		return fail.Hook(op)
	})
	l, err := Open(testOptions(f))
	if err != nil {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: open: %v", label, err)
		}
		return
	}
	h, m := newHistory(5), model{}
	for range 60 {
		o := h.next(m)
		err := o.do(l)
		for tries := 0; err != nil; tries++ {
			if !errors.Is(err, ErrDiskFull) || tries > 3 {
				t.Fatalf("%s: %v: %v", label, o, err)
			}
			settle(l)
			if err := m.differs(l, false); err != nil {
				t.Fatalf("%s: after %v failed: %v", label, o, err)
			}
			l.check(t)
			pending := m.clone()
			pending.apply(o)
			verifyRecovered(t, label, fs.CrashClone(mem, 50, uint64(fail.N)), m, pending)
			if fail.Forever && tries == 1 {
				lifted.Store(true)
			}
			err = o.do(l)
		}
		m.apply(o)
		settle(l)
	}
	if err := l.Close(); err != nil {
		t.Fatalf("%s: close: %v", label, err)
	}
	l = mustOpen(t, mem)
	if err := m.differs(l, false); err != nil {
		t.Fatalf("%s: after reopening: %v", label, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestControlReserve fills the disk and shows that truncation alone makes room
// again: the frames that free segments have their reserve.
func TestControlReserve(t *testing.T) {
	mem := newTestFS(t)
	var full atomic.Bool
	l := mustOpen(t, fs.WithHooks(mem, func(op *fs.Op) error {
		if full.Load() && (op.Kind == fs.OpCreate || op.Kind == fs.OpWrite && op.Grow > 0) {
			return syscall.ENOSPC
		}
		return nil
	}))
	next := uint64(1)
	fill := func() (err error) {
		for _, size := range []int{700, 0} {
			for range 1000 {
				if err = l.Append([]Write{{Group: 1, Replica: 1, Entries: entries(1, next, 1, 1, size)}}); err != nil {
					break
				}
				next++
				settle(l)
			}
		}
		return err
	}
	for range 40 {
		appendN(t, l, 1, next, 1, 1, 700)
		next++
	}
	full.Store(true)
	for round := range 20 {
		if err := fill(); !errors.Is(err, ErrDiskFull) {
			t.Fatalf("round %d: %v", round, err)
		}
		before := next
		if err := l.Truncate(1, next-1, 1); err != nil {
			t.Fatal(err)
		}
		settle(l)
		if err := fill(); !errors.Is(err, ErrDiskFull) || next == before {
			t.Fatalf("round %d: %v after %d entries", round, err, next-before)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSyncErrorIsFinal fails each sync of a history in turn.
func TestSyncErrorIsFinal(t *testing.T) {
	syncs := func(op *fs.Op) bool { return op.Kind == fs.OpSync }
	count := &fs.Counter{Match: syncs}
	if _, _, failed := crashRun(fs.WithHooks(newTestFS(t), count.Hook), newHistory(3), model{}, 40); failed {
		t.Fatal("failed without a fault")
	}
	for n := int64(1); n <= count.Count(); n++ {
		mem := newTestFS(t)
		fail := &fs.FailAt{N: n, Err: syscall.EIO, Match: syncs}
		var fatal []error
		o := testOptions(fs.WithHooks(mem, fail.Hook))
		o.OnFatal = func(err error) { fatal = append(fatal, err) }
		l, err := Open(o)
		if err != nil {
			continue // the directory could not be synced
		}
		h, m := newHistory(3), model{}
		var first error
		pending := m
		for range 60 {
			op := h.next(m)
			err := op.do(l)
			settle(l)
			if first != nil {
				if err != first {
					t.Fatalf("sync %d: then %v, now %v", n, first, err)
				}
				continue
			}
			pending = m.clone()
			pending.apply(op)
			if first = err; err == nil {
				m = pending
			}
		}
		if fail.Struck() != (len(fatal) == 1) || first != nil && fatal[0] != first {
			t.Fatalf("sync %d: OnFatal got %v, callers %v", n, fatal, first)
		}
		if first != nil && !errors.Is(first, syscall.EIO) {
			t.Fatalf("sync %d: %v", n, first)
		}
		if err := m.differs(l, true); first != nil && err != nil {
			t.Fatalf("sync %d: reading: %v", n, err)
		}
		_ = l.Close()
		verifyRecovered(t, fmt.Sprint("sync ", n), fs.CrashClone(mem, 50, uint64(n)), m, pending)
	}
}

// TestBitFlips flips bits all over a log that was closed. Where it matters the
// log must refuse to start; elsewhere nothing may be lost.
func TestBitFlips(t *testing.T) {
	mem, m, h := newTestFS(t), model{}, newHistory(11)
	l := mustOpen(t, mem)
	for range 60 {
		o := h.next(m)
		if err := o.do(l); err != nil {
			t.Fatal(err)
		}
		m.apply(o)
		settle(l)
	}
	if len(l.segs) < 3 {
		t.Fatalf("only %d segments", len(l.segs))
	}
	refused := 0
	type extent struct {
		path     string
		from, to int64
		must     bool // damage must be refused
	}
	var extents []extent
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, mem)
	for _, s := range l.segs {
		extents = append(extents, extent{s.path, 0, headerBytes, true}, extent{s.path, headerBytes, headerBlock, false})
		fr := newFrameReader(s)
		for off := int64(headerBlock); off < s.off; {
			info, payload, err := fr.frame(s.id, off)
			if err != nil || payload == nil {
				t.Fatal(off, err)
			}
			end := off + frameHeader + int64(info.payload)
			last := s == l.active && off+info.size() >= s.off // the one Close wrote
			extents = append(extents, extent{s.path, off, end, !last}, extent{s.path, end, off + info.size(), false})
			off += info.size()
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range extents {
		step := max((e.to-e.from)/9, 1)
		for off := e.from; off < e.to; off += step {
			clone := fs.CrashClone(mem, 100, 1)
			if err := fs.FlipBit(clone, e.path, off, uint(off)); err != nil {
				t.Fatal(err)
			}
			l, err := Open(testOptions(clone))
			if err != nil {
				refused++
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s at %d: %v", e.path, off, err)
				}
				continue
			}
			if e.must {
				t.Fatalf("%s: a flipped bit at %d passed unnoticed", e.path, off)
			}
			if err := m.differs(l, true); err != nil {
				t.Fatalf("%s at %d: %v", e.path, off, err)
			}
			_ = l.Close()
		}
	}
	if refused < 100 {
		t.Fatalf("only %d refusals", refused)
	}
}

func TestRefusals(t *testing.T) {
	mem := newTestFS(t)
	l := mustOpen(t, mem)
	for i := range uint64(60) {
		appendN(t, l, 1, i+1, 1, 1, 700)
	}
	if _, err := Open(testOptions(mem)); !errors.Is(err, ErrInUse) {
		t.Fatalf("opened twice: %v", err)
	}
	oldest, newest := l.active, l.active
	for _, s := range l.segs {
		if s.id < oldest.id {
			oldest = s
		}
	}
	settle(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	missing := fs.CrashClone(mem, 100, 1)
	if err := missing.Remove(oldest.path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testOptions(missing)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("opened with a segment missing: %v", err)
	}
	// Another version, with a checksum that fits.
	other := fs.CrashClone(mem, 100, 1)
	f, err := other.OpenReadWrite(newest.path, fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, headerBytes)
	putHeader(b, 77<<24)
	b[8] = 9
	sum := checksum(77<<24, b[:24])
	b[24], b[25], b[26], b[27] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testOptions(other)); !errors.Is(err, ErrVersion) || !bytes.Contains([]byte(err.Error()), []byte("version 9")) {
		t.Fatalf("opened another version: %v", err)
	}
}

func TestInvalidWrites(t *testing.T) {
	l := mustOpen(t, newTestFS(t))
	defer l.Close()
	appendN(t, l, 1, 1, 5, 3, 10)
	if err := l.Truncate(1, 2, 3); err != nil {
		t.Fatal(err)
	}
	bad := map[string][]Write{
		"gap":           {{Group: 1, Replica: 1, Entries: entries(1, 7, 1, 3, 10)}},
		"truncated":     {{Group: 1, Replica: 1, Entries: entries(1, 2, 1, 3, 10)}},
		"other replica": {{Group: 1, Replica: 2, Entries: entries(1, 6, 1, 3, 10)}},
		"empty":         {{Group: 1, Replica: 1}},
		"inner gap":     {{Group: 1, Replica: 1, Entries: append(entries(1, 6, 1, 3, 10), entries(1, 8, 1, 3, 10)...)}},
		"index":         {{Group: 1, Replica: 1, Reset: &Mark{Index: MaxIndex + 1}}},
		"second of two": {{Group: 9, Replica: 1, Entries: entries(9, 1, 1, 3, 10)}, {Group: 1, Replica: 1, Entries: entries(1, 9, 1, 3, 10)}},
		"same group":    {{Group: 9, Replica: 1, Entries: entries(9, 1, 1, 3, 10)}, {Group: 9, Replica: 1, Entries: entries(9, 3, 1, 3, 10)}},
	}
	for name, ws := range bad {
		if err := l.Append(ws); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, m := range []Mark{{6, 3}, {4, 2}} {
		if err := l.Truncate(1, m.Index, m.Term); !errors.Is(err, ErrInvalid) {
			t.Errorf("truncation at %v: %v", m, err)
		}
	}
	if err := l.Truncate(2, 1, 1); !errors.Is(err, ErrUnknownGroup) {
		t.Errorf("truncation of an unknown group: %v", err)
	}
	if err := l.Destroy(1, 2); !errors.Is(err, ErrInvalid) {
		t.Errorf("destroy of another replica: %v", err)
	}
	if err := l.Destroy(17, 2); err != nil {
		t.Errorf("destroy of an unknown group: %v", err)
	}
	big := []Write{{Group: 1, Replica: 1, Entries: []Entry{{Index: 6, Term: 3, Data: make([]byte, MaxAppendBytes)}}}}
	if err := l.Append(big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	checkEntries(t, l, 1, entries(1, 3, 3, 3, 10))
	if g := l.Groups(); len(g) != 1 || len(l.groups) != 1 {
		t.Errorf("groups %v are left over", g)
	}
	appendN(t, l, 1, 6, 1, 3, 10)
}

func TestLargeEntry(t *testing.T) {
	mem := fs.NewMem()
	o := testOptions(mem)
	o.SegmentBytes = 1 << 20
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 64<<20/16)
	ents := []Entry{{Index: 1, Term: 1, Data: data}}
	if err := l.Append([]Write{{Group: 1, Replica: 1, Entries: ents}}); err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 1, 2, 3, 1, 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	checkEntries(t, l, 1, append(ents, entries(1, 2, 3, 1, 10)...))
	if err := l.Truncate(1, 1, 1); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(8) { // until the next segment
		appendN(t, l, 1, 5+i, 1, 1, 1<<20)
	}
	settle(l)
	if s := l.Stats(); s.DiskBytes > 32<<20 {
		t.Fatalf("the oversize segment is still there: %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrent has many goroutines append, truncate and read.
func TestConcurrent(t *testing.T) {
	mem := newTestFS(t)
	o := testOptions(mem)
	o.SegmentBytes = 256 << 10
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	const workers, steps = 8, 150
	var wg sync.WaitGroup
	for w := range workers {
		g := GroupID(w + 1)
		wg.Go(func() {
			var pending sync.WaitGroup
			order := uint64(0) // checked by the callbacks, which come one at a time
			for i := uint64(1); i <= steps; i++ {
				ws := []Write{{Group: g, Replica: 1, Entries: entries(g, i, 1, 1, int(i*13%700)), HardState: &HardState{Commit: i}}}
				if w%2 == 0 {
					if err := l.Append(ws); err != nil {
						t.Errorf("append: %v", err)
					}
					if last := l.LastIndex(g); last != i {
						t.Errorf("last is %d after the append of %d", last, i)
					}
				} else {
					pending.Add(1)
					if err := l.AppendAsync(ws, func(err error) {
						if order++; err != nil || order != i {
							t.Errorf("callback %d comes as number %d: %v", i, order, err)
						}
						pending.Done()
					}); err != nil {
						t.Errorf("append: %v", err)
					}
				}
				if i%20 == 0 {
					pending.Wait()
					if err := l.Truncate(g, i-10, 1); err != nil {
						t.Errorf("truncate: %v", err)
					}
					ents, err := l.Entries(g, i-9, i+1, noIndex)
					if err != nil || len(ents) != 10 {
						t.Errorf("entries: %d, %v", len(ents), err)
					}
					for _, e := range ents {
						if !bytes.Equal(e.Data, payload(g, e.Index, 1, int(e.Index*13%700))) {
							t.Errorf("entry %d of group %d is wrong", e.Index, g)
						}
					}
				}
			}
			pending.Wait()
		})
	}
	wg.Wait()
	settle(l)
	l.check(t)
	if s := l.Stats(); s.Entries != workers*steps || s.QueueBytes != 0 {
		t.Fatalf("%+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(nil); !errors.Is(err, ErrClosed) {
		t.Fatalf("append after close: %v", err)
	}
	l = mustOpen(t, mem)
	for g := GroupID(1); g <= workers; g++ {
		if first, last := l.FirstIndex(g), l.LastIndex(g); last != steps || first != 131 {
			t.Fatalf("group %d is [%d, %d]", g, first, last)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupCommit stalls a sync and checks that all that comes meanwhile takes
// one more, and that the queue is bounded.
func TestGroupCommit(t *testing.T) {
	gate := fs.NewGate(func(op *fs.Op) bool { return op.Kind == fs.OpSync })
	l := mustOpen(t, fs.WithHooks(newTestFS(t), gate.Hook))
	appendN(t, l, 99, 1, 1, 1, 10)
	settle(l)
	before := l.Stats().Syncs
	gate.Shut()
	var wg sync.WaitGroup
	start := func(g GroupID) {
		wg.Go(func() { appendN(t, l, g, 1, 1, 1, 10) })
	}
	start(1)
	gate.Await(1)
	for g := GroupID(2); g <= 20; g++ {
		start(g)
	}
	for {
		l.mu.Lock()
		n := len(l.next.reqs)
		l.mu.Unlock()
		if n == 19 {
			break
		}
	}
	gate.Open()
	wg.Wait()
	if got := l.Stats().Syncs - before; got != 2 {
		t.Errorf("%d syncs for 20 appends", got)
	}
	gate.Shut()
	var done atomic.Int32
	for g := GroupID(30); g < 60; g++ {
		wg.Go(func() {
			appendN(t, l, g, 1, 1, 1, 6000)
			done.Add(1)
		})
	}
	gate.Await(1)
	if q := l.Stats().QueueBytes; q > l.queueLimit {
		t.Errorf("the queue holds %d bytes, its limit is %d", q, l.queueLimit)
	}
	gate.Open()
	wg.Wait()
	if done.Load() != 30 {
		t.Errorf("%d of 30 appends returned", done.Load())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
