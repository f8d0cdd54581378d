package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the physical clock of a node: (virtual) time, wrong by as much as a
// test wants. Its Now is made for hlc.New.
type Clock struct {
	mu    sync.Mutex // of changes
	state atomic.Pointer[clockState]
}

type clockState struct {
	since time.Time
	shown int64 // at since
	ppm   int64 // how much faster it runs than time, in millionths
}

func (s *clockState) now() int64 {
	elapsed := int64(time.Since(s.since))
	return s.shown + elapsed + elapsed/1_000_000*s.ppm + elapsed%1_000_000*s.ppm/1_000_000
}

// NewClock returns a clock that is ahead of time by offset, and runs with it.
func NewClock(offset time.Duration) *Clock {
	c := &Clock{}
	now := time.Now()
	c.state.Store(&clockState{since: now, shown: now.UnixNano() + int64(offset)})
	return c
}

// Now returns nanoseconds since the Unix epoch.
func (c *Clock) Now() int64 { return c.state.Load().now() }

// Offset returns how far ahead of time the clock is.
func (c *Clock) Offset() time.Duration { return time.Duration(c.Now() - time.Now().UnixNano()) }

func (c *Clock) change(f func(s *clockState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.state.Load()
	s := &clockState{since: time.Now(), shown: old.now(), ppm: old.ppm}
	f(s)
	c.state.Store(s)
}

// Jump sets the clock forward, or back.
func (c *Clock) Jump(by time.Duration) { c.change(func(s *clockState) { s.shown += int64(by) }) }

// SetDrift makes the clock run faster than time by so many millionths.
func (c *Clock) SetDrift(ppm int64) { c.change(func(s *clockState) { s.ppm = ppm }) }
