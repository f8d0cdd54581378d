package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

var (
	splitColumns = []plan.Column{
		{Name: "key", Type: types.Bytea}, {Name: "pretty", Type: types.Text}, {Name: "split_enforced_until", Type: types.TimestampTZ},
	}
	keyColumns   = splitColumns[:2:2]
	rangeColumns = []plan.Column{
		{Name: "start_key", Type: types.Text}, {Name: "end_key", Type: types.Text}, {Name: "range_id", Type: types.Int8},
		{Name: "range_size_mb", Type: types.Numeric}, {Name: "lease_holder", Type: types.Int8},
		{Name: "lease_holder_locality", Type: types.Text}, {Name: "replicas", Type: types.Int8Array},
		{Name: "replica_localities", Type: types.TextArray}, {Name: "voting_replicas", Type: types.Int8Array},
		{Name: "non_voting_replicas", Type: types.Int8Array}, {Name: "split_enforced_until", Type: types.TimestampTZ},
	}
	survivalColumns = []plan.Column{
		{Name: "target", Type: types.Text}, {Name: "ranges", Type: types.Int8}, {Name: "survives", Type: types.Text},
		{Name: "weakest_range", Type: types.Int8}, {Name: "unavailable", Type: types.Int8},
		{Name: "under_replicated", Type: types.Int8}, {Name: "misplaced", Type: types.Int8}, {Name: "problems", Type: types.TextArray},
	}
	rangeSurvivalColumns = []plan.Column{
		{Name: "start_key", Type: types.Text}, {Name: "end_key", Type: types.Text}, {Name: "range_id", Type: types.Int8},
		{Name: "survives", Type: types.Text}, {Name: "unavailable", Type: types.Bool}, {Name: "under_replicated", Type: types.Bool},
		{Name: "misplaced", Type: types.Bool}, {Name: "problems", Type: types.TextArray},
	}
	regionColumns = []plan.Column{{Name: "region", Type: types.Text}, {Name: "zones", Type: types.TextArray}, {Name: "nodes", Type: types.Int8Array}}
	zoneColumns   = []plan.Column{{Name: "target", Type: types.Text}, {Name: "raw_config_sql", Type: types.Text}}
)

// placementColumns returns the columns of a statement about ranges, zones or cluster
// settings that returns rows, nil for any other statement.
func placementColumns(stmt ast.Statement) []plan.Column {
	switch st := stmt.(type) {
	case *ast.Split:
		if st.Unsplit {
			return keyColumns
		}
		return splitColumns
	case *ast.Scatter:
		return keyColumns
	case *ast.ShowRanges:
		switch {
		case st.Survival && st.Details:
			return rangeSurvivalColumns
		case st.Survival:
			return survivalColumns
		}
		return rangeColumns
	case *ast.ShowZone:
		return zoneColumns
	case *ast.ShowObjects:
		switch st.Kind {
		case ast.ShowZoneConfigurations:
			return zoneColumns
		case ast.ShowRegions:
			if st.Name != nil || st.All || st.WithComment || st.WithDetails {
				return nil
			}
			return regionColumns
		case ast.ShowClusterSettings:
			return settingColumns
		case ast.ShowClusterSetting:
			return []plan.Column{textColumn(st.Setting)}
		}
	}
	return nil
}

// placementRows runs a statement for which placementColumns returns columns.
func (x *execution) placementRows(ctx context.Context, stmt ast.Statement) ([][]types.Datum, error) {
	switch st := stmt.(type) {
	case *ast.Split:
		return x.runSplit(ctx, st)
	case *ast.Scatter:
		return x.runScatter(ctx, st)
	case *ast.ShowRanges:
		if st.Survival {
			return x.showSurvival(ctx, st)
		}
		return x.showRanges(ctx, st)
	case *ast.ShowZone:
		return x.showZone(ctx, st)
	case *ast.ShowObjects:
		switch st.Kind {
		case ast.ShowZoneConfigurations:
			return x.showZones(ctx)
		case ast.ShowRegions:
			return x.showRegions(ctx)
		}
		return x.showClusterSettings(ctx, st)
	}
	return nil, pgerr.Unsupported("%s is not supported", stmt.Tag())
}

// statementSource says what a statement in FROM yields; it is one that only shows.
func statementSource(stmt ast.Statement) (*ast.Select, []plan.Column, error) {
	switch st := stmt.(type) {
	case *ast.Select:
		return st, nil, nil
	case *ast.Split, *ast.Scatter:
	case *ast.ShowObjects:
		p, err := rewriteShow(parser.Statement{AST: st})
		if err != nil {
			return nil, nil, err
		}
		if q, ok := p.AST.(*ast.Select); ok {
			return q, nil, nil
		}
		return nil, placementColumns(stmt), nil
	default:
		if cols := placementColumns(stmt); cols != nil {
			return nil, cols, nil
		}
	}
	return nil, nil, pgerr.Unsupported("%s in FROM is not supported", stmt.Tag())
}

// StatementRows implements exec.StatementProvider.
func (s *Session) StatementRows(ctx context.Context, stmt ast.Statement, emit func(exec.Row) error) error {
	x := &execution{s: s}
	x.env = exec.Env{
		Ctx: ctx, Txn: s.execTxn(), Builtin: s.bctx, Mem: s.srv.cfg.Mem, Virtual: s.cats, Statements: s, ReadOnly: true,
	}
	rows, err := x.placementRows(ctx, stmt)
	for i := 0; err == nil && i < len(rows); i++ {
		err = emit(rows[i])
	}
	return err
}

// runPlacement runs a statement about ranges, zones or cluster settings and sends its rows.
func (x *execution) runPlacement(ctx context.Context, stmt ast.Statement) error {
	x.s.fillEnv(ctx, &x.env, x.params)
	rows, err := x.placementRows(ctx, stmt)
	if err != nil {
		return err
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if err := x.announce(placementColumns(stmt)); err != nil {
		return err
	}
	for _, row := range rows {
		if err := x.res.Row(row); err != nil {
			return err
		}
	}
	x.rows += int64(len(rows))
	x.warn()
	return x.res.Complete(stmt.Tag())
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
		Localities: s.srv.localities(), DefaultTablespace: s.defaultTablespace(),
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
		env.Presplit = s.presplit
	}
	return env
}
