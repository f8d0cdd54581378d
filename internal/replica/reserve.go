package replica

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// reserveWait bounds the wait of a reservation for the writers in its span, which it polls every
	// reservePoll.
	reserveWait = time.Second
	reservePoll = 2 * time.Millisecond
	// reservedPoll is the interval at which a waiting writer checks whether the gateway of the
	// reservation is alive.
	reservedPoll = time.Second
)

// Reserve implements kvpb.Sender. It makes other transactions wait before they begin to write in the spans, and
// returns when the present writers there have ended, or after reserveWait. Without Hold it drops the transaction's
// reservations.
func (r *Replica) Reserve(ctx context.Context, req *kvpb.ReserveRequest) error {
	for _, s := range req.Spans {
		if _, err := r.enterRead(ctx, hlc.Timestamp{}, s); err != nil {
			return err
		}
	}
	id := txnID(req.Txn)
	if req.Hold == 0 {
		r.reserved.Drop(id)
		return nil
	}
	now := time.Now()
	h := concurrency.Holder{ID: id, Start: req.Txn.StartTS}
	other := func(o concurrency.TxnID) bool { return o != id }
	for _, s := range req.Spans {
		if !r.reserved.Take(h, s.Key, s.EndKey, now, now.Add(req.Hold)) {
			return nil
		}
		for r.locks.Writers(s.Key, s.EndKey, other) && time.Since(now) < reserveWait {
			if err := sleep.For(ctx, reservePoll); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitReserved waits for reservations before a transaction begins to write in their spans. A transaction
// that already writes there does not wait, nor does one that would deadlock: reservations make conflicts less
// likely, and correctness does not depend on them.
func (r *Replica) awaitReserved(ctx context.Context, req *kvpb.LockRequest) error {
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	began, one := time.Now(), *req
	for {
		v := r.reservedAgainst(h, req.Key, req.HoldsLocks)
		if v == nil {
			return nil
		}
		if req.Timeout > 0 {
			if one.Timeout = req.Timeout - time.Since(began); one.Timeout <= 0 {
				return &kvpb.LockNotAvailableError{Timeout: true}
			}
		}
		soon, cancel := context.WithTimeout(ctx, min(v.Left(time.Now()), reservedPoll))
		err := r.waitUntil(soon, v.Done(), &one, h, v)
		cancel()
		var dead *kvpb.DeadlockError
		switch {
		case errors.As(err, &dead):
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if !r.gatewayAlive(kvpb.TxnID(v.Holder()), false) {
				r.reserved.Drop(v.Holder())
			}
		case err != nil:
			return err
		}
	}
}

// isReserved reports whether a lock has to wait for a reservation.
func (r *Replica) isReserved(req *kvpb.LockRequest) bool {
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	return req.Strength.Writes() && r.reservedAgainst(h, req.Key, req.HoldsLocks) != nil
}

// reservedAgainst returns the reservation for which a transaction waits before it locks key.
func (r *Replica) reservedAgainst(h concurrency.Holder, key []byte, holdsLocks bool) *concurrency.Reservation {
	if plant.On(plant.ReservedForNobody) {
		return nil
	}
	v := r.reserved.Against(h, key, time.Now())
	if v == nil {
		return nil
	}
	start, end := v.Span()
	self := func(o concurrency.TxnID) bool { return o == h.ID }
	if holdsLocks && r.locks.Writers(start, end, self) || r.intents.Get(kvpb.TxnID(h.ID)) != nil {
		return nil
	}
	return v
}
