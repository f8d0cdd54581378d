package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// runDDL executes a statement that changes the catalog.
func (x *execution) runDDL(ctx context.Context, root *plan.DDL) error {
	x.fillEnv(ctx)
	env := x.ddlEnv(root.Query)
	if env.ParamTypes = x.prepared.ParamTypes(); env.ParamTypes == nil {
		env.ParamTypes = x.prepared.Declared
	}
	env.Variables = x.prepared.Variables
	var tag string
	sp := x.ex.coll.Savepoint()
	err := x.asJob(ctx, env, func() (err error) {
		err = x.eventTriggers(root.Stmt).run(ctx, env, func() (err error) {
			tag, err = ddl.Exec(ctx, env, root.Stmt)
			return err
		})
		if err != nil {
			return err
		}
		if x.auditing.on {
			x.auditing.changed = x.ex.coll.RelationsSince(sp)
		}
		x.happened(eventKind(tag))
		return nil
	}, func() error { return x.endImplicit(ctx) })
	if err != nil {
		return err
	}
	x.warn()
	return x.answer(tag)
}

// ddlEnv is what ddl works with in this execution.
func (x *execution) ddlEnv(query *plan.Prepared) *statement.Env {
	env := x.ex.ddlEnv(&x.env)
	env.Query, env.CheckRoutine = query, x.checkRoutine
	env.Alone = x.alone && x.commit && !x.ex.txn.InBlock()
	if x.res != nil {
		env.Notice = x.res.Notice
	}
	return env
}

// ddlEnv is what ddl works with in the open transaction; plans run with with.
func (ex *executor) ddlEnv(with *operator.Env) *statement.Env {
	tablespace, _ := ex.vals.Get("default_tablespace")
	env := &statement.Env{
		ReadOnly: ex.txn.ReadOnly(),
		As:       func(r catalog.Owner, f func() error) error { return ex.who.AsDefiner(r.Role(), f) },
		Txn:      ex.txn.KV(), Coll: ex.coll, User: catalog.Owner(ex.who.Role()), SessionUser: catalog.Owner(ex.who.SessionRole()), Exec: with, Format: &ex.vals.Format,
		DefaultIntSize: ex.vals.Fast.DefaultIntSize, FamilyPerColumn: ex.srv.cfg.FamilyPerColumn, IngestAlways: ex.srv.cfg.IngestAlways,
		Localities: ranges.Localities(ex.srv.cfg.Ranges), DefaultTablespace: tablespace,
	}
	env.Setting = func(st *ast.SetVar) (catalog.Setting, error) { return ex.vars.Stored(st, env.Notice) }
	env.System, env.DescribeBuiltIn = ex.cats.SystemRoutines, ex.cats.DescribeBuiltIn
	env.Crowded = func() bool { return ex.srv.crowded(ex) }
	env.PendingTriggers = func(t *catalog.Table) bool { return ex.deferral.WaitOn(t.ID) }
	env.Filled, env.NotInUse = ex.contents.NoteFilled, ex.notInUse
	env.Optimize = func(ctx context.Context, p *plan.Prepared) error {
		return optimizer.Optimize(p, ex.planner.Optimization(ctx, nil, false))
	}
	if ex.srv.cfg.Ranges != nil {
		env.Presplit = ex.pending.ranges.Presplit
	}
	return env
}

// quietFor is how long other sessions have run no statement when a statement need not mind them.
const quietFor = time.Second

// crowded reports whether sessions other than that of ex run statements, or did within quietFor. Those of other nodes may
// at any time.
func (s *Server) crowded(ex *executor) bool {
	if n := s.cfg.Nodes; n != nil && !n.Alone() {
		return true
	}
	for _, other := range s.Sessions() {
		if &other.ex == ex {
			continue
		}
		if now := other.ex.current.Snapshot(); now.Running || time.Since(now.Since) < quietFor {
			return true
		}
	}
	return false
}

// notInUse returns 55006 if checks of rows of t wait for the end of the transaction, or a portal
// reads t: command, which changes or drops the table, would pull it away from under them.
func (ex *executor) notInUse(t *catalog.Table, command string) error {
	for _, p := range ex.portals.List() {
		if p.Scans(t.ID) {
			return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it is being used by active queries in this session", command, t.Name)
		}
	}
	if ex.deferral.WaitOn(t.ID) {
		return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it has pending trigger events", command, t.Name)
	}
	return nil
}

// endImplicit commits the implicit transaction if it ends with this statement.
func (x *execution) endImplicit(ctx context.Context) error {
	if !x.commit || x.ex.txn.InBlock() {
		return nil
	}
	if x.ex.running.endedItself {
		return ctx.Err()
	}
	err := x.ex.txn.Commit(ctx)
	x.committed = err == nil
	return err
}

// setClusterSetting executes SET CLUSTER SETTING and RESET CLUSTER SETTING.
func (x *execution) setClusterSetting(ctx context.Context, st *ast.SetClusterSetting) error {
	ex := x.ex
	if ex.txn.ReadOnly() {
		return errReadOnly(st.Tag())
	}
	if err := ex.pending.settings.Set(ex.txn.KV(), ex.srv.cfg.Settings, st, &ex.vals.Format); err != nil {
		return err
	}
	x.happened(eventlog.SettingChanged)
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.answer(st.Tag())
}

// warn sends the warnings of the statement.
func (x *execution) warn() {
	for _, w := range x.ex.running.warnings {
		x.res.Notice("WARNING", w)
	}
	x.ex.running.warnings = nil
}
