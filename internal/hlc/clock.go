package hlc

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// BoundWindow is how far past the current time a bound is persisted. It is
	// also the most that timestamps run ahead of the wall after a restart.
	BoundWindow = 3 * time.Second
	// stopMargin is how far past the last reading the bound of a stopped clock
	// lies: a Now that is under way when Stop begins may still return what it has
	// read from the wall before.
	stopMargin = time.Millisecond
	// RefreshEvery is how often the owner of a clock should call Refresh; well
	// below BoundWindow, so that Now does not meet the bound.
	RefreshEvery = time.Second
	// reanchorAfter is how far a persisted bound may lie ahead of the wall clock
	// before the wall is taken to have been set back and the clock is anchored
	// at the bound, so that its time keeps flowing. Below it, the clock hands
	// out the nanoseconds after the bound until the wall has caught up.
	reanchorAfter = 10 * time.Second
	// maxWallTime is past any time a clock can show (the year 2116), with room
	// above it for a bound.
	maxWallTime = 1 << 62
)

// ErrTooFarAhead is returned by Update for a timestamp further ahead of the
// physical clock than the maximum offset allows.
var ErrTooFarAhead = errors.New("hlc: timestamp too far ahead of this node's clock")

// Clock hands out timestamps that only go up. It keeps its state in one word:
// every timestamp it returns has its own wall time and a zero logical part,
// which keeps the keys of versions short.
type Clock struct {
	last  atomic.Int64 // wall time of the latest timestamp handed out or seen
	limit atomic.Int64 // times at or past it wait for a new persisted bound

	physical  func() int64
	offset    int64 // added to physical since Start, when the wall was set back
	maxOffset time.Duration

	// mu guards what follows. It is held while a bound is persisted, as long as the disk may stall.
	mu      sleep.Mutex
	persist func(bound int64) error
	stopped bool
	failed  error

	onFail      func(error)
	refreshedAt atomic.Int64 // value of last when the bound was last refreshed
}

// NewSystem returns a clock that starts at the wall time of this moment and
// then follows the monotonic clock. A maxOffset of 0 turns the check of Update
// off (a cluster of one node).
func NewSystem(maxOffset time.Duration) *Clock {
	anchor := time.Now()
	wall := anchor.UnixNano()
	return New(func() int64 { return wall + int64(time.Since(anchor)) }, maxOffset)
}

// New returns a clock whose physical part is read from physical, in nanoseconds
// since the Unix epoch: a virtual clock in tests. physical must be safe for
// concurrent use.
func New(physical func() int64, maxOffset time.Duration) *Clock {
	c := &Clock{physical: physical, maxOffset: maxOffset, mu: sleep.NewMutex()}
	c.limit.Store(math.MaxInt64)
	return c
}

// Start puts the clock past bound, the last one that an earlier incarnation of this
// clock persisted (0 if none), persists a first bound of its own and from then
// on hands out no time that is not below a persisted bound. persist must return
// only when the bound is durable. onFail, if not nil, is called with an error of
// persist met inside Now, which has no other way to report it and does not
// return; the owner should end the process.
func (c *Clock) Start(bound int64, persist func(bound int64) error, onFail func(error)) error {
	if now := c.physical(); bound-now > int64(reanchorAfter) {
		c.offset = bound - now
	}
	c.raise(bound)
	c.onFail = onFail
	c.mu.Lock()
	defer c.mu.Unlock()
	c.persist = persist
	c.limit.Store(0)
	return c.raiseLimit()
}

// Stop persists a last bound, just past the times that were handed out, so that
// the clock's next incarnation need not wait for the wall to reach the bound of this
// one, and ends the persistence of bounds. Afterwards Now stands still below the
// last bound instead of passing it; nothing may be written with the times it
// returns.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	if c.persist == nil {
		return
	}
	limit := c.limit.Load()
	// The limit in memory comes first: no time at or past the bound is handed out
	// once the bound is durable. A Now that has passed its check has read the wall
	// before this reading, or is one past last.
	bound := max(c.PhysicalNow(), c.last.Load()+1) + int64(stopMargin)
	if bound >= limit {
		return
	}
	c.limit.Store(bound)
	_ = c.persist(bound) // if it fails, the bound of before is there, which is as good
}

// Now returns a timestamp after every one that this clock returned or received
// of before.
func (c *Clock) Now() Timestamp {
	for {
		last := c.last.Load()
		next := max(c.PhysicalNow(), last+1)
		if next >= c.limit.Load() {
			if !c.extend() {
				return Timestamp{WallTime: c.limit.Load() - 1}
			}
			continue
		}
		if c.last.CompareAndSwap(last, next) {
			return Timestamp{WallTime: next}
		}
	}
}

// TryNow is Now for those who may not wait for a disk, holding a mutex for example: false
// means that the clock waits for a bound to become durable.
func (c *Clock) TryNow() (Timestamp, bool) {
	for {
		last := c.last.Load()
		next := max(c.PhysicalNow(), last+1)
		if next >= c.limit.Load() {
			return Timestamp{}, false
		}
		if c.last.CompareAndSwap(last, next) {
			return Timestamp{WallTime: next}, true
		}
	}
}

// Reading returns a time that no timestamp lies above that was handed out before, and
// never waits, for a disk neither: no timestamp, but for comparison with the end of a
// lease.
func (c *Clock) Reading() Timestamp {
	return Timestamp{WallTime: max(c.PhysicalNow(), c.last.Load())}
}

// PhysicalNow returns the physical time in nanoseconds since the Unix epoch.
// It is not ordered with the timestamps of Now.
func (c *Clock) PhysicalNow() int64 { return c.physical() + c.offset }

// MaxOffset returns how far apart the clocks of two nodes may be.
func (c *Clock) MaxOffset() time.Duration { return c.maxOffset }

// Update takes in a timestamp received from another node, so that Now is later
// than it. One that is further ahead than the maximum offset is refused.
func (c *Clock) Update(ts Timestamp) error {
	if c.maxOffset > 0 {
		if ahead := ts.WallTime - c.PhysicalNow(); ahead > int64(c.maxOffset) {
			return fmt.Errorf("%w: %v is %v ahead, the limit is %v",
				ErrTooFarAhead, ts, time.Duration(ahead), c.maxOffset)
		}
	}
	c.Forward(ts)
	return nil
}

// Latest returns a timestamp above which no request of another node can have one: that node's clock
// is at most the maximum offset ahead of this one, and a read that is moved past the uncertainty goes
// as far again. Without a maximum offset only what no clock shows lies above.
func (c *Clock) Latest() Timestamp {
	if c.maxOffset == 0 {
		return Timestamp{WallTime: maxWallTime - 1}
	}
	return Timestamp{WallTime: c.PhysicalNow() + 2*int64(c.maxOffset)}
}

// Forward makes Now later than ts, without a check: for timestamps this node
// finds in its own log and data.
func (c *Clock) Forward(ts Timestamp) {
	wall := ts.WallTime
	if wall >= maxWallTime { // the arguments of must.True would be allocated in any case
		must.True(false, "hlc: timestamp %v is beyond any clock", ts)
	}
	if ts.Logical > 0 {
		wall++
	}
	c.raise(wall)
}

func (c *Clock) raise(wall int64) {
	for {
		last := c.last.Load()
		if last >= wall || c.last.CompareAndSwap(last, wall) {
			return
		}
	}
}

// Refresh persists a new bound if the clock was used since the last one; the
// owner calls it every RefreshEvery. An idle clock costs no write.
func (c *Clock) Refresh() error {
	last := c.last.Load()
	if c.refreshedAt.Load() == last {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.persist == nil || c.stopped {
		return nil
	}
	return c.raiseLimit()
}

// extend waits until the limit lies past the present and reports whether Now
// may try again; false means that the clock was stopped.
func (c *Clock) extend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if max(c.PhysicalNow(), c.last.Load()+1) < c.limit.Load() {
		return true // somebody else was first
	}
	if c.stopped {
		return false
	}
	err := c.raiseLimit()
	if err == nil {
		return true
	}
	if c.failed == nil {
		c.failed = err
		if c.onFail != nil {
			c.onFail(err)
		}
	}
	// No time may be handed out and there is no one to tell: the clock stands
	// still, as after Stop. Nothing can be made durable by this process any more.
	c.stopped = true
	return false
}

// raiseLimit persists a bound BoundWindow past the present and then raises
// the limit to it. The caller holds c.mu.
func (c *Clock) raiseLimit() error {
	last := c.last.Load()
	bound := max(c.PhysicalNow(), last+1) + int64(BoundWindow)
	if bound <= c.limit.Load() {
		return nil
	}
	if err := c.persist(bound); err != nil {
		return fmt.Errorf("hlc: persist upper bound: %w", err)
	}
	c.limit.Store(bound)
	c.refreshedAt.Store(last)
	return nil
}
