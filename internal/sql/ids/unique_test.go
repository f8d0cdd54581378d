package ids

import (
	"testing"
	"time"
)

// TestUniqueID checks that ids rise and are new while the clock stands still or goes back,
// also at a time before 2015.
func TestUniqueID(t *testing.T) {
	var u Unique
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := u.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), 1)
	for i := range 1000 {
		if i == 500 {
			now = now.Add(-time.Hour)
		}
		id := u.Next(now, 1)
		if id <= last {
			t.Fatalf("id %d after %d", id, last)
		}
		if node := id & 0x7fff; node != 1 {
			t.Fatalf("id %d is of node %d", id, node)
		}
		last = id
	}
	// 10 µs since 2015, above 15 bits of the node.
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, want := u.Next(at, 1), (at.Unix()-1420070400)*100_000<<15|1; got != want {
		t.Errorf("id %d, want %d", got, want)
	}
}
