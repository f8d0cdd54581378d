package coord

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Reserve asks that for a while, at most until the transaction ends, nobody else begins to write in
// the spans, waits a moment for those who have begun, and moves the snapshot to the present. It
// makes it likely that what the transaction reads there from now on is unchanged when it
// commits; that is checked all the same. It is a retry error if what was read before
// has changed.
func (t *Txn) Reserve(ctx context.Context, spans []kvpb.Span, hold time.Duration) error {
	t.reserved = spans // even if it fails: some of it may be
	err := t.env.Sender.Refresh(ctx, &kvpb.RefreshRequest{Txn: &t.meta, Spans: spans, Hold: hold})
	if err != nil && ctx.Err() != nil {
		return err
	}
	return t.Freshen(ctx) // what can't be reserved is read all the same
}

// releaseReserved gives up what was reserved: a range that does not receive it lets the reservation lapse.
func (t *Txn) releaseReserved() {
	if len(t.reserved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_ = t.env.Sender.Refresh(ctx, &kvpb.RefreshRequest{Txn: &t.meta, Spans: t.reserved, Hold: -1})
	t.reserved = nil
}
