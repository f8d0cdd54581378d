package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// runDDL executes a statement that changes the catalog.
func (x *execution) runDDL(ctx context.Context, root *plan.DDL) error {
	s := x.s
	s.fillEnv(ctx, &x.env, x.params)
	if err := s.settledForDDL(ctx, root.Stmt); err != nil {
		return err
	}
	env := x.ddlEnv(root.Query)
	env.ParamTypes = x.prepared.types
	tag, err := ddl.Exec(ctx, env, root.Stmt)
	if err != nil {
		return err
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.res.Complete(tag)
}

// endImplicit commits the implicit transaction if it ends with this statement.
func (x *execution) endImplicit(ctx context.Context) error {
	if !x.commit || x.s.txn.block != blockNone {
		return nil
	}
	if x.s.struck {
		return ctx.Err()
	}
	err := x.s.commitOnly(ctx)
	x.committed = err == nil
	return err
}

// commitOnly commits the implicit transaction and leaves the portal that runs in
// it alone: it has results to send yet. A retry error comes back as it is.
func (s *Session) commitOnly(ctx context.Context) error {
	t := &s.txn
	if err := s.checkDeferred(ctx, nil); err != nil {
		return err
	}
	if len(s.portals) > 0 {
		if err := s.holdCursors(ctx); err != nil {
			return err
		}
	}
	if err := s.endTemp(ctx); err != nil {
		return err
	}
	if err := t.txn.SpillRest(ctx); err != nil {
		return err
	}
	if err := s.coll.PreCommit(ctx); err != nil {
		return err
	}
	t.txn.Renew = s.coll.CommitDeadline
	if err := t.txn.Commit(ctx); err != nil {
		if kvpb.Classify(err) == kvpb.ClassAmbiguous {
			s.endID(txnUnknown, hlc.Timestamp{})
		}
		return err
	}
	s.endID(txnCommitted, t.txn.CommitTimestamp())
	s.coll.Committed(ctx)
	s.vals.Commit()
	s.cursorsHeld()
	t.open = false
	s.txnStart.Store(0)
	s.advisory.EndTxn()
	s.afterCommit(ctx)
	return nil
}

// currentOptions are those of the open transaction, or of the one that the next
// statement would open.
func (s *Session) currentOptions() kv.TxnOptions {
	if s.txn.open {
		return s.txn.txn.Options()
	}
	return s.txnOptions()
}
