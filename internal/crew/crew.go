// Package crew runs functions on goroutines of which some stay for the next one: a new
// goroutine grows its stack anew, which costs more than most of what a message or a raft
// group has to do.
//
// store has its groups processed by a Crew, rpc its calls handled. It knows nothing of either.
//
// # Invariants
//
//  1. A function begins as soon as the scheduler lets it, unless as many as allowed are
//     running; then those that wait begin in order. (Go, next; TestLimit)
//  2. No goroutine outlives Close. (Close; every test, in virtual time)
package crew

import (
	"sync"

	"github.com/lichendb/lichen/internal/must"
)

// maxIdle is how many goroutines stay.
const maxIdle = 16

// Crew runs functions. It is safe for concurrent use.
type Crew struct {
	limit int // of goroutines; 0: none
	fatal func(error)
	wg    sync.WaitGroup

	mu      sync.Mutex
	running int // the idle ones included
	// idle wait for their next function, each at its channel. The one that came last is taken
	// first: what it needs is in the caches, and those below it may end.
	idle   []chan func()
	queue  []func()
	closed bool
}

// New returns a Crew of at most so many goroutines; 0 sets no limit. fatal is told if a
// function panics, which ends the process; nil: nobody is.
func New(limit int, fatal func(error)) *Crew { return &Crew{limit: limit, fatal: fatal} }

// Go runs fn soon.
func (c *Crew) Go(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		c.idle[n-1] <- fn // it has room
		c.idle = c.idle[:n-1]
		return
	}
	if c.limit > 0 && c.running >= c.limit {
		c.queue = append(c.queue, fn)
		return
	}
	c.running++
	c.wg.Go(func() { c.work(fn) })
}

func (c *Crew) work(fn func()) {
	defer must.Report(c.fatal)
	own := make(chan func(), 1)
	for fn != nil {
		fn()
		fn = c.next(own)
	}
}

// next returns what is to be run next, nil if the caller is to end.
func (c *Crew) next(own chan func()) func() {
	c.mu.Lock()
	if len(c.queue) > 0 {
		defer c.mu.Unlock()
		fn := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		return fn
	}
	if c.closed || len(c.idle) == maxIdle {
		defer c.mu.Unlock()
		c.running--
		must.True(c.running >= len(c.idle), "crew: %d run, %d are idle", c.running, len(c.idle))
		return nil
	}
	c.idle = append(c.idle, own)
	c.mu.Unlock()
	return <-own
}

// Close waits until all is done, what is given to Go meanwhile included.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	for _, own := range c.idle {
		close(own)
	}
	c.running -= len(c.idle)
	c.idle = nil
	c.mu.Unlock()
	c.wg.Wait()
}
