package storedtext

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// PlanQuery plans a query that is part of the statement.
func PlanQuery(ctx context.Context, e *statement.Env, q ast.Statement) (*plan.Prepared, error) {
	return planQuery(ctx, q, PlannerEnv(e, e.Coll))
}

// PlanQueryWith plans a query with the parameters and variables that the statement has; stored is planner.Env.Stored.
func PlanQueryWith(ctx context.Context, e *statement.Env, q ast.Statement, stored bool) (*plan.Prepared, error) {
	env := PlannerEnv(e, e.Coll)
	env.ParamTypes, env.Variables, env.Stored = e.ParamTypes, e.Variables, stored
	return planQuery(ctx, q, env)
}

func planQuery(ctx context.Context, q ast.Statement, env *planner.Env) (*plan.Prepared, error) {
	prep, err := planner.Plan(ctx, q, env)
	if err == nil && prep.Columns == nil {
		return nil, pgerr.Unsupported("%s is not supported as the query of this statement", q.Tag())
	}
	return prep, err
}
