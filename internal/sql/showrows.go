package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/inspect"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/ranges"
	"github.com/lichendb/lichen/internal/sql/show"
	"github.com/lichendb/lichen/internal/sql/types"
)

// A SHOW is answered in one of three ways: package show rewrites it to a query (rewriteShow);
// packages ranges and clustersetting compute its rows, as they and inspect do those of SPLIT AT, INSPECT and
// the like (computedRows); or it is a parameter of the session (show in sessionstmt.go).

// computedColumns returns the columns of a statement whose rows package ranges, clustersetting or inspect
// computes; nil for any other statement.
func computedColumns(stmt ast.Statement) []plan.Column {
	for _, columns := range []func(ast.Statement) []plan.Column{ranges.Columns, inspect.Columns} {
		if cols := columns(stmt); cols != nil {
			return cols
		}
	}
	return clustersetting.Columns(stmt)
}

// computedRows executes a statement for which computedColumns returns columns.
func (ex *executor) computedRows(ctx context.Context, stmt ast.Statement, env *statement.Env) ([][]types.Datum, error) {
	if clustersetting.Columns(stmt) != nil {
		return clustersetting.Show(ctx, ex.srv.cfg.Settings, ex.txn.KV(), stmt.(*ast.ShowObjects))
	}
	if st, ok := stmt.(*ast.Inspect); ok {
		return inspect.Rows(ctx, env, st)
	}
	of := ranges.Env{
		Cluster: ex.srv.cfg.Ranges, Pending: &ex.pending.ranges, DDL: env, Database: ex.conn.db.Name,
		Now: ex.srv.cfg.DB.Clock().Now, Eval: ex.eval.constant,
	}
	return of.Rows(ctx, stmt)
}

// statementSource returns the query or the columns of a statement in FROM, which may only show.
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
		return nil, computedColumns(stmt), nil
	default:
		if cols := computedColumns(stmt); cols != nil {
			return nil, cols, nil
		}
	}
	return nil, nil, pgerr.Unsupported("%s in FROM is not supported", stmt.Tag())
}

// StatementRows implements operator.StatementProvider.
func (ex *executor) StatementRows(ctx context.Context, stmt ast.Statement, emit func(types.Row) error) error {
	env := operator.Env{
		Ctx: ctx, Txn: ex.txn.KV(), Builtin: ex.eval.functions, Mem: ex.srv.cfg.Mem, Virtual: ex.cats, Statements: ex, ReadOnly: true,
	}
	rows, err := ex.computedRows(ctx, stmt, ex.ddlEnv(&env))
	for i := 0; err == nil && i < len(rows); i++ {
		err = emit(rows[i])
	}
	return err
}

// runComputed runs a statement for which computedColumns returns columns, and sends its rows.
func (x *execution) runComputed(ctx context.Context, stmt ast.Statement) error {
	x.ex.eval.fill(ctx, &x.env, x.params)
	rows, err := x.ex.computedRows(ctx, stmt, x.ddlEnv(nil))
	if err != nil {
		return err
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if err := x.announce(computedColumns(stmt)); err != nil {
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

// rewriteShow replaces a SHOW by the query that answers it, if there is one.
func rewriteShow(p parser.Statement) (parser.Statement, error) {
	st, ok := p.AST.(*ast.ShowObjects)
	if !ok || computedColumns(st) != nil {
		return p, nil
	}
	return show.Rewrite(st)
}
