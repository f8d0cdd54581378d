package alter

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// findOperator finds an operator that a user has made, for a statement that changes or drops it.
func findOperator(ctx context.Context, e *statement.Env, ref *ast.RoutineRef) (*catalog.Table, error) {
	var ts []*types.T
	for i := range ref.Params {
		t, err := planner.FindType(ctx, ref.Params[i].Type, e.DefaultIntSize, e.Coll)
		if err != nil {
			return nil, unplaced(err)
		}
		ts = append(ts, t)
	}
	t, _, err := FindOperator(ctx, e, ref, ts)
	if err == nil && t == nil {
		names := []string{"NONE"}
		if !ref.Prefix {
			names = nil
		}
		for _, t := range ts {
			names = append(names, types.FormatType(t))
		}
		err = pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop operator %s(%s) because it is required by the database system",
			ref.Name.Table, strings.Join(names, ","))
	}
	return t, err
}

// unplaced is an error without its position.
func unplaced(err error) error {
	c := *pgerr.From(err)
	c.Position = 0
	return &c
}

// FindOperator finds the operator for operands of exactly some types. For one of the system the descriptor is nil.
func FindOperator(ctx context.Context, e *statement.Env, ref *ast.RoutineRef, ts []*types.T) (*catalog.Table, uint32, error) {
	if ref.Name.Schema == "" || ref.Name.Schema == "pg_catalog" {
		for _, o := range builtin.Operators(ref.Name.Table, ref.Prefix) {
			if sameTypes(o.Args, ts) {
				return nil, o.Oid, nil
			}
		}
	}
	found, err := e.Coll.FindOperators(ctx, ref.Name.Schema, ref.Name.Table)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range found {
		if sameTypes(t.Routine.IdentityTypes(), ts) {
			return t, t.Oid, nil
		}
	}
	text := call.CallText(qualifiedRef(ref), true, ts)
	return nil, 0, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", text)
}

// usesOperator returns a test whether a stored text has an operator, which stands there with its schema.
func usesOperator(t *catalog.Table, schema string) func(text string) bool {
	return func(text string) bool {
		return strings.Contains(text, "OPERATOR(") && strings.Contains(text, t.Name) && anyNode(text, func(n ast.Node) bool {
			op, operands := planner.OperatorOf(n)
			return op != nil && op.Name == t.Name && op.Schema == schema && operands == len(t.Routine.Params)
		})
	}
}
