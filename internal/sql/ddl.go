package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/ranges"
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

func (s *Session) defaultTablespace() string {
	v, _ := s.vals.Get("default_tablespace")
	return v
}

// ddlEnv is what ddl works with in this execution.
func (x *execution) ddlEnv(query *plan.Prepared) *ddl.Env {
	s := x.s
	env := &ddl.Env{
		ReadOnly: s.readOnly(),
		Txn:      s.txn.txn, Coll: s.coll, User: s.user, Exec: &x.env, Format: s.Format(),
		DefaultIntSize: s.vals.Fast.DefaultIntSize, Query: query, FamilyPerColumn: s.srv.cfg.FamilyPerColumn,
		Localities: ranges.Localities(s.srv.cfg.Ranges), DefaultTablespace: s.defaultTablespace(),
	}
	env.Setting = func(st *ast.SetVar) (catalog.Setting, error) { return s.storedSetting(st, env.Notice) }
	env.Alone = x.alone && x.commit && s.txn.block == blockNone
	env.Filled = s.noteFilled
	env.Optimize = func(ctx context.Context, p *plan.Prepared) error {
		return optimizer.Optimize(p, s.optimization(ctx, nil, false))
	}
	if x.res != nil {
		env.Notice = x.res.Notice
	}
	if s.srv.cfg.Ranges != nil {
		env.Presplit = s.pending.ranges.Presplit
	}
	return env
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

// setClusterSetting executes SET CLUSTER SETTING and RESET CLUSTER SETTING.
func (x *execution) setClusterSetting(ctx context.Context, st *ast.SetClusterSetting) error {
	s := x.s
	if s.readOnly() {
		return errReadOnly(st.Tag())
	}
	if err := s.pending.settings.Set(s.txn.txn, s.srv.cfg.Settings, st, s.Format()); err != nil {
		return err
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.res.Complete(st.Tag())
}

// warn sends the warnings of the statement.
func (x *execution) warn() {
	for _, w := range x.s.warnings {
		x.res.Notice("WARNING", w)
	}
	x.s.warnings = nil
}
