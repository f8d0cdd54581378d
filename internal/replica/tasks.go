package replica

import (
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/must"
)

// tasks are the background goroutines of a replica.
type tasks struct {
	mu     sync.Mutex
	closed bool
	ctx    context.Context // ends when the replica stops; nil until first used
	end    context.CancelFunc
	wg     sync.WaitGroup
	fatal  func(error) // Deps.OnFatal
}

// run runs fn in the background. It returns false, and does not run fn, if the replica is stopping. A panic
// of fn ends the process.
func (t *tasks) run(fn func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(func() {
		defer must.Report(t.fatal)
		fn()
	})
	return true
}

// open reports whether stop has not been called.
func (t *tasks) open() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed
}

// contextLocked returns the context that ends when the replica stops. The caller holds t.mu.
func (t *tasks) contextLocked() context.Context {
	if t.ctx == nil {
		t.ctx, t.end = context.WithCancel(context.Background())
		if t.closed {
			t.end()
		}
	}
	return t.ctx
}

// stopping returns a channel that is closed when the replica stops.
func (t *tasks) stopping() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.contextLocked().Done()
}

// context returns a context for work that ends with the replica, or after limit.
func (t *tasks) context(limit time.Duration) (context.Context, context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return context.WithTimeout(t.contextLocked(), limit)
}

// stop cancels the background goroutines and waits for them.
func (t *tasks) stop() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		if t.end != nil {
			t.end()
		}
	}
	t.mu.Unlock()
	t.wg.Wait()
}
