package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// PlanDefault plans the default expression of a column: it refers to no
// columns and is assigned to type t.
func PlanDefault(ctx context.Context, env *Env, e ast.Expr, column string, t *types.T) (plan.Expr, error) {
	b := &builder{ctx: ctx, env: env}
	if err := noSubquery(e, "DEFAULT expression"); err != nil {
		return nil, err
	}
	x, err := b.expr(e, &scope{clause: clauseDefault})
	if err != nil {
		if ref, ok := firstColumn(e); ok && pgerr.CodeOf(err) == pgerr.UndefinedColumn {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot use column reference in DEFAULT expression").At(ref.Pos)
		}
		return nil, err
	}
	y, ok, err := b.coerce(x, t, plan.CastAssignment, e.Position())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but default expression is of type %s",
			column, t.SQLName, x.Type().SQLName).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return y, nil
}

// PlanRowExpr plans an expression over the columns of a table: a CHECK
// constraint (cond, it must be boolean), the USING of ALTER COLUMN TYPE and the
// like. The columns have the identifiers row, one per t.Columns.
func PlanRowExpr(ctx context.Context, env *Env, t *catalog.Table, row []plan.ColID, e ast.Expr, cond bool) (plan.Expr, error) {
	b := &builder{ctx: ctx, env: env}
	for _, id := range row {
		b.nextCol = max(b.nextCol, id)
	}
	if err := noSubquery(e, "check constraint"); err != nil {
		return nil, err
	}
	s := &scope{clause: clauseCheck, items: []*item{rowItem(t, t.Name, row)}}
	if cond {
		return b.boolExpr(e, "CHECK", s)
	}
	return b.typed(e, s)
}

// noSubquery rejects subqueries where an expression is stored.
func noSubquery(e ast.Expr, where string) error {
	var err error
	ast.Walk(e, func(x ast.Node) bool {
		if q, ok := x.(*ast.Select); ok && err == nil {
			err = pgerr.New(pgerr.FeatureNotSupported, "cannot use subquery in %s", where).At(q.Pos)
		}
		return err == nil
	})
	return err
}

// firstColumn finds a column reference in e.
func firstColumn(e ast.Expr) (ref *ast.ColumnRef, ok bool) {
	ast.Walk(e, func(x ast.Node) bool {
		if r, is := x.(*ast.ColumnRef); is && ref == nil {
			ref = r
		}
		return ref == nil
	})
	return ref, ref != nil
}
