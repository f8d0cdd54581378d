package obs

import (
	"sync/atomic"
	"time"
)

// Times sums up durations and keeps the longest. It is safe for concurrent use. The zero value is empty.
type Times struct{ count, total, longest atomic.Int64 }

// Add adds a duration.
func (t *Times) Add(d time.Duration) {
	t.count.Add(1)
	t.total.Add(int64(d))
	for {
		old := t.longest.Load()
		if old >= int64(d) || t.longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// Get returns how many durations there were, their sum and the longest.
func (t *Times) Get() (count int64, total, longest time.Duration) {
	return t.count.Load(), time.Duration(t.total.Load()), time.Duration(t.longest.Load())
}
