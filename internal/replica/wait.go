package replica

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/trace"
)

// wait waits for a queued lock until it is granted, the transaction becomes a deadlock victim,
// lock_timeout passes or the statement is cancelled.
func (r *Replica) wait(ctx context.Context, req *kvpb.LockRequest, h concurrency.Holder, held lock.Strength, w *concurrency.Waiter) error {
	err := r.waitUntil(ctx, w.Done(), req, h, w)
	if err == nil {
		if err = w.Err(); errors.Is(err, concurrency.ErrMoved) {
			return r.moved(req.Key)
		}
		return err
	}
	if w.Cancel() {
		r.locks.Downgrade(h.ID, req.Key, held) // granted at the last moment
		if held == lock.None {
			r.releaseSubsumed(h.ID, [][]byte{req.Key}, nil)
		}
	}
	return err
}

// waitUntil waits for done on behalf of a lock request. Meanwhile h waits for the blockers of source, for the
// search for deadlocks. It returns an error if the wait ends in another way. During the wait the request is
// outside of its lockSection: if the locks are transferred to another leader, it fails with NotLeaderError.
func (r *Replica) waitUntil(
	ctx context.Context, done <-chan struct{}, req *kvpb.LockRequest, h concurrency.Holder, source concurrency.BlockerSource,
) error {
	r.transfers.Leave()
	err := r.waitOutside(ctx, done, req, h, source)
	if !r.transfers.Reenter() && err == nil {
		return r.notLeader()
	}
	return err
}

func (r *Replica) waitOutside(
	ctx context.Context, done <-chan struct{}, req *kvpb.LockRequest, h concurrency.Holder, source concurrency.BlockerSource,
) (err error) {
	edge := r.deps.Waits.Add(h, source)
	end := waiting(ctx, "wait for a lock", req.Key)
	defer func() {
		r.deps.Waits.End(edge, req.Key, err == nil)
		end(err)
	}()
	check := time.NewTimer(deadlockFirst)
	defer check.Stop()
	var timeout <-chan time.Time
	if req.Timeout > 0 {
		t := time.NewTimer(req.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	asked := time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-check.C:
			r.deps.Waits.Check(edge)
			r.dropDeadBlockers(req.Key, source)
			if time.Since(asked) >= askGatewayAfter {
				asked = time.Now()
				r.askGateways(req.Key, source)
			}
			check.Reset(deadlockAgain)
		case <-edge.Victim():
			return deadlockError(edge)
		case <-timeout:
			return &kvpb.LockNotAvailableError{Timeout: true}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func deadlockError(w *concurrency.Wait) error {
	e := &kvpb.DeadlockError{}
	for _, id := range w.Cycle() {
		e.Cycle = append(e.Cycle, kvpb.TxnID(id))
	}
	return e
}

// waiting begins a wait of a request for other transactions, for a key unless that is nil. What it returns ends the wait, whose time
// counts for the statement that has made the request.
func waiting(ctx context.Context, what string, key []byte) (end func(error)) {
	began, span := time.Now(), trace.Begin(ctx, what)
	if span != nil && key != nil {
		span.Keys(keys.Pretty(key))
	}
	return func(err error) {
		trace.AddWait(ctx, time.Since(began))
		span.End(err)
	}
}
