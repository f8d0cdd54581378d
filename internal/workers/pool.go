// Package workers runs functions on goroutines of which some stay for the next one: a new
// goroutine grows its stack anew, which costs more than most of what a message or a raft
// group has to do.
//
// store has its groups processed by a Pool, rpc its calls handled. It knows nothing of either.
//
// # Invariants
//
//  1. A function begins as soon as the scheduler lets it, unless as many as allowed are
//     running; then those that wait begin in order. (Go, next; TestLimit)
//  2. No goroutine outlives Close. (Close; every test, in virtual time)
package workers

import (
	"sync"

	"github.com/lichendb/lichen/internal/must"
)

// maxIdle is how many goroutines stay.
const maxIdle = 16

// Pool runs functions. It is safe for concurrent use.
type Pool struct {
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

// New returns a Pool of at most so many goroutines; 0 sets no limit. fatal is called if a
// function panics, which ends the process; nil: nobody is.
func New(limit int, fatal func(error)) *Pool { return &Pool{limit: limit, fatal: fatal} }

// Go runs fn soon.
func (p *Pool) Go(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		p.idle[n-1] <- fn // it has room
		p.idle = p.idle[:n-1]
		return
	}
	if p.limit > 0 && p.running >= p.limit {
		p.queue = append(p.queue, fn)
		return
	}
	p.running++
	p.wg.Go(func() { p.work(fn) })
}

func (p *Pool) work(fn func()) {
	defer must.Report(p.fatal)
	own := make(chan func(), 1)
	for fn != nil {
		fn()
		fn = p.next(own)
	}
}

// next returns what is to be run next, nil if the caller is to end.
func (p *Pool) next(own chan func()) func() {
	p.mu.Lock()
	if len(p.queue) > 0 {
		defer p.mu.Unlock()
		fn := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		return fn
	}
	if p.closed || len(p.idle) == maxIdle {
		defer p.mu.Unlock()
		p.running--
		must.True(p.running >= len(p.idle), "workers: %d run, %d are idle", p.running, len(p.idle))
		return nil
	}
	p.idle = append(p.idle, own)
	p.mu.Unlock()
	return <-own
}

// Close waits until all is done, what is given to Go meanwhile included.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, own := range p.idle {
		close(own)
	}
	p.running -= len(p.idle)
	p.idle = nil
	p.mu.Unlock()
	p.wg.Wait()
}
