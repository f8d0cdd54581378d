package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl"
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
	zoneColumns = []plan.Column{{Name: "target", Type: types.Text}, {Name: "raw_config_sql", Type: types.Text}}
)

// placementColumns returns the columns of a statement about ranges or zones that
// returns rows, nil for any other statement.
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
		return rangeColumns
	case *ast.ShowZone:
		return zoneColumns
	case *ast.ShowObjects:
		if st.Kind == ast.ShowZoneConfigurations {
			return zoneColumns
		}
	}
	return nil
}

// runPlacement runs a statement for which placementColumns returns columns.
func (x *execution) runPlacement(ctx context.Context, stmt ast.Statement) error {
	x.s.fillEnv(ctx, &x.env, x.params)
	var rows [][]types.Datum
	var err error
	switch st := stmt.(type) {
	case *ast.Split:
		rows, err = x.runSplit(ctx, st)
	case *ast.Scatter:
		rows, err = x.runScatter(ctx, st)
	case *ast.ShowRanges:
		rows, err = x.showRanges(ctx, st)
	case *ast.ShowZone:
		rows, err = x.showZone(ctx, st)
	case *ast.ShowObjects:
		rows, err = x.showZones(ctx)
	default:
		err = pgerr.Unsupported("%s is not supported", stmt.Tag())
	}
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

// ddlEnv is what ddl works with in this execution.
func (x *execution) ddlEnv(query *plan.Prepared) *ddl.Env {
	s := x.s
	env := &ddl.Env{
		Txn: s.txn.txn, Coll: s.coll, User: s.user, Exec: &x.env, Format: s.Format(),
		DefaultIntSize: s.vals.Fast.DefaultIntSize, Query: query, Optimize: s.optimize, Notice: x.res.Notice,
		Localities: s.srv.localities(),
	}
	if s.srv.cfg.Ranges != nil {
		env.Presplit = s.presplit
	}
	return env
}
