package concurrency

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

func TestReservations(t *testing.T) {
	holder := func(n int64) Holder {
		return Holder{ID: TxnID{Hi: 1, Lo: uint64(n)}, Start: hlc.Timestamp{WallTime: n}}
	}
	now := time.Unix(100, 0)
	var r Reservations
	against := func(n int64, key string, want int64, at time.Duration) {
		t.Helper()
		got := r.Against(holder(n), []byte(key), now.Add(at))
		switch {
		case want == 0 && got != nil:
			t.Errorf("%d waits for %v at %s", n, got.Holder(), key)
		case want != 0 && (got == nil || got.Holder() != holder(want).ID):
			t.Errorf("%d does not wait for %d at %s", n, want, key)
		}
	}
	against(3, "b", 0, 0)
	if !r.Take(holder(2), []byte("b"), []byte("d"), now, now.Add(time.Second)) {
		t.Fatal("refused")
	}
	against(3, "a", 0, 0)
	against(3, "b", 2, 0)
	against(3, "d", 0, 0)
	against(2, "b", 0, 0)
	against(3, "b", 0, time.Second) // expired
	// Of two that reserve, the older one goes first.
	r.Take(holder(1), []byte("c"), []byte("e"), now, now.Add(time.Second))
	against(1, "c", 0, 0)
	against(2, "c", 1, 0)
	against(3, "d", 1, 0)
	v := r.Against(holder(3), []byte("d"), now)
	r.Drop(holder(1).ID)
	select {
	case <-v.Done():
	default:
		t.Error("what was given up still lasts")
	}
	against(2, "c", 0, 0)
	r.Take(holder(2), []byte("b"), []byte("d"), now, now.Add(time.Minute)) // longer, not twice
	against(3, "b", 2, time.Second)
	r.Drop(holder(2).ID)
	if !r.Empty() {
		t.Error("something is left")
	}
	for n := range int64(maxReservations + 1) {
		if r.Take(holder(n+1), []byte("x"), []byte("y"), now, now.Add(time.Second)) != (n < maxReservations) {
			t.Errorf("reservation %d", n)
		}
	}
}
