package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// runDDL executes a statement that changes the catalog.
func (x *execution) runDDL(ctx context.Context, root *plan.DDL) error {

	x.fillEnv(ctx)
	env := x.ddlEnv(root.Query)
	env.ParamTypes = x.prepared.ParamTypes()
	var tag string
	sp := x.s.coll.Savepoint()
	err := x.asJob(ctx, env, func() (err error) {
		if tag, err = ddl.Exec(ctx, env, root.Stmt); err != nil {
			return err
		}
		if x.auditing.on {
			x.auditing.changed = x.s.coll.RelationsSince(sp)
		}
		x.happened(eventKind(tag))
		return x.endImplicit(ctx)
	})
	if err != nil {
		return err
	}
	x.warn()
	return x.answer(tag)
}

func (s *Session) defaultTablespace() string {
	v, _ := s.vals.Get("default_tablespace")
	return v
}

// ddlEnv is what ddl works with in this execution.
func (x *execution) ddlEnv(query *plan.Prepared) *statement.Env {
	s := x.s
	env := &statement.Env{
		ReadOnly: s.txn.ReadOnly(),
		As:       func(r catalog.Owner, f func() error) error { return s.asDefiner(r.Role(), f) },
		Txn:      s.txn.KV(), Coll: s.coll, User: catalog.Owner(s.role()), SessionUser: catalog.Owner(s.sessionRole()), Exec: &x.env, Format: s.Format(),
		DefaultIntSize: s.vals.Fast.DefaultIntSize, Query: query, FamilyPerColumn: s.srv.cfg.FamilyPerColumn, IngestAlways: s.srv.cfg.IngestAlways,
		Localities: ranges.Localities(s.srv.cfg.Ranges), DefaultTablespace: s.defaultTablespace(),
	}
	env.Setting = func(st *ast.SetVar) (catalog.Setting, error) { return s.vars.Stored(st, env.Notice) }
	env.CheckRoutine = x.checkRoutine
	env.System, env.DescribeBuiltIn = s.cats.SystemRoutines, s.cats.DescribeBuiltIn
	env.Alone = x.alone && x.commit && !s.txn.InBlock()
	env.Crowded = func() bool { return s.srv.crowded(s) }
	env.PendingTriggers = func(t *catalog.Table) bool { return s.deferral.WaitOn(t.ID) }
	env.Filled, env.NotInUse = s.contents.NoteFilled, s.notInUse
	env.Optimize = func(ctx context.Context, p *plan.Prepared) error {
		return optimizer.Optimize(p, s.planner.Optimization(ctx, nil, false))
	}
	if x.res != nil {
		env.Notice = x.res.Notice
	}
	if s.srv.cfg.Ranges != nil {
		env.Presplit = s.pending.ranges.Presplit
	}
	return env
}

// quietFor is how long other sessions have run no statement when a statement need not mind them.
const quietFor = time.Second

// crowded reports whether sessions other than ses run statements, or did within quietFor. Those of other nodes may
// at any time.
func (s *Server) crowded(ses *Session) bool {
	if n := s.cfg.Nodes; n != nil && !n.Alone() {
		return true
	}
	for _, other := range s.Sessions() {
		if other == ses {
			continue
		}
		if now := other.current.Snapshot(); now.Running || time.Since(now.Since) < quietFor {
			return true
		}
	}
	return false
}

// notInUse returns 55006 if checks of rows of t wait for the end of the transaction, or a portal
// reads t: command, which changes or drops the table, would pull it away from under them.
func (s *Session) notInUse(t *catalog.Table, command string) error {
	for _, p := range s.portals.List() {
		if p.Scans(t.ID) {
			return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it is being used by active queries in this session", command, t.Name)
		}
	}
	if s.deferral.WaitOn(t.ID) {
		return pgerr.New(pgerr.ObjectInUse, "cannot %s \"%s\" because it has pending trigger events", command, t.Name)
	}
	return nil
}

// endImplicit commits the implicit transaction if it ends with this statement.
func (x *execution) endImplicit(ctx context.Context) error {
	if !x.commit || x.s.txn.InBlock() {
		return nil
	}
	if x.s.struck {
		return ctx.Err()
	}
	err := x.s.txn.Commit(ctx)
	x.committed = err == nil
	return err
}

// setClusterSetting executes SET CLUSTER SETTING and RESET CLUSTER SETTING.
func (x *execution) setClusterSetting(ctx context.Context, st *ast.SetClusterSetting) error {
	s := x.s
	if s.txn.ReadOnly() {
		return errReadOnly(st.Tag())
	}
	if err := s.pending.settings.Set(s.txn.KV(), s.srv.cfg.Settings, st, s.Format()); err != nil {
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
	for _, w := range x.s.warnings {
		x.res.Notice("WARNING", w)
	}
	x.s.warnings = nil
}
