package server

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/liveness"
)

// A node that went silent without a word is suspect for a while after it is back, the
// longer the more often; one that was drained is not.
func TestSuspects(t *testing.T) {
	p, now := &placing{}, time.Unix(1_000_000, 0)
	see := func(live, draining bool) bool {
		s := p.sight(&liveness.NodeInfo{ID: 2, Draining: draining}, live, now, now)
		return now.Before(s.suspectUntil)
	}
	if see(true, false) {
		t.Error("a new node is suspect")
	}
	see(true, true)
	see(false, true)
	if see(true, false) {
		t.Error("a node is suspect after it was drained")
	}
	for i, want := range []time.Duration{suspectMin, 2 * suspectMin, 4 * suspectMin} {
		see(false, false)
		now = now.Add(5 * time.Second)
		if !see(true, false) {
			t.Errorf("failure %d: not suspect", i+1)
		}
		if now = now.Add(want - time.Millisecond); !see(true, false) {
			t.Errorf("failure %d: not suspect for %v", i+1, want)
		}
		if now = now.Add(time.Millisecond); see(true, false) {
			t.Errorf("failure %d: still suspect after %v", i+1, want)
		}
	}
	now = now.Add(suspectMemory + time.Second)
	see(false, false)
	see(true, false)
	if now = now.Add(suspectMin); see(true, false) {
		t.Error("old failures are not forgotten")
	}
}
