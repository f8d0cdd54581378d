package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// Status is the transaction status that ReadyForQuery carries.
func (s *Session) Status() byte { return s.txn.Status() }

// commit ends the transaction, block or implicit, for good.
func (s *Session) commit(ctx context.Context) error {
	if !s.txn.Open() {
		s.vals.Commit()
		return nil
	}
	err := s.txn.Commit(ctx)
	s.blockEnded(err)
	if err != nil {
		s.txn.Rollback(ctx)
		return s.translate(ctx, err)
	}
	s.txn.End()
	return nil
}

// beginStatement begins a statement of the open transaction; the first one of a block may wait
// for others that contend with it.
func (s *Session) beginStatement(ctx context.Context, p *prepared.Statement) error {
	if !s.txn.BeginStatement(ctx) {
		return nil
	}
	return s.contended.Begin(ctx, &s.srv.contention, s.txn.KV(), p.Kind(), s.vals.Fast.LockTimeout)
}

// blockEnded notes how a block ended: err is what its client receives, nil if it was
// committed.
func (s *Session) blockEnded(err error) { s.contended.Ended(&s.srv.contention, err, s.coll.Known) }

// txnControl executes BEGIN, COMMIT, ROLLBACK and statements about savepoints.
func (x *execution) txnControl(ctx context.Context, stmt ast.Statement) (tag string, err error) {
	s := x.s
	switch st := stmt.(type) {
	case *ast.Begin:
		return x.beginBlock(ctx, st)
	case *ast.Commit:
		return x.commitBlock(ctx, st)
	case *ast.Rollback:
		return x.rollbackBlock(ctx, st)
	case *ast.Savepoint:
		return "SAVEPOINT", s.txn.Savepoint(string(st.Name))
	case *ast.Release:
		return "RELEASE", s.txn.Release(string(st.Name))
	case *ast.RollbackTo:
		return "ROLLBACK", s.translate(ctx, s.txn.RollbackTo(ctx, string(st.Name)))
	}
	return "", pgerr.Unsupported("%s is not supported", stmt.Tag())
}

func (x *execution) beginBlock(ctx context.Context, st *ast.Begin) (string, error) {
	tag := "BEGIN"
	if st.Start {
		tag = "START TRANSACTION"
	}
	if x.s.txn.InBlock() {
		x.res.Notice("WARNING", pgerr.New(pgerr.ActiveSQLTransaction, "there is already a transaction in progress"))
		return tag, nil
	}
	x.s.txn.BeginBlock()
	if err := x.s.setTxnModes(ctx, &st.Modes); err != nil {
		return "", err
	}
	return tag, nil
}

func (x *execution) commitBlock(ctx context.Context, st *ast.Commit) (string, error) {
	t := &x.s.txn
	o, m := t.Chained()
	switch {
	case t.Failed():
		return x.rollbackBlock(ctx, &ast.Rollback{Chain: st.Chain})
	case !t.InBlock() && st.Chain:
		return "", pgerr.New(pgerr.NoActiveSQLTransaction, "COMMIT AND CHAIN can only be used in transaction blocks")
	default:
		if !t.InBlock() {
			x.warnNoBlock()
		}
		if err := x.s.commit(ctx); err != nil {
			return "", err
		}
	}
	if st.Chain {
		t.Chain(o, m)
	}
	return "COMMIT", nil
}

func (x *execution) rollbackBlock(ctx context.Context, st *ast.Rollback) (string, error) {
	t := &x.s.txn
	switch {
	case !t.InBlock() && st.Chain:
		return "", pgerr.New(pgerr.NoActiveSQLTransaction, "ROLLBACK AND CHAIN can only be used in transaction blocks")
	case !t.InBlock():
		x.warnNoBlock()
	}
	t.LeaveSavepoints()
	o, m := t.Chained()
	t.Rollback(ctx)
	if st.Chain {
		t.Chain(o, m)
	}
	return "ROLLBACK", nil
}

func (x *execution) warnNoBlock() {
	x.res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "there is no transaction in progress"))
}

// setTransaction executes SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (x *execution) setTransaction(ctx context.Context, st *ast.SetTransaction) error {
	s := x.s
	if st.Session {
		return s.vars.SetCharacteristics(&st.Modes)
	}
	if !s.txn.InAnyBlock() {
		x.res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	}
	s.txn.Ensure()
	if st.Snapshot != "" {
		return s.txn.ImportSnapshot(st.Snapshot)
	}
	return s.setTxnModes(ctx, &st.Modes)
}

// setTxnModes applies the modes of BEGIN and SET TRANSACTION to the open transaction.
func (s *Session) setTxnModes(ctx context.Context, m *ast.TxnModes) (err error) {
	var asOf hlc.Timestamp
	if m.AsOf != nil {
		if asOf, err = s.asOf(ctx, m.AsOf); err != nil {
			return err
		}
	}
	return s.txn.SetModes(m, asOf)
}

// asOf evaluates the expression of AS OF SYSTEM TIME.
func (s *Session) asOf(ctx context.Context, e ast.Expr) (hlc.Timestamp, error) {
	d, t, err := s.evalConst(ctx, e)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	return transaction.AsOf(d, t, s.srv.cfg.DB.Clock().Now(), &s.vals.Format, e.Position())
}

// writableTemp reports whether a table is a temporary one that the open transaction, though it
// is read-only, may write to.
func (s *Session) writableTemp(t *catalog.Table) bool {
	return !s.txn.KV().Options().ReadOnly && s.coll.Temporary(t)
}

// writes returns 25006 if the open transaction may not do what to a relation.
func (s *Session) writes(t *catalog.Table, what string) error {
	if !s.txn.ReadOnly() || s.writableTemp(t) {
		return nil
	}
	return errReadOnly(what)
}

func errReadOnly(what string) error {
	return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
}
