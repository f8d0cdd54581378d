package ranges

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Env is what a statement about ranges or zones works with.
type Env struct {
	// Cluster is nil where the ranges are out of reach: the statements then fail with 0A000.
	Cluster Cluster
	// Pending takes the changes that wait for the commit.
	Pending *Pending
	// DDL gives the transaction and its view of the catalog.
	DDL *statement.Env
	// Database is the session's.
	Database string
	// Now is the clock of the node.
	Now func() hlc.Timestamp
	// Eval evaluates an expression without columns.
	Eval func(context.Context, ast.Expr) (types.Datum, *types.T, error)
}

func errNoCluster() error {
	return pgerr.Unsupported("this server has no access to the ranges of the cluster")
}

func (e *Env) cluster() (Cluster, error) {
	if e.Cluster == nil {
		return nil, errNoCluster()
	}
	return e.Cluster, nil
}

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

// Columns returns the columns of a statement about ranges or zones; nil for any other
// statement.
func Columns(stmt ast.Statement) []plan.Column {
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
			if st.Name == nil && !st.All && !st.WithComment && !st.WithDetails {
				return regionColumns
			}
		}
	}
	return nil
}

// Rows executes a statement that has Columns and returns its rows.
func (e *Env) Rows(ctx context.Context, stmt ast.Statement) ([][]types.Datum, error) {
	switch st := stmt.(type) {
	case *ast.Split:
		return e.split(ctx, st)
	case *ast.Scatter:
		return e.scatter(ctx, st)
	case *ast.ShowRanges:
		if st.Survival {
			return e.showSurvival(ctx, st)
		}
		return e.showRanges(ctx, st)
	case *ast.ShowZone:
		return e.showZone(ctx, st)
	case *ast.ShowObjects:
		switch st.Kind {
		case ast.ShowZoneConfigurations:
			return e.showZones(ctx)
		case ast.ShowRegions:
			return e.showRegions(ctx)
		}
	}
	return nil, pgerr.Unsupported("%s is not supported", stmt.Tag())
}
