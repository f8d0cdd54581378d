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
type followers struct{ s *Session }

// Defaults implements transaction.Followers.
func (f followers) Defaults() (kv.TxnOptions, transaction.Modes) {
	v := &f.s.vals.Fast
	return kv.TxnOptions{Isolation: v.DefaultIsolation, ReadOnly: v.DefaultReadOnly && !f.MayHaveTemp()},
		transaction.Modes{ReadOnly: v.DefaultReadOnly, Deferrable: v.DefaultDeferrable, Uncommitted: v.DefaultUncommitted}
}

// MayHaveTemp implements transaction.Followers.
func (f followers) MayHaveTemp() bool { return f.s.coll.MayHaveTemp() }

// Began implements transaction.Followers.
func (f followers) Began(txn *kv.Txn, start time.Time) {
	s := f.s
	txn.LockTimeout = s.vals.Fast.LockTimeout
	s.vals.Format.Now = start
	s.contended.Reset()
	s.deferral.Reset()
	s.coll.Begin(txn)
}

// BeforeCommit implements transaction.Followers.
func (f followers) BeforeCommit(ctx context.Context, txn *kv.Txn) error {
	s := f.s
	if err := s.deferral.Check(ctx); err != nil {
		return err
	}
	if err := s.portals.BeforeCommit(ctx, txn); err != nil {
		return err
	}
	if err := s.endTemp(ctx); err != nil {
		return err
	}
	if err := s.pending.notify.BeforeCommit(ctx, txn); err != nil {
		return err
	}
	if err := txn.SpillRest(ctx); err != nil {
		return err
	}
	if err := s.coll.PreCommit(ctx); err != nil {
		return err
	}
	txn.Renew = s.commitDeadline
	return nil
}

// Committed implements transaction.Followers.
func (f followers) Committed(ctx context.Context) {
	s := f.s
	s.coll.Committed(ctx)
	s.vals.Commit()
	s.portals.TxnCommitted()
	s.advisory.EndTxn()
	s.afterCommit(ctx)
	s.pending.notify.Committed(ctx, s.txn.KV())
}

// Stopped implements transaction.Followers.
func (f followers) Stopped() {
	f.s.portals.TxnFailed()
	f.s.advisory.EndTxn()
}

// Undone implements transaction.Followers.
func (f followers) Undone(ctx context.Context, open bool) {
	s := f.s
	if open {
		s.coll.RolledBack(ctx)
	}
	s.vals.Rollback()
	s.pending.rollbackTo(pendingMark{})
	s.pending.notify.Undone(open && s.txn.KV().OutcomeUnknown())
	s.contents.Undone()
}

// Ended implements transaction.Followers.
func (f followers) Ended() {
	f.s.vals.Format.Now = time.Time{} // what is read before the next one begins is read now
	f.s.portals.TxnEnded()
	f.s.advisory.EndTxn()
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
	s := f.s
	return &savepoint{
		coll: s.coll.Savepoint(), settings: s.vals.Mark(), pending: s.pending.mark(), deferral: s.deferral.Mark(),
		portals: s.portals.Mark(), advisory: s.advisory.Mark(),
	}
}

// RollbackTo implements transaction.Followers.
func (f followers) RollbackTo(ctx context.Context, to any) {
	s, sp := f.s, to.(*savepoint)
	s.coll.RollbackTo(sp.coll)
	s.vals.RollbackTo(sp.settings)
	s.pending.rollbackTo(sp.pending)
	s.contents.UndoneTo()
	s.deferral.RollbackTo(sp.deferral)
	s.portals.RollbackTo(sp.portals)
	s.advisory.RollbackTo(ctx, sp.advisory)
}

// makeChecks makes checks of deferred constraints in the open transaction.
func (f followers) makeChecks(ctx context.Context, checks []*operator.Deferred) error {
	var env operator.Env
	f.s.fillEnv(ctx, &env, nil)
	f.s.txn.KV().BeginStatement()
	return mutation.CheckDeferred(ctx, &env, checks)
}
