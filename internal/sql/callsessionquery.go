package sql

import (
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Query implements call.Session: it runs the text of a query within the statement whose function has it, in
// its snapshot.
func (f *sessionFuncs) Query(text string, columns func([]*types.T) error, row func([]types.Datum) error) error {
	q, err := functionQuery(text, f.ex.stringOptions())
	if err != nil {
		return err
	}
	ctx := f.ctx()
	prep, err := f.ex.eval.plan(ctx, q)
	if err != nil {
		return err
	}
	ts := make([]*types.T, len(prep.Columns))
	for i, c := range prep.Columns {
		ts[i] = c.Type
	}
	if err := columns(ts); err != nil {
		return err
	}
	if err := optimizer.Optimize(prep, f.ex.planner.Optimization(ctx, nil, false)); err != nil {
		return err
	}
	pr, err := exec.Compile(prep)
	if err != nil {
		return err
	}
	_, err = pr.Run(f.ex.eval.inner(ctx), func(b *rowcontainer.Batch) error {
		var text rowcontainer.Arena
		var acc quota.Account
		for i := range b.Len() {
			r := slices.Clone(b.Row(i))
			for j := range r {
				var err error
				if r[j], err = text.CopyDatum(r[j], &acc); err != nil {
					return err
				}
			}
			if err := row(r); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// functionQuery parses the query of a function, which may change nothing.
func functionQuery(text string, o parser.Options) (*ast.Select, error) {
	stmts, _, err := parser.ParseStrings(text, o)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, pgerr.New(pgerr.InvalidCursorDefinition, "cannot open multi-query plan as cursor")
	}
	q, ok := stmts[0].AST.(*ast.Select)
	if !ok && ast.ReturnsRows(stmts[0].AST) {
		return nil, pgerr.Unsupported("%s is not allowed in a non-volatile function", stmts[0].AST.Tag())
	}
	if !ok {
		return nil, pgerr.New(pgerr.InvalidCursorDefinition, "cannot open %s query as cursor", stmts[0].AST.Tag())
	}
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
			err = pgerr.Unsupported("%s is not allowed in a non-volatile function", n.(ast.Statement).Tag())
		}
		return err == nil
	})
	return q, err
}
