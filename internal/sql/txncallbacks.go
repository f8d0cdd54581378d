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

// callbacks tell what a session keeps how its transaction goes. They implement transaction.Callbacks.
type callbacks struct{ ex *executor }

// Defaults implements transaction.Callbacks.
func (c callbacks) Defaults() (kv.TxnOptions, transaction.Modes) {
	v := &c.ex.vals.Fast
	return kv.TxnOptions{Isolation: v.DefaultIsolation, ReadOnly: v.DefaultReadOnly && !c.MayHaveTemp()},
		transaction.Modes{ReadOnly: v.DefaultReadOnly, Deferrable: v.DefaultDeferrable, Uncommitted: v.DefaultUncommitted}
}

// MayHaveTemp implements transaction.Callbacks.
func (c callbacks) MayHaveTemp() bool { return c.ex.coll.MayHaveTemp() }

// Began implements transaction.Callbacks.
func (c callbacks) Began(txn *kv.Txn, start time.Time) {
	ex := c.ex
	txn.LockTimeout = ex.vals.Fast.LockTimeout
	ex.vals.Format.Now = start
	ex.contended.Reset()
	ex.deferral.Reset()
	ex.coll.Begin(txn)
}

// BeforeCommit implements transaction.Callbacks.
func (c callbacks) BeforeCommit(ctx context.Context, txn *kv.Txn) error {
	ex := c.ex
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

// Committed implements transaction.Callbacks.
func (c callbacks) Committed(ctx context.Context) {
	ex := c.ex
	ex.coll.Committed(ctx)
	ex.vals.Commit()
	ex.portals.TxnCommitted()
	ex.advisory.EndTxn()
	ex.afterCommit(ctx)
	ex.pending.notify.Committed(ctx, ex.txn.KV())
}

// Stopped implements transaction.Callbacks.
func (c callbacks) Stopped() {
	c.ex.portals.TxnFailed()
	c.ex.advisory.EndTxn()
}

// Undone implements transaction.Callbacks.
func (c callbacks) Undone(ctx context.Context, open bool) {
	ex := c.ex
	if open {
		ex.coll.RolledBack(ctx)
	}
	ex.vals.Rollback()
	ex.pending.rollbackTo(pendingMark{})
	ex.pending.notify.Undone(open && ex.txn.KV().OutcomeUnknown())
	ex.contents.Undone()
}

// Ended implements transaction.Callbacks.
func (c callbacks) Ended() {
	c.ex.vals.Format.Now = time.Time{} // what is read before the next one begins is read now
	c.ex.portals.TxnEnded()
	c.ex.advisory.EndTxn()
}

// savepoint is what the callbacks return to.
type savepoint struct {
	coll     catalog.Savepoint
	settings int
	pending  pendingMark
	portals  int
	advisory int // advisory locks of the transaction
	deferral deferral.State
}

// Savepoint implements transaction.Callbacks.
func (c callbacks) Savepoint() any {
	ex := c.ex
	return &savepoint{
		coll: ex.coll.Savepoint(), settings: ex.vals.Mark(), pending: ex.pending.mark(), deferral: ex.deferral.Mark(),
		portals: ex.portals.Mark(), advisory: ex.advisory.Mark(),
	}
}

// RollbackTo implements transaction.Callbacks.
func (c callbacks) RollbackTo(ctx context.Context, to any) {
	ex, sp := c.ex, to.(*savepoint)
	ex.coll.RollbackTo(sp.coll)
	ex.vals.RollbackTo(sp.settings)
	ex.pending.rollbackTo(sp.pending)
	ex.contents.UndoneTo()
	ex.deferral.RollbackTo(sp.deferral)
	ex.portals.RollbackTo(sp.portals)
	ex.advisory.RollbackTo(ctx, sp.advisory)
}

// makeChecks makes checks of deferred constraints in the open transaction.
func (c callbacks) makeChecks(ctx context.Context, checks []*operator.Deferred) error {
	var env operator.Env
	c.ex.eval.fill(ctx, &env, nil)
	c.ex.txn.KV().BeginStatement()
	return mutation.CheckDeferred(ctx, &env, checks)
}
