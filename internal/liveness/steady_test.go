package liveness

import (
	"testing"
	"time"
)

// TestSetBack: a clock that is set back does not make promises last longer.
func TestSetBack(t *testing.T) {
	var s steady
	t0 := time.Now()
	base := int64(1_000_000 * int64(time.Second))
	at := func(d time.Duration, clock time.Duration) time.Duration {
		return time.Duration(s.now(base+int64(clock), t0.Add(d)) - base)
	}
	for _, x := range []struct{ passed, clock, want time.Duration }{
		{0, 0, 0},
		{time.Second, time.Second, time.Second},
		{2 * time.Second, 2*time.Second - time.Millisecond, 2*time.Second - time.Millisecond}, // not worth mentioning
		{3 * time.Second, -2 * time.Second, 3 * time.Second},                                  // set back by five
		{4 * time.Second, -time.Second, 4 * time.Second},
		{3*time.Second + trustAfter + time.Second, 0, 0}, // all that was promised before is over
		{3*time.Second + trustAfter + 2*time.Second, time.Second, time.Second},
		{3*time.Second + trustAfter + 3*time.Second, time.Minute, time.Minute}, // set forward
		{3*time.Second + trustAfter + 4*time.Second, time.Minute + time.Second, time.Minute + time.Second},
	} {
		if got := at(x.passed, x.clock); got != x.want {
			t.Errorf("after %v, with the clock at %v: %v, want %v", x.passed, x.clock, got, x.want)
		}
	}
}
