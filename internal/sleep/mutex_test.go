package sleep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestMutex: one goroutine at a time holds the mutex, virtual time passes while others wait for it, and
// who gives up does not hold it.
func TestMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, began := NewMutex(), time.Now()
		m.Lock()
		go func() {
			time.Sleep(time.Minute)
			m.Unlock()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a mutex that is held: %v", err)
		}
		m.Lock()
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("locked after %v", waited)
		}
		m.Unlock()
		if err := m.LockContext(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
