package coord

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Reserve asks other transactions to begin no writes in the spans for the duration hold, or until
// this one ends if that is sooner. It waits a moment for those that have begun, and moves the
// snapshot to the present. So the transaction's reads there are likely to be unchanged at the
// commit, which still checks them. It returns a retry error if earlier reads have changed.
func (t *Txn) Reserve(ctx context.Context, spans []kvpb.Span, hold time.Duration) error {
	t.reserved = spans // even after an error: a part may be reserved
	err := t.env.Sender.Reserve(ctx, &kvpb.ReserveRequest{Txn: &t.meta, Spans: spans, Hold: hold})
	if err != nil && ctx.Err() != nil {
		return err
	}
	return t.Freshen(ctx) // a failed reservation does not keep the statement from reading
}

// releaseReserved releases the reservations. In a range that misses the request they expire.
func (t *Txn) releaseReserved() {
	if len(t.reserved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_ = t.env.Sender.Reserve(ctx, &kvpb.ReserveRequest{Txn: &t.meta, Spans: t.reserved})
	t.reserved = nil
}
