package node

import (
	"testing"
	"time"
)

// TestJudgeClock: most of those that are there must disagree before a node's own clock is
// wrong; those that are gone have no voice.
func TestJudgeClock(t *testing.T) {
	const limit = 125 * time.Millisecond
	right := clockSample{ahead: 3 * time.Millisecond, rtt: time.Millisecond, ok: true, live: true}
	far := clockSample{ahead: -2 * time.Second, ok: true, live: true}
	busy := clockSample{live: true} // no measurement is good
	gone := clockSample{}
	for _, c := range []struct {
		all   []clockSample
		wrong bool
	}{
		{nil, false},
		{[]clockSample{right, right}, false},
		{[]clockSample{right, far}, false},
		{[]clockSample{far, far}, true},
		{[]clockSample{far, busy}, false},
		{[]clockSample{far, busy, busy, busy}, false},
		{[]clockSample{far, far, far, busy}, true},
		{[]clockSample{far, gone}, true},
		{[]clockSample{gone, busy}, false},
		{[]clockSample{{ahead: 300 * time.Millisecond, rtt: 400 * time.Millisecond, ok: true}}, false}, // may be right
	} {
		off, _, wrong := judgeClock(c.all, limit)
		if wrong != c.wrong {
			t.Errorf("%+v: wrong = %v", c.all, wrong)
		}
		if wrong && off != 2*time.Second {
			t.Errorf("%+v: off by %v", c.all, off)
		}
	}
}
