package replica

import (
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/must"
)

// tasks are what a replica does in the background until it stops.
type tasks struct {
	mu     sync.Mutex
	closed bool
	life   context.Context // ends when the replica stops; nil until somebody needs it
	end    context.CancelFunc
	wg     sync.WaitGroup
	fatal  func(error) // Deps.OnFatal
}

// run runs fn in the background; false if the replica is stopping. A panic in it ends the
// process.
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

// open reports whether the replica is not stopping.
func (t *tasks) open() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed
}

// lifeLocked ends when the replica stops; t.mu is held.
func (t *tasks) lifeLocked() context.Context {
	if t.life == nil {
		t.life, t.end = context.WithCancel(context.Background())
		if t.closed {
			t.end()
		}
	}
	return t.life
}

// stopping is closed when the replica stops.
func (t *tasks) stopping() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lifeLocked().Done()
}

// context returns a context for work that ends with the replica, or after limit.
func (t *tasks) context(limit time.Duration) (context.Context, context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return context.WithTimeout(t.lifeLocked(), limit)
}

// stop ends what runs in the background and waits for it.
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
