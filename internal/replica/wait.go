package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// wait waits for a queued lock until it is granted, the transaction is chosen to
// break a deadlock, lock_timeout passes or the statement is cancelled.
func (r *Replica) wait(ctx context.Context, req *kvpb.LockRequest, h concurrency.Holder, held concurrency.Strength, w *concurrency.Waiter) error {
	edge := r.deps.Waits.Add(h, w)
	defer r.deps.Waits.Remove(edge)
	check := time.NewTimer(deadlockFirst)
	defer check.Stop()
	var timeout <-chan time.Time
	if req.Timeout > 0 {
		t := time.NewTimer(req.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		var err error
		select {
		case <-w.Done():
			return w.Err()
		case <-check.C:
			r.deps.Waits.Check(edge)
			check.Reset(deadlockAgain)
			continue
		case <-edge.Victim():
			err = &kvpb.DeadlockError{}
		case <-timeout:
			err = &kvpb.LockNotAvailableError{Timeout: true}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if w.Cancel() {
			r.locks.Downgrade(h.ID, req.Key, held) // granted at the last moment
		}
		return err
	}
}
