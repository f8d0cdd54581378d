package sql

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ids"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// UniqueID implements call.Session.
func (f *sessionFuncs) UniqueID() int64 {
	return f.ex.srv.uniqueIDs.Next(time.Now(), f.ex.srv.nodeID())
}

// TransactionID implements call.Session.
func (f *sessionFuncs) TransactionID() int64 { return f.ex.txn.ID(f.ex.srv.nodeID()) }

// AssignedTransactionID implements call.Session: a transaction that has written gets a number.
func (f *sessionFuncs) AssignedTransactionID() (int64, bool) {
	if !f.ex.txn.HasID() && !f.ex.txn.KV().HasWrites() {
		return 0, false
	}
	return f.TransactionID(), true
}

// Snapshot implements call.Session: what the current statement sees.
func (f *sessionFuncs) Snapshot() (types.SnapshotValue, error) {
	return f.ex.srv.txnIDs.Snapshot(f.ex.txn.KV().ReadTimestamp(), func(q *ids.Question) ([]*ids.Answer, error) {
		return f.ex.srv.askTxns(f.ex.eval.functions.Ctx, q)
	})
}

// askTxns asks all other nodes; one that does not answer is an error.
func (s *Server) askTxns(ctx context.Context, q *ids.Question) ([]*ids.Answer, error) {
	nodes := s.cfg.Nodes
	if nodes == nil || nodes.Alone() {
		return nil, nil
	}
	others := nodes.Others()
	answers, errs := make([]*ids.Answer, len(others)), make([]error, len(others))
	var wg sync.WaitGroup
	for i, n := range others {
		wg.Go(func() {
			a, err := s.ask(ctx, n, &question{Txns: q})
			answers[i], errs[i] = a.Txns, err
		})
	}
	wg.Wait()
	for i, n := range others {
		if errs[i] != nil || answers[i] == nil {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %d did not answer: which of its transactions go on is not known", n).
				WithHint("Try again when it is back or decommissioned.")
		}
	}
	return answers, nil
}

// TransactionStatus implements call.Session: what became of a transaction, by its number; ""
// if that is not known.
func (f *sessionFuncs) TransactionStatus(id uint64) (string, error) {
	srv := f.ex.srv
	elsewhere := func(n kvpb.NodeID) bool {
		return n != srv.nodeID() && srv.cfg.Nodes != nil && slices.Contains(srv.cfg.Nodes.Others(), n)
	}
	return srv.txnIDs.StatusOf(id, elsewhere, func(n kvpb.NodeID, q *ids.Question) (*ids.Answer, error) {
		a, err := srv.ask(f.ex.eval.functions.Ctx, n, &question{Txns: q})
		return a.Txns, err
	})
}
