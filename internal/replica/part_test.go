package replica

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
)

// A request that was given up before it began leaves nothing behind, or nothing would
// ever remove it.
func TestEnterGivenUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var sp spills
	id := kvpb.TxnID{Lo: 1}
	for range 100 { // which of two ready cases a select takes is not known
		if p, err := sp.enter(ended, id, []byte("a")); err == nil {
			sp.leave(p)
		}
		if rec, err := sp.enterRecord(ended, id, []byte("a")); err == nil {
			sp.leaveRecord(rec)
		}
		if len(sp.all) > 0 || sp.active.Load() != 0 || len(sp.records) > 0 {
			t.Fatalf("%d parts and %d records are left", len(sp.all), len(sp.records))
		}
	}
	p, err := sp.enter(context.Background(), id, []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sp.enter(ended, id, []byte("a")); err == nil {
		t.Fatal("two have the latch")
	}
	if sp.all[id] != p {
		t.Fatal("the part is gone that another request holds")
	}
	sp.leave(p)
	if len(sp.all) > 0 || sp.active.Load() != 0 {
		t.Fatalf("%d parts are left", len(sp.all))
	}
}

// A split takes away what is known of the new range's keys, and what is noted later of
// what was proposed before it.
func TestCutParts(t *testing.T) {
	ctx, key := context.Background(), func(s string) []byte { return []byte(s) }
	r := new(Replica)
	sp := &r.spills
	sp.closed = true // nothing sweeps
	enter := func(lo uint64) *part {
		p, err := sp.enter(ctx, kvpb.TxnID{Lo: lo}, key("a"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	note := func(p *part, keys ...string) {
		s := stage{r: r, req: &kvpb.StageRequest{}, p: p}
		for _, k := range keys {
			s.written = append(s.written, key(k))
		}
		s.note(true)
	}
	expect := func(what string, p *part, want string) {
		t.Helper()
		got := ""
		sp.mu.Lock()
		for _, k := range []string{"a", "b", "c", "d", "e", "f"} {
			if sp.all[p.id] == p && p.overlaps(key(k), nil) {
				got += k
			}
		}
		sp.mu.Unlock()
		if got != want {
			t.Errorf("%s: it overlaps %q, want %q", what, got, want)
		}
	}
	both, right, late, gone, spilled := enter(1), enter(2), enter(3), enter(4), enter(5)
	note(both, "a", "c", "e")
	note(right, "d", "e")
	spilled.state, spilled.spilled, spilled.lo, spilled.hi = partPending, true, key("b"), next(key("e"))
	expect("before", both, "ace")
	expect("before", spilled, "bcde")
	sp.cut(key("d"))
	expect("staged on both sides", both, "ac")
	expect("staged on the right", right, "")
	expect("spilled", spilled, "bc")
	sp.mustLieWithin(key("d"))
	note(late, "b", "d", "f")
	expect("applied before the split, noted after it", late, "b")
	note(gone, "d", "e")
	expect("the same on the right", gone, "")
	note(right, "d", "e")
	expect("the same of an earlier attempt", right, "")
	sp.mustLieWithin(key("d"))
	for _, p := range []*part{both, right, late, gone} {
		sp.leave(p)
	}
	if sp.all[gone.id] != nil || sp.all[right.id] != nil || sp.active.Load() != 3 {
		t.Errorf("%d parts are left", sp.active.Load())
	}
	sp.cut(key("c"))
	expect("split again", both, "a")
	expect("split again", spilled, "b")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a part beyond the range's end is not noticed (R28)")
			}
		}()
		sp.mustLieWithin(key("a"))
	}()
}
