package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// awaitAbandoned prevents further commits of the transaction and waits for one in flight.
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

// answerEarlier answers a request with the outcome of an earlier copy. done is false if no copy has
// committed or will: one that an earlier leader proposed is lost, since this leader has applied an entry of
// its own term. This holds only while the leadership lasts: a copy in flight here may still be applied under
// the next leader. So a request that was sent again checks its fence (txnintent, invariant 10).
func (c *commit) answerEarlier(ctx context.Context) (done bool, err error) {
	r, id := c.r, c.req.Txn.ID
	if c.req.Resent {
		if err := r.awaitCommit(ctx, c.id); err != nil {
			return true, &kvpb.AmbiguousCommitError{Cause: err}
		}
	}
	end := r.finished.Find(id)
	if end.Known {
		r.releaseAll(c.id, c.req.Locks)
	}
	switch {
	case end.Known && end.Aborted:
		return true, errAborted
	case end.Known:
		c.resp.CommitTS = end.TS
		return true, nil
	case c.req.Resent && r.finished.MayHaveForgotten(c.req.Txn.ReadTS):
		return true, &kvpb.AmbiguousCommitError{Cause: &kvpb.UnavailableError{Reason: "the range has forgotten the commits of that time"}}
	case c.req.Resent:
		if err := r.checkFence(c.fence); err != nil {
			return true, err
		}
	}
	return false, nil
}
