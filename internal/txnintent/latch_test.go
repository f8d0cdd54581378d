package txnintent

import (
	"context"
	"runtime"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
)

func spanOf(key, end string) kvpb.Span { return kvpb.Span{Key: []byte(key), EndKey: []byte(end)} }

// Spills of different keys share a latch, up to maxShared of them. Those of the same keys, and all other requests,
// follow one another, the longest waiting first.
func TestLatch(t *testing.T) {
	var l latch
	ab, cd, ad := spanOf("a", "b"), spanOf("c", "d"), spanOf("a", "d")
	release := func(span *kvpb.Span) { l.release(span); l.next() }
	granted := func(w *latchWaiter) bool {
		if w == nil {
			return true
		}
		select {
		case <-w.granted:
			return true
		default:
			return false
		}
	}
	check := func(what string, w *latchWaiter, want bool) {
		t.Helper()
		if granted(w) != want {
			t.Fatalf("%s: granted %v", what, !want)
		}
	}
	check("the first spill", l.acquire(&ab), true)
	check("a spill of other keys", l.acquire(&cd), true)
	over := l.acquire(&ad)
	check("a spill of the same keys", over, false)
	alone := l.acquire(nil)
	check("another request", alone, false)
	ef := spanOf("e", "f")
	late := l.acquire(&ef)
	check("a spill behind those that wait", late, false)
	release(&ab)
	check("a spill of which one key is still being written", over, false)
	release(&cd)
	check("a spill whose keys are free", over, true)
	check("a request beside a spill", alone, false)
	release(&ad)
	check("a request by itself", alone, true)
	check("a spill beside a request", late, false)
	release(nil)
	check("a spill after the request", late, true)
	release(&ef)
	if l.held() {
		t.Fatal("the latch is held by nobody")
	}

	for i := range maxShared {
		s := spanOf(string(rune('a'+2*i)), string(rune('b'+2*i)))
		check("a spill of many", l.acquire(&s), true)
	}
	zz := spanOf("y", "z")
	more := l.acquire(&zz)
	check("one spill too many", more, false)
	behind := l.acquire(nil)
	if l.leave(more) {
		t.Fatal("a spill gave up its wait and has the latch")
	}
	check("a request whose turn it is not", behind, false)
	for i := range maxShared {
		s := spanOf(string(rune('a'+2*i)), string(rune('b'+2*i)))
		release(&s)
	}
	check("a request after all spills", behind, true)
	if !l.leave(behind) {
		t.Fatal("a granted latch counts as given up")
	}
}

// A request that gives up its wait lets those behind it go on.
func TestLatchGivenUp(t *testing.T) {
	var table Table
	ctx, cancel := context.WithCancel(context.Background())
	id := kvpb.TxnID{Lo: 1}
	x, err := table.EnterSpill(ctx, id, nil, spanOf("a", "b"), began)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() { failed <- table.Latch(ctx, x) }()
	waitQueued := func(n int) {
		for {
			table.mu.Lock()
			queued := len(x.latch.queue)
			table.mu.Unlock()
			if queued == n {
				return
			}
			runtime.Gosched()
		}
	}
	waitQueued(1)
	shared := make(chan error)
	go func() {
		_, err := table.EnterSpill(context.Background(), id, nil, spanOf("c", "d"), began)
		shared <- err
	}()
	waitQueued(2)
	cancel()
	if err := <-failed; err == nil {
		t.Fatal("a request has the latch beside a spill")
	}
	if err := <-shared; err != nil {
		t.Fatal(err)
	}
	table.LeaveSpill(x, spanOf("a", "b"))
	if table.Get(id) != x {
		t.Fatal("a transaction is gone that a spill holds")
	}
	table.LeaveSpill(x, spanOf("c", "d"))
	if !table.Empty() {
		t.Fatal("a transaction is left of which nothing was written")
	}
}

// Spills share a record's latch once it is stored. Before, the one that stores it has it alone.
func TestFindStored(t *testing.T) {
	ctx := context.Background()
	var records Records
	id := kvpb.TxnID{Lo: 1}
	ab, cd := spanOf("a", "b"), spanOf("c", "d")
	if rec, err := records.FindStored(ctx, id, ab); rec != nil || err != nil {
		t.Fatalf("a record out of nothing: %v, %v", rec, err)
	}
	rec, err := records.Enter(ctx, id, []byte("a"), began)
	if err != nil {
		t.Fatal(err)
	}
	rec.Presence = Ambiguous
	records.Leave(rec)
	if rec, err := records.FindStored(ctx, id, ab); rec != nil || err != nil {
		t.Fatalf("a record of which nobody knows whether it is stored: %v, %v", rec, err)
	}
	if rec, err = records.Enter(ctx, id, []byte("a"), began); err != nil {
		t.Fatal(err)
	}
	rec.Presence = Stored
	records.Leave(rec)
	for _, s := range []kvpb.Span{ab, cd} {
		if rec, err := records.FindStored(ctx, id, s); rec == nil || err != nil {
			t.Fatalf("a stored record: %v, %v", rec, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := records.Find(ended, id); err == nil {
		t.Fatal("an abort beside spills")
	}
	records.LeaveSpill(rec, ab)
	records.LeaveSpill(rec, cd)
	if rec, err := records.Find(ctx, id); rec == nil || err != nil {
		t.Fatalf("after the spills: %v, %v", rec, err)
	}
}
