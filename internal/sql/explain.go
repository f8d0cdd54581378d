package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/explain"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/trace"
)

// runExplain sends the plan of a statement; with ANALYZE it runs the statement first and reports what
// each node of the plan did.
func (x *execution) runExplain(ctx context.Context, prep *plan.Prepared, root *plan.Explain) error {
	st := root.Stmt.(*ast.Explain)
	o, err := explain.Parse(st.Options)
	if err != nil {
		return err
	}
	if o.Silent {
		x.res.Notice("NOTICE", noeffect.ExplainOptions())
	}
	skip, err := o.Check(ctx, st, x.ex.coll)
	if err != nil {
		return err
	}
	if skip != nil {
		x.res.Notice("NOTICE", skip)
	}
	if err := prep.Failure(); err != nil {
		return err
	}
	if o.Debug && skip == nil {
		ctx = x.follow(ctx)
	}
	var t explain.Times
	if o.Summary {
		if t.Planning, err = x.planningTime(ctx); err != nil {
			return err
		}
	}
	if o.DistSQL && skip == nil {
		x.ex.eval.fill(ctx, &x.env, x.params)
		if err := o.Place(root.Input, &x.env); err != nil {
			return err
		}
	}
	if o.Analyze && skip == nil {
		before := x.ex.txn.KV().Traffic()
		if t.Execution, err = x.runExplained(ctx, prep, root.Input, &o); err != nil {
			return err
		}
		t.Moved = x.ex.txn.KV().Traffic() - before
	}
	var rows []types.Datum
	if skip == nil {
		rows = o.Rows(root.Input, t)
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if o.Debug && skip == nil {
		id, err := x.diagnose(ctx, prep, rows)
		if err != nil {
			return err
		}
		rows = append(rows, types.NewString("Statement Diagnostics: "+id+", at /api/v2/statement-diagnostics/"+id+" of any node's console"))
	}
	if err := x.announce(explain.Columns(st)); err != nil {
		return err
	}
	for _, row := range rows {
		x.rows++
		if err := x.res.Row([]types.Datum{row}); err != nil {
			return err
		}
	}
	return x.answer("EXPLAIN")
}

// runExplained runs the statement for ANALYZE, and returns how long it took.
func (x *execution) runExplained(ctx context.Context, prep *plan.Prepared, root plan.Node, o *explain.Options) (time.Duration, error) {
	x.auditing.planned = prep
	within, span := trace.Start(ctx, "execute")
	x.ex.eval.fill(within, &x.env, x.params)
	changed, took, err := o.Run(root, &x.env)
	if span.End(err); err != nil {
		return 0, err
	}
	x.ex.contents.NoteWritten(root, changed)
	return took, nil
}

// planningTime plans the statement once more, and returns how long that took: the plan
// that is shown may be an older one.
func (x *execution) planningTime(ctx context.Context) (time.Duration, error) {
	start, span := time.Now(), trace.Begin(ctx, "plan")
	_, err := x.ex.planner.New(ctx, x.prepared, x.params)
	span.End(err)
	return time.Since(start), err
}
