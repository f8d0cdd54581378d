package sql

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Query implements call.Session: it runs the text of a query within the statement whose function has it, in
// its snapshot.
func (f *sessionFuncs) Query(text string, columns func([]*types.T) error, row func([]types.Datum) error) error {
	q, err := f.s.functionQuery(text)
	if err != nil {
		return err
	}
	ctx := f.ctx()
	prep, err := f.s.planWithin(ctx, q)
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
	if err := optimizer.Optimize(prep, f.s.planner.Optimization(ctx, nil, false)); err != nil {
		return err
	}
	pr, err := exec.Compile(prep)
	if err != nil {
		return err
	}
	_, err = pr.Run(f.s.innerEnv(ctx), func(b *rowcontainer.Batch) error {
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

// planWithin plans a query that is part of a statement of another kind, or of a function, and returns 42501 unless the
// user may read what it reads.
func (s *Session) planWithin(ctx context.Context, q *ast.Select) (*plan.Prepared, error) {
	prep, err := planner.Plan(ctx, q, s.planner.Env(nil))
	if err == nil {
		err = access.Check(s.coll, prep.Uses)
	}
	if err == nil {
		s.tellQuery(prep, true, func() string { return ast.Format(q) })
	}
	return prep, err
}

// functionQuery parses the query of a function, which may change nothing.
func (s *Session) functionQuery(text string) (*ast.Select, error) {
	stmts, _, err := parser.ParseStrings(text, s.stringOptions())
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

// innerEnv is what a query runs with that a function of the running statement runs: the function's own
// work goes on after it.
func (s *Session) innerEnv(ctx context.Context) *operator.Env {
	env := &operator.Env{}
	s.fillEnv(ctx, env, nil)
	inner := *env.Builtin
	inner.Start(ctx)
	env.Builtin, env.ReadOnly, env.Writable, env.ParallelWorkers, env.Fragments = &inner, true, nil, 0, nil
	return env
}
