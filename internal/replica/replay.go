package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// awaitAbandoned makes sure that no commit of the transaction begins any more, and
// waits for one that has.
func (r *Replica) awaitAbandoned(ctx context.Context, req *kvpb.ReleaseRequest) error {
	r.abandoned.Add(req.Txn.ID)
	return r.awaitCommit(ctx, txnID(req.Txn))
}

// awaitCommit waits until no commit of the transaction is in flight.
func (r *Replica) awaitCommit(ctx context.Context, id concurrency.TxnID) error {
	for {
		c := r.commits.Of(id)
		if c == nil {
			return nil
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errReplayed = &kvpb.UnavailableError{Reason: "the commit was sent again"}

// refused answers whether a commit that has announced itself may go on.
func (r *Replica) refused(req *kvpb.CommitRequest) error {
	switch {
	case r.abandoned.Has(req.Txn.ID):
		return errAborted
	case !req.Resent && r.replays.Replayed.Has(req.Txn.ID):
		return errReplayed // nobody waits for the answer to this copy
	}
	return nil
}
