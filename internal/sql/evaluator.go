package sql

import (
	"cmp"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// evaluator makes what plans run with in the open transaction, and evaluates the queries and expressions that are part of a
// statement, or of a function.
type evaluator struct {
	srv     *Server
	who     *identity.Session
	vals    *settings.Values
	coll    *catalog.Collection
	cats    *pgcatalog.Catalog
	txn     *transaction.Transaction
	planner *prepared.Planner
	auditor *auditor

	// What of the session plans and functions call.
	constraints operator.ConstraintMode
	statements  operator.StatementProvider
	triggers    operator.Triggers
	session     call.Session

	// functions is what functions see of the running statement; nil before the first.
	functions *call.Context
}

// start returns what functions see of the session, for a statement that begins now.
func (e *evaluator) start(ctx context.Context) *call.Context {
	if e.functions == nil {
		e.functions = &call.Context{Format: &e.vals.Format, Session: e.session, Values: quota.NewValues(e.srv.cfg.Mem)}
		e.vals.Format.Step = e.functions.Step
	}
	now := time.Now()
	c := e.functions
	c.Start(ctx)
	c.StmtTime = pgMicros(now)
	c.TxnTime = c.StmtTime
	if e.txn.Open() {
		c.TxnTime = pgMicros(e.txn.Started())
	}
	return c
}

// fill makes env ready for a statement that begins in the open transaction.
func (e *evaluator) fill(ctx context.Context, env *operator.Env, params []types.Datum) {
	e.fillWith(ctx, env, params, e.start(ctx))
}

// fillWith is fill with a context of functions.
func (e *evaluator) fillWith(ctx context.Context, env *operator.Env, params []types.Datum, functions *call.Context) {
	cfg := &e.srv.cfg
	*env = operator.Env{
		Ctx: ctx, Txn: e.txn.KV(), Builtin: functions, Params: params, Mem: cfg.Mem,
		Virtual: e.cats, Statements: e.statements, ReadOnly: e.txn.ReadOnly(),
		Constraints: e.constraints, Triggers: e.triggers, BatchRows: cfg.BatchRows, Temp: cfg.Temp, WorkMem: e.workMem(),
		ParallelWorkers: e.vals.Fast.ParallelWorkers, Workers: e.srv.workers, Fragments: cfg.Fragments,
		Shown: e.who.Shown,
	}
	if env.ReadOnly {
		env.Writable = e.writableTemp
	}
}

// inner is what a query runs with that a function of the running statement runs: the function's own work goes on after it.
func (e *evaluator) inner(ctx context.Context) *operator.Env {
	env := &operator.Env{}
	e.fill(ctx, env, nil)
	functions := *env.Builtin
	functions.Start(ctx)
	env.Builtin, env.ReadOnly, env.Writable, env.ParallelWorkers, env.Fragments = &functions, true, nil, 0, nil
	return env
}

// workMem returns how many bytes an operator holds before it spills.
func (e *evaluator) workMem() int64 { return cmp.Or(e.srv.cfg.WorkMem, e.vals.Fast.WorkMem) }

// writableTemp reports whether a table is a temporary one that the open transaction, though it is read-only, may write to.
func (e *evaluator) writableTemp(t *catalog.Table) bool {
	return !e.txn.KV().Options().ReadOnly && e.coll.Temporary(t)
}

// writes returns 25006 if the open transaction may not do what to a relation.
func (e *evaluator) writes(t *catalog.Table, what string) error {
	if !e.txn.ReadOnly() || e.writableTemp(t) {
		return nil
	}
	return errReadOnly(what)
}

// plan plans a query that is part of a statement of another kind, or of a function, and returns 42501 unless the
// user may read what it reads.
func (e *evaluator) plan(ctx context.Context, q *ast.Select) (*plan.Prepared, error) {
	prep, err := planner.Plan(ctx, q, e.planner.Env(nil))
	if err == nil {
		err = access.Check(e.coll, prep.Uses)
	}
	if err == nil {
		e.auditor.tellQuery(prep, true, func() string { return ast.Format(q) })
	}
	return prep, err
}

// constant evaluates an expression without columns or parameters.
func (e *evaluator) constant(ctx context.Context, x ast.Expr) (types.Datum, *types.T, error) {
	prep, err := e.plan(ctx, &ast.Select{Items: []ast.SelectItem{{X: x}}})
	if err != nil {
		return types.Null, nil, err
	}
	pr, err := exec.Compile(prep)
	if err != nil {
		return types.Null, nil, err
	}
	env := operator.Env{Ctx: ctx, Builtin: e.start(ctx)}
	if e.txn.Open() {
		e.fill(ctx, &env, nil)
	}
	rows, err := pr.Rows(&env)
	if err != nil || len(rows) == 0 {
		return types.Null, prep.Columns[0].Type, err
	}
	return rows[0][0], prep.Columns[0].Type, nil
}

// argument evaluates an argument of EXECUTE as a value of the type of parameter n, which counts from 0.
func (e *evaluator) argument(ctx context.Context, n int, x ast.Expr, t *types.T) (types.Datum, error) {
	if lit, ok := x.(*ast.StrLit); ok { // as a result column it would become text
		d, err := typeio.ParseText(t, lit.Val, &e.vals.Format)
		if err != nil {
			return d, pgerr.From(err).At(lit.Position())
		}
		return d, nil
	}
	d, from, err := e.constant(ctx, x)
	if err != nil || d.IsNull() {
		return d, err
	}
	if from.Oid == types.Unknown.Oid {
		return typeio.ParseText(t, d.Str(), &e.vals.Format)
	}
	if from.Oid != t.Oid {
		cast, ok := casts.Find(from, t)
		if !ok || cast.Context == types.CastExplicit {
			return d, pgerr.New(pgerr.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s",
				n+1, types.FormatType(from), types.FormatType(t)).WithHint("You will need to rewrite or cast the expression.").At(x.Position())
		}
		if cast.Fn != nil {
			return cast.Fn(&e.vals.Format, d, t)
		}
	}
	return d, nil
}

// asOf evaluates the expression of AS OF SYSTEM TIME.
func (e *evaluator) asOf(ctx context.Context, x ast.Expr) (hlc.Timestamp, error) {
	d, t, err := e.constant(ctx, x)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	return transaction.AsOf(d, t, e.srv.cfg.DB.Clock().Now(), &e.vals.Format, x.Position())
}
