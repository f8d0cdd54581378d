package raftlog

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// queued waits until n requests wait behind the write under way.
func queued(l *Log, n int) {
	for {
		l.mu.Lock()
		have := len(l.next.reqs)
		l.mu.Unlock()
		if have == n {
			return
		}
	}
}

// TestFailedActivation has the header of a new segment reach the disk while the
// write reports a full disk. What is acknowledged after that must not end up
// in the old segment, which the new one's checkpoint has closed.
func TestFailedActivation(t *testing.T) {
	mem := newTestFS(t)
	var full atomic.Bool
	l := mustOpen(t, fs.WithHooks(mem, func(op *fs.Op) error {
		if full.Load() && op.Kind == fs.OpWrite && op.Offset == 0 {
			op.Short = op.Bytes
			return syscall.ENOSPC
		}
		return nil
	}))
	for i := range uint64(4) {
		appendN(t, l, 1, i+1, 1, 1, 2500)
		settle(l)
	}
	full.Store(true)
	if err := l.Append([]Write{{Group: 1, Replica: 1, Entries: entries(1, 5, 1, 1, 2500)}}); !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	want := entries(1, 1, 4, 1, 2500)
	small := entries(1, 5, 1, 1, 10)
	err := l.Append([]Write{{Group: 1, Replica: 1, Entries: small}})
	if err == nil {
		want = append(want, small...)
	} else if !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	after := mustOpen(t, fs.CrashClone(mem, 100, 1))
	checkEntries(t, after, 1, want)
	full.Store(false)
	appendN(t, l, 1, l.LastIndex(1)+1, 1, 1, 10)
	if err := errors.Join(after.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestQueueBehindFull fails an append for lack of space while others wait that
// build on it. They must fail too, and all succeed when repeated.
func TestQueueBehindFull(t *testing.T) {
	segment := func(op *fs.Op) bool { return op.Kind == fs.OpCreate }
	gate := fs.NewGate(segment)
	full := &fs.FailAt{N: 1, Err: syscall.ENOSPC, Match: segment}
	l := mustOpen(t, fs.WithHooks(newTestFS(t), gate.Hook, full.Hook))
	gate.Shut()
	var errs [3]error
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = l.Append([]Write{{Group: 1, Replica: 1, Entries: entries(1, uint64(i)+1, 1, 1, 10)}})
		})
		if i == 0 {
			gate.Await(1) // the first segment is being made
		} else {
			queued(l, i)
		}
	}
	async := make(chan error, 1)
	if err := l.AppendAsync([]Write{{Group: 1, Replica: 1, Entries: entries(1, 4, 1, 1, 10)}}, func(err error) { async <- err }); err != nil {
		t.Fatal(err)
	}
	gate.Open()
	wg.Wait()
	for i, err := range append(errs[:], <-async) {
		if !errors.Is(err, ErrDiskFull) {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	if len(l.Groups()) != 0 {
		t.Fatalf("groups are %v", l.Groups())
	}
	for i := range uint64(4) {
		appendN(t, l, 1, i+1, 1, 1, 10)
	}
	checkEntries(t, l, 1, entries(1, 1, 4, 1, 10))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMoveBehindReplacement asks for entries to be moved that a queued append
// replaces. The record must not contain them.
func TestMoveBehindReplacement(t *testing.T) {
	mem := newTestFS(t)
	gate := fs.NewGate(func(op *fs.Op) bool { return op.Kind == fs.OpSync })
	l := mustOpen(t, fs.WithHooks(mem, gate.Hook))
	appendN(t, l, 1, 1, 6, 1, 50)
	appendN(t, l, 2, 1, 2, 1, 50)
	settle(l)
	l.mu.Lock()
	runs := l.liveRuns(l.active)
	l.mu.Unlock()
	if len(runs) != 2 || len(runs[0].entries) != 6 {
		t.Fatalf("%d runs", len(runs))
	}
	for i := range runs {
		if err := readEntries(l.active, runs[i].group.id, runs[i].old, runs[i].entries); err != nil {
			t.Fatal(err)
		}
	}
	gate.Shut()
	var wg sync.WaitGroup
	wg.Go(func() { appendN(t, l, 1, 4, 1, 2, 50) })
	gate.Await(1)
	wg.Go(func() {
		if err := l.run(func(r *request) { r.moves = runs }); err != nil {
			t.Error(err)
		}
	})
	queued(l, 1)
	if len(runs[0].entries) != 3 {
		t.Errorf("%d entries of group 1 are moved, want 3", len(runs[0].entries))
	}
	gate.Open()
	wg.Wait()
	if s := l.Stats(); s.Rewritten != 5 {
		t.Errorf("%d entries were moved, want 5", s.Rewritten)
	}
	l.check(t)
	for _, log := range []*Log{l, mustOpen(t, fs.CrashClone(mem, 0, 1))} {
		checkEntries(t, log, 1, append(entries(1, 1, 3, 1, 50), entries(1, 4, 1, 2, 50)...))
		checkEntries(t, log, 2, entries(2, 1, 2, 1, 50))
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStragglers lets idle groups pin one segment each and checks that their
// entries are moved, so that the log stays small.
func TestStragglers(t *testing.T) {
	mem := newTestFS(t)
	l := mustOpen(t, mem)
	const idle = 12
	for i := range uint64(300) {
		if i%20 == 0 && i/20 < idle {
			appendN(t, l, 100+GroupID(i/20), 1, 3, 1, 100) // never truncated
		}
		appendN(t, l, 1, i+1, 1, 1, 900)
		if err := l.Truncate(1, i+1, 1); err != nil {
			t.Fatal(err)
		}
		settle(l)
	}
	s := l.Stats()
	if s.Rewritten == 0 || s.DiskBytes > 10*16<<10 || s.Recycled == 0 {
		t.Fatalf("%+v", s)
	}
	for range 2 {
		for g := GroupID(100); g < 100+idle; g++ {
			checkEntries(t, l, g, entries(g, 1, 3, 1, 100))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = mustOpen(t, mem)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReaderPinsSegment truncates entries while they are being read.
func TestReaderPinsSegment(t *testing.T) {
	gate := fs.NewGate(func(op *fs.Op) bool { return op.Kind == fs.OpRead })
	mem := newTestFS(t)
	o := testOptions(fs.WithHooks(mem, gate.Hook))
	o.CacheBytes = -1
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		appendN(t, l, 1, i+1, 1, 1, 900)
		settle(l)
	}
	gate.Shut()
	var wg sync.WaitGroup
	wg.Go(func() {
		got, err := l.Entries(1, 1, 3, noIndex)
		if err != nil || len(got) != 2 || string(got[1].Data) != string(payload(1, 2, 1, 900)) {
			t.Errorf("%d entries, %v", len(got), err)
		}
	})
	gate.Await(1)
	if err := l.Truncate(1, 20, 1); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(60) {
		appendN(t, l, 1, i+21, 1, 1, 900)
		if err := l.Truncate(1, i+21, 1); err != nil {
			t.Fatal(err)
		}
		settle(l)
	}
	l.mu.Lock()
	draining := len(l.draining)
	l.mu.Unlock()
	if draining != 1 {
		t.Errorf("%d segments wait for their readers", draining)
	}
	gate.Open()
	wg.Wait()
	settle(l)
	if len(l.draining) != 0 {
		t.Error("the segment still waits")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
