package keys

import (
	"bytes"
	"testing"
)

// TestAdvisory reads advisory keys back, and keeps locks and records of holders apart.
func TestAdvisory(t *testing.T) {
	for _, c := range []struct {
		db   uint64
		pair bool
		n    int64
	}{{1, false, 0}, {1, true, 0}, {1, false, -1}, {1 << 60, true, 1 << 40}} {
		k := AdvisoryLock(c.db, c.pair, c.n)
		db, pair, n, ok := DecodeAdvisoryLock(k)
		if !ok || db != c.db || pair != c.pair || n != c.n {
			t.Errorf("%v: read %d, %v, %d, %v", c, db, pair, n, ok)
		}
		holder := [16]byte{15: 7}
		record := AdvisoryHolder(k, holder)
		if got, ok := DecodeAdvisoryHolder(k, record); !ok || got != holder || !AdvisoryHolders(k).Contains(record) {
			t.Errorf("%v: record of %v, %v", c, got, ok)
		}
		if _, _, _, ok := DecodeAdvisoryLock(record); ok {
			t.Errorf("%v: its record is taken for a lock", c)
		}
		if next := AdvisoryLock(c.db, c.pair, c.n+1); AdvisoryHolders(k).Contains(next) || bytes.Equal(next, k) {
			t.Errorf("%v: the next lock is among its records", c)
		}
	}
	if _, _, _, ok := DecodeAdvisoryLock(SystemKey("advisory/")); ok {
		t.Error("a key without a number is taken for a lock")
	}
}
