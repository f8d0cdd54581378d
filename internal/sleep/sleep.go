// Package sleep waits: until a context ends (For), and with a mutex held (Mutex).
package sleep

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx once it has ended. A d that is not
// positive does not wait.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
