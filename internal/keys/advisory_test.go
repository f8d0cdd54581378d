package keys

import (
	"bytes"
	"testing"
)

// TestAdvisory reads advisory keys back, and keeps locks and claims apart.
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
		claim := AdvisoryClaim(k, holder)
		if got, ok := DecodeAdvisoryClaim(k, claim); !ok || got != holder || !AdvisoryClaims(k).Contains(claim) {
			t.Errorf("%v: claim of %v, %v", c, got, ok)
		}
		if _, _, _, ok := DecodeAdvisoryLock(claim); ok {
			t.Errorf("%v: its claim is taken for a lock", c)
		}
		if next := AdvisoryLock(c.db, c.pair, c.n+1); AdvisoryClaims(k).Contains(next) || bytes.Equal(next, k) {
			t.Errorf("%v: the next lock is among its claims", c)
		}
	}
	if _, _, _, ok := DecodeAdvisoryLock(SystemKey("advisory/")); ok {
		t.Error("a key without a number is taken for a lock")
	}
}
