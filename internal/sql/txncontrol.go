package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/prepared"
)

// Status is the transaction status that ReadyForQuery carries.
func (s *Session) Status() byte { return s.ex.txn.Status() }

// commit ends the transaction, block or implicit, for good.
func (ex *executor) commit(ctx context.Context) error {
	if !ex.txn.Open() {
		ex.vals.Commit()
		return nil
	}
	err := ex.txn.Commit(ctx)
	ex.blockEnded(err)
	if err != nil {
		ex.txn.Rollback(ctx)
		return ex.translate(ctx, err)
	}
	ex.txn.End()
	return nil
}

// beginStatement begins a statement of the open transaction; the first one of a block may wait
// for others that contend with it.
func (ex *executor) beginStatement(ctx context.Context, p *prepared.Statement) error {
	if !ex.txn.BeginStatement(ctx) {
		return nil
	}
	return ex.contended.Begin(ctx, &ex.srv.contention, ex.txn.KV(), p.Kind(), ex.vals.Fast.LockTimeout)
}

// blockEnded notes how a block ended: err is what its client receives, nil if it was
// committed.
func (ex *executor) blockEnded(err error) { ex.contended.Ended(&ex.srv.contention, err, ex.coll.Known) }

// txnControl executes BEGIN, COMMIT, ROLLBACK and statements about savepoints.
func (x *execution) txnControl(ctx context.Context, stmt ast.Statement) (tag string, err error) {
	ex := x.ex
	switch st := stmt.(type) {
	case *ast.Begin:
		return x.beginBlock(ctx, st)
	case *ast.Commit:
		return x.commitBlock(ctx, st)
	case *ast.Rollback:
		return x.rollbackBlock(ctx, st)
	case *ast.Savepoint:
		return "SAVEPOINT", ex.txn.Savepoint(string(st.Name))
	case *ast.Release:
		return "RELEASE", ex.txn.Release(string(st.Name))
	case *ast.RollbackTo:
		return "ROLLBACK", ex.translate(ctx, ex.txn.RollbackTo(ctx, string(st.Name)))
	}
	return "", pgerr.Unsupported("%s is not supported", stmt.Tag())
}

func (x *execution) beginBlock(ctx context.Context, st *ast.Begin) (string, error) {
	tag := "BEGIN"
	if st.Start {
		tag = "START TRANSACTION"
	}
	if x.ex.txn.InBlock() {
		x.res.Notice("WARNING", pgerr.New(pgerr.ActiveSQLTransaction, "there is already a transaction in progress"))
		return tag, nil
	}
	x.ex.txn.BeginBlock()
	if err := x.ex.setTxnModes(ctx, &st.Modes); err != nil {
		return "", err
	}
	return tag, nil
}

func (x *execution) commitBlock(ctx context.Context, st *ast.Commit) (string, error) {
	t := &x.ex.txn
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
		if err := x.ex.commit(ctx); err != nil {
			return "", err
		}
	}
	if st.Chain {
		t.Chain(o, m)
	}
	return "COMMIT", nil
}

func (x *execution) rollbackBlock(ctx context.Context, st *ast.Rollback) (string, error) {
	t := &x.ex.txn
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
	ex := x.ex
	if st.Session {
		return ex.vars.SetCharacteristics(&st.Modes)
	}
	if !ex.txn.InAnyBlock() {
		x.res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	}
	ex.txn.Ensure()
	if st.Snapshot != "" {
		return ex.txn.ImportSnapshot(st.Snapshot)
	}
	return ex.setTxnModes(ctx, &st.Modes)
}

// setTxnModes applies the modes of BEGIN and SET TRANSACTION to the open transaction.
func (ex *executor) setTxnModes(ctx context.Context, m *ast.TxnModes) (err error) {
	var asOf hlc.Timestamp
	if m.AsOf != nil {
		if asOf, err = ex.eval.asOf(ctx, m.AsOf); err != nil {
			return err
		}
	}
	return ex.txn.SetModes(m, asOf)
}

func errReadOnly(what string) error {
	return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
}
