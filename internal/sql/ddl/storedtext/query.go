package storedtext

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// PlanQuery plans a query that is part of the statement.
func PlanQuery(ctx context.Context, e *statement.Env, q ast.Statement) (*plan.Prepared, error) {
	return PlanQueryWith(ctx, e, q, nil, false)
}

// PlanQueryWith plans a query with parameters of the given types; stored is planner.Env.Stored.
func PlanQueryWith(ctx context.Context, e *statement.Env, q ast.Statement, params []*types.T, stored bool) (*plan.Prepared, error) {
	env := PlannerEnv(e, e.Coll)
	env.ParamTypes, env.Stored = params, stored
	prep, err := planner.Plan(ctx, q, env)
	if err == nil && prep.Columns == nil {
		return nil, pgerr.Unsupported("%s is not supported as the query of this statement", q.Tag())
	}
	return prep, err
}
