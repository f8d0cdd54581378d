package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deferral"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// followers are what a session keeps that follows its transaction. They implement
// transaction.Followers.
type followers struct{ ex *executor }

// Defaults implements transaction.Followers.
func (f followers) Defaults() (kv.TxnOptions, transaction.Modes) {
	v := &f.ex.vals.Fast
	return kv.TxnOptions{Isolation: v.DefaultIsolation, ReadOnly: v.DefaultReadOnly && !f.MayHaveTemp()},
		transaction.Modes{ReadOnly: v.DefaultReadOnly, Deferrable: v.DefaultDeferrable, Uncommitted: v.DefaultUncommitted}
}

// MayHaveTemp implements transaction.Followers.
func (f followers) MayHaveTemp() bool { return f.ex.coll.MayHaveTemp() }

// Began implements transaction.Followers.
func (f followers) Began(txn *kv.Txn, start time.Time) {
	ex := f.ex
	txn.LockTimeout = ex.vals.Fast.LockTimeout
	ex.vals.Format.Now = start
	ex.contended.Reset()
	ex.deferral.Reset()
	ex.coll.Begin(txn)
}

// BeforeCommit implements transaction.Followers.
func (f followers) BeforeCommit(ctx context.Context, txn *kv.Txn) error {
	ex := f.ex
	if err := ex.deferral.Check(ctx); err != nil {
		return err
	}
	if err := ex.portals.BeforeCommit(ctx, txn); err != nil {
		return err
	}
	if err := ex.endTemp(ctx); err != nil {
		return err
	}
	if err := ex.pending.notify.BeforeCommit(ctx, txn); err != nil {
		return err
	}
	if err := txn.SpillRest(ctx); err != nil {
		return err
	}
	if err := ex.coll.PreCommit(ctx); err != nil {
		return err
	}
	txn.Renew = ex.commitDeadline
	return nil
}

// Committed implements transaction.Followers.
func (f followers) Committed(ctx context.Context) {
	ex := f.ex
	ex.coll.Committed(ctx)
	ex.vals.Commit()
	ex.portals.TxnCommitted()
	ex.advisory.EndTxn()
	ex.afterCommit(ctx)
	ex.pending.notify.Committed(ctx, ex.txn.KV())
}

// Stopped implements transaction.Followers.
func (f followers) Stopped() {
	f.ex.portals.TxnFailed()
	f.ex.advisory.EndTxn()
}

// Undone implements transaction.Followers.
func (f followers) Undone(ctx context.Context, open bool) {
	ex := f.ex
	if open {
		ex.coll.RolledBack(ctx)
	}
	ex.vals.Rollback()
	ex.pending.rollbackTo(pendingMark{})
	ex.pending.notify.Undone(open && ex.txn.KV().OutcomeUnknown())
	ex.contents.Undone()
}

// Ended implements transaction.Followers.
func (f followers) Ended() {
	f.ex.vals.Format.Now = time.Time{} // what is read before the next one begins is read now
	f.ex.portals.TxnEnded()
	f.ex.advisory.EndTxn()
}

// savepoint is what followers return to.
type savepoint struct {
	coll     catalog.Savepoint
	settings int
	pending  pendingMark
	portals  int
	advisory int // advisory locks of the transaction
	deferral deferral.State
}

// Savepoint implements transaction.Followers.
func (f followers) Savepoint() any {
	ex := f.ex
	return &savepoint{
		coll: ex.coll.Savepoint(), settings: ex.vals.Mark(), pending: ex.pending.mark(), deferral: ex.deferral.Mark(),
		portals: ex.portals.Mark(), advisory: ex.advisory.Mark(),
	}
}

// RollbackTo implements transaction.Followers.
func (f followers) RollbackTo(ctx context.Context, to any) {
	ex, sp := f.ex, to.(*savepoint)
	ex.coll.RollbackTo(sp.coll)
	ex.vals.RollbackTo(sp.settings)
	ex.pending.rollbackTo(sp.pending)
	ex.contents.UndoneTo()
	ex.deferral.RollbackTo(sp.deferral)
	ex.portals.RollbackTo(sp.portals)
	ex.advisory.RollbackTo(ctx, sp.advisory)
}

// makeChecks makes checks of deferred constraints in the open transaction.
func (f followers) makeChecks(ctx context.Context, checks []*operator.Deferred) error {
	var env operator.Env
	f.ex.eval.fill(ctx, &env, nil)
	f.ex.txn.KV().BeginStatement()
	return mutation.CheckDeferred(ctx, &env, checks)
}
