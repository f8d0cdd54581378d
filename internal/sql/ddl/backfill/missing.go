package backfill

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxMissing bounds the value that a descriptor keeps for a column, in bytes: every session that uses
// the table holds it.
const maxMissing = 1 << 10

// Missing computes what catalog.Column.Missing keeps of a column that has just been added to t: its
// default, once for all rows. It returns false if the rows must be written anew, as each gets a value
// of its own or the value is not for a descriptor; nil and true if all rows get NULL.
func Missing(ctx context.Context, e *statement.Env, t *catalog.Table, c *catalog.Column) ([]byte, bool, error) {
	if c.Generated != "" || c.Domain != nil || c.Type.Oid >= catalog.FirstUserOid || t.HasFamilies() {
		return nil, false, nil
	}
	x, err := defaultOf(ctx, e, t, c)
	if err != nil || plan.Volatile(x) {
		return nil, false, err
	}
	if e.WithoutRows {
		return nil, true, nil
	}
	d, err := evaluate(ctx, e, x)
	if err != nil || d.IsNull() {
		return nil, err == nil, err
	}
	value := types.AppendEncoded(nil, d)
	if len(value) > maxMissing {
		return nil, false, nil
	}
	return value, true, nil
}

// defaultOf plans the default of a column, converted to its type.
func defaultOf(ctx context.Context, e *statement.Env, t *catalog.Table, c *catalog.Column) (plan.Expr, error) {
	st := &ast.Insert{Table: &ast.TableRef{Name: ast.TableName{Schema: storedtext.ScratchSchema, Table: storedtext.ScratchNew}}}
	prep, err := planner.Plan(ctx, st, storedtext.PlannerEnv(e, &storedtext.ScratchResolver{Collection: e.Coll, Table: t}))
	if err != nil {
		return nil, err
	}
	if ins, ok := prep.Root.(*plan.Insert); ok {
		if v, ok := ins.Input.(*plan.Values); ok && len(v.RowExprs) == 1 {
			return v.RowExprs[0][t.ColumnByID(c.ID)], nil
		}
	}
	return nil, pgerr.Assertion("unexpected plan of a row of defaults")
}

// evaluate returns the value of an expression that reads no column.
func evaluate(ctx context.Context, e *statement.Env, x plan.Expr) (value types.Datum, err error) {
	v := &plan.Values{RowExprs: [][]plan.Expr{{x}}}
	v.Cols = []plan.Column{{ID: 1, Type: x.Type()}}
	prep := &plan.Prepared{Root: v, Columns: v.Cols, NextCol: 2}
	if err := e.OptimizePlan(ctx, prep); err != nil {
		return value, err
	}
	if err := prep.Failure(); err != nil {
		return value, err
	}
	program, err := exec.Compile(prep)
	if err != nil {
		return value, err
	}
	env := operator.Env{}
	if e.Exec != nil {
		env = *e.Exec
	}
	env.Ctx, env.Txn = ctx, e.Txn
	_, err = program.Run(&env, func(batch *rowcontainer.Batch) error {
		for i := range batch.Len() {
			value = batch.Row(i)[0].Clone()
		}
		return nil
	})
	return value, err
}
