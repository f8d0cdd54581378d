package coord

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxIngests bounds the attempts to write the same keys: a range may be split, or its leader change, between two.
const maxIngests = 100

// Ingest writes sorted, distinct keys with their values in transactions of their own, one for
// each range. Nobody else writes the keys or reads them until another transaction, which begins its
// commit later, makes them known: the index of a table that is about to be created. After an
// error some may have been written.
func (e *Env) Ingest(ctx context.Context, writes []kvpb.Write, until func() hlc.Timestamp) error {
	here := len(writes) // as far as the keys are thought to lie in one range
	for attempt := 0; len(writes) > 0; attempt++ {
		err := e.ingestHere(ctx, writes[:here], until)
		var several *kvpb.SeveralRangesError
		switch {
		case err == nil:
			writes = writes[here:]
			here, attempt = len(writes), 0
		case errors.As(err, &several):
			here, _ = slices.BinarySearchFunc(writes, several.Next, func(w kvpb.Write, next []byte) int { return bytes.Compare(w.Key, next) })
			if here == 0 {
				return err
			}
		case kvpb.Classify(err) != kvpb.ClassRetry || attempt == maxIngests:
			return err
		}
	}
	return nil
}

// ingestHere writes keys of one range.
func (e *Env) ingestHere(ctx context.Context, writes []kvpb.Write, until func() hlc.Timestamp) error {
	t := New(e)
	t.Reset(Options{Isolation: kvpb.RepeatableRead})
	t.BeginStatement()
	defer t.finish()
	req := kvpb.CommitRequest{Txn: &t.meta, Writes: writes, AllReadsHere: true, Ingest: true, Renew: until}
	var resp kvpb.CommitResponse
	if err := e.Sender.Commit(ctx, &req, &resp); err != nil {
		return err
	}
	if e.MaxOffset > 0 {
		e.Clock.Forward(resp.CommitTS)
	}
	return nil
}
