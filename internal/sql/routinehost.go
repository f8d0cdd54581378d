package sql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/routine"
	"github.com/lichendb/lichen/internal/sql/transaction"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CallRoutine implements call.Routines.
func (f *sessionFuncs) CallRoutine(c *call.Context, r *call.RoutineCall, args []types.Datum) (types.Datum, error) {
	return f.ex.routines.CallRoutine(c, r, args)
}

// CallRoutineRows implements call.Routines.
func (f *sessionFuncs) CallRoutineRows(c *call.Context, r *call.RoutineCall, args []types.Datum) (call.RowIterator, error) {
	return f.ex.routines.CallRoutineRows(c, r, args)
}

// routineHost is the session as the bodies of routines see it. It implements routine.Host.
type routineHost struct{ ex *executor }

// Parse implements routine.Host.
func (h routineHost) Parse(text string) ([]parser.Statement, error) {
	stmts, _, err := h.ex.parse(text)
	return stmts, err
}

// Run implements routine.Host.
func (h routineHost) Run(c *call.Context, p *prepared.Statement, params []types.Datum, fresh bool, sink routine.Sink) (routine.Outcome, error) {
	ex := h.ex
	if err := c.CheckCancel(); err != nil {
		return routine.Outcome{}, err
	}
	res := nestedResults{sink: sink, out: ex.running.out}
	x := execution{ex: ex, prepared: p, params: params, res: &res, describe: true, within: c}
	ctx := c.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if ast.EndsOrBeginsTransaction(p.Stmt.AST) {
		return routine.Outcome{}, pgerr.Unsupported("%s cannot be executed within a function", p.Stmt.AST.Tag())
	}
	ex.txn.EnterRoutine()
	defer ex.txn.LeaveRoutine()
	if ex.txn.KV() != nil && ex.txn.Open() {
		outer := ex.txn.KV().Nest()
		defer ex.txn.KV().Unnest(outer)
	}
	ex.txn.Ensure()
	if _, sets := p.Stmt.AST.(*ast.SetTransaction); fresh && !sets { // which comes before the first statement
		ex.txn.KV().BeginStatement()
	}
	tag, handled, err := x.runUnplanned(ctx, p.Stmt.AST)
	if handled {
		return routine.Outcome{Rows: x.rows, Tag: tag}, err
	}
	if err := x.bindNamed(ctx, p.Stmt.AST); err != nil {
		return routine.Outcome{}, err
	}
	told := x.audit()
	err = x.attempt(ctx)
	told.tell(&x, err)
	if x.cached != nil {
		ex.recorder.noteIndexes(x.cached, time.Now())
	}
	out := routine.Outcome{Rows: x.rows, Tag: res.tag, Unplanned: x.unplanned || err != nil && x.cached != nil && x.program == nil}
	if x.program != nil && x.program.Writes() {
		out.Rows = x.program.RowsAffected()
	}
	x.Close()
	return out, err
}

// Call implements routine.Host.
func (h routineHost) Call(c *call.Context, p *prepared.Statement, params []types.Datum, fresh bool, sink routine.Sink, txn routine.Transactions) (routine.Outcome, error) {
	ctx := c.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	x := execution{ex: h.ex, prepared: p, params: params, within: c}
	prep, args, err := x.procedureArguments(ctx, fresh)
	if err != nil {
		return routine.Outcome{}, err
	}
	row, err := h.ex.routines.Call(x.env.Builtin, prep.Procedure, args, txn)
	if err != nil || prep.Columns == nil {
		return routine.Outcome{}, err
	}
	if err := sink.Columns(prep.Columns); err != nil {
		return routine.Outcome{}, err
	}
	return routine.Outcome{Rows: 1}, sink.Row(row)
}

// procedureArguments plans CALL, and computes the arguments in the snapshot of a statement of a body.
func (x *execution) procedureArguments(ctx context.Context, fresh bool) (*plan.Prepared, []types.Datum, error) {
	ex := x.ex
	ex.txn.Ensure()
	outer := ex.txn.KV().Nest()
	defer ex.txn.KV().Unnest(outer)
	if fresh {
		ex.txn.KV().BeginStatement()
	}
	c, err := ex.planner.For(ctx, x.prepared, x.params)
	if err != nil {
		return nil, nil, err
	}
	program, err := exec.CompileNode(c.Prep.Root, nil)
	if err != nil {
		return nil, nil, err
	}
	x.fillEnv(ctx)
	rows, err := program.Rows(&x.env)
	if err != nil {
		return nil, nil, err
	}
	return c.Prep, rows[0], nil
}

// OpenCursor implements routine.Host.
func (h routineHost) OpenCursor(c *call.Context, name string, p *prepared.Statement, params []types.Datum, scroll ast.Tristate, fresh bool) (string, error) {
	ex := h.ex
	for i := 1; name == ""; i++ {
		unused := fmt.Sprintf("<unnamed portal %d>", i)
		if _, err := ex.portals.Named(unused); err != nil {
			name = unused
		}
	}
	outer := ex.txn.KV().Nest()
	defer ex.txn.KV().Unnest(outer)
	if fresh {
		ex.txn.KV().BeginStatement()
	}
	p.RowKeys, p.Stmt.SQL = true, "OPEN\x00"+p.Stmt.SQL // a plan that loops over the query do not share
	cursor := portal.New(p, portal.Options{Scroll: scroll})
	po := portal.OfCursor(name, p, params, cursor)
	if err := ex.portals.Add(po); err != nil {
		if pgerr.CodeOf(err) == pgerr.DuplicateCursor {
			return "", pgerr.New(pgerr.DuplicateCursor, "cursor \"%s\" already in use", name)
		}
		return "", err
	}
	if err := ex.openCursor(c.Ctx, cursor, p, params); err != nil {
		ex.portals.Close(po.Name)
		return "", err
	}
	po.SetColumns(p.Columns())
	ex.opened = true
	return name, nil
}

// LoopCursor implements routine.Host.
func (h routineHost) LoopCursor(c *call.Context, name string, f func([]types.Datum, []plan.Column) error) error {
	ex := h.ex
	p, err := ex.portals.Named(name)
	if err != nil {
		return err
	}
	p.Pin()
	defer p.Unpin()
	next := &ast.Fetch{Count: 1}
	for more := true; more && err == nil; {
		more = false
		var kept types.Row
		if _, err = ex.moveCursor(c.Ctx, p, next, func(row types.Row) error {
			kept, more = routine.CloneRow(row), true
			return nil
		}); err == nil && more {
			err = f(kept, p.Cursor().Columns())
		}
	}
	if ex.portals.Has(p) {
		ex.portals.Drop(p)
	}
	return err
}

// Plan implements routine.Host.
func (h routineHost) Plan(ctx context.Context, p *prepared.Statement, params []types.Datum) (*plan.Prepared, error) {
	c, err := h.ex.planner.For(ctx, p, params)
	if err != nil {
		return nil, err
	}
	if !c.Once && p.Plan() != c {
		h.ex.statements.KeepPlan(p, c)
	}
	return c.Prep, nil
}

// Analyze implements routine.Host.
func (h routineHost) Analyze(ctx context.Context, p *prepared.Statement) (*plan.Prepared, error) {
	return h.ex.planner.Analyze(ctx, p)
}

// Epoch implements routine.Host.
func (h routineHost) Epoch() routine.Epoch {
	coll := h.ex.coll
	e := routine.Epoch{Generation: coll.Generation(), Edition: coll.Edition(), Role: h.ex.who.Role(), Path: h.searchPath()}
	if coll.ReadsPast() {
		e.Edition = math.MaxUint64 // which never lasts
	}
	return e
}

// Lasts implements routine.Host.
func (h routineHost) Lasts(e *routine.Epoch) bool {
	coll := h.ex.coll
	return e.Generation == coll.Generation() && e.Edition == coll.Edition() && e.Path == h.searchPath() && e.Role == h.ex.who.Role() &&
		!coll.ReadsPast()
}

func (h routineHost) searchPath() *string {
	if path := h.ex.vals.Fast.SearchPath; len(path) > 0 {
		return &path[0]
	}
	return nil
}

// Setting implements routine.Host.
func (h routineHost) Setting(name string) (string, bool) { return h.ex.vars.Show(name) }

// Type implements routine.Host.
func (h routineHost) Type(ctx context.Context, name, of string) (*types.T, error) {
	x, err := parser.ParseExpr("NULL::" + name)
	switch {
	case of == "type":
		return planner.ColumnTypeOf(ctx, h.ex.coll, typeNames(name))
	case err != nil:
		return nil, err
	}
	c, ok := x.(*ast.Cast)
	if !ok {
		return nil, pgerr.New(pgerr.SyntaxError, "invalid type name \"%s\"", name)
	}
	return planner.FindType(ctx, c.Type, h.ex.vals.Fast.DefaultIntSize, h.ex.coll)
}

// typeNames takes a qualified name apart.
func typeNames(name string) []ast.Name {
	x, err := parser.ParseExpr(name)
	ref, ok := x.(*ast.ColumnRef)
	if err != nil || !ok {
		return nil
	}
	var parts []ast.Name
	for _, p := range [...]ast.Name{ref.Catalog, ref.Schema, ref.Table, ref.Column} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// Signature implements routine.Host.
func (h routineHost) Signature(ctx context.Context, t *catalog.Table) string {
	return statement.Signature(ctx, h.ex.coll, t)
}

// Savepoint implements routine.Host.
func (h routineHost) Savepoint() (int, error) { return h.ex.txn.Subtransaction() }

// Release implements routine.Host.
func (h routineHost) Release(savepoint int) { h.ex.txn.ReleaseSubtransaction(savepoint) }

// RollbackTo implements routine.Host.
func (h routineHost) RollbackTo(ctx context.Context, savepoint int) error {
	return h.ex.txn.RollbackSubtransaction(ctx, savepoint)
}

// Notice implements routine.Host.
func (h routineHost) Notice(severity string, e *pgerr.Error) {
	if h.ex.running.out != nil {
		h.ex.running.noticed = true
		h.ex.running.out.Notice(severity, e)
	}
}

// WithSettings implements routine.Host.
func (h routineHost) WithSettings(ctx context.Context, list []catalog.Setting, f func() error) error {
	before := make([]catalog.Setting, 0, len(list))
	for _, l := range list {
		old, ok := h.ex.vars.Show(l.Name)
		if !ok {
			return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", l.Name)
		}
		before = append(before, catalog.Setting{Name: l.Name, Value: old})
		if _, err := h.ex.vars.SetText(ctx, l.Name, l.Value, true, nil); err != nil {
			return err
		}
	}
	err := f()
	if err != nil {
		return err // the transaction, or the savepoint that it returns to, has the values of before
	}
	for _, l := range before {
		if _, err := h.ex.vars.SetText(ctx, l.Name, l.Value, true, nil); err != nil {
			return err
		}
	}
	return nil
}

// AsOwner implements routine.Host.
func (h routineHost) AsOwner(t *catalog.Table, f func() error) error {
	return h.ex.who.AsDefiner(t.Owner.Role(), f)
}

// Translate implements routine.Host.
func (h routineHost) Translate(ctx context.Context, err error) error { return h.ex.translate(ctx, err) }

// nestedResults hand the rows of a statement of a routine's body to a sink.
type nestedResults struct {
	sink routine.Sink
	out  Results // the client's
	tag  string
}

// Mark implements Results.
func (*nestedResults) Mark() {}

// Rewind implements Results.
func (*nestedResults) Rewind() bool { return false }

// Columns implements Results.
func (r *nestedResults) Columns(cols []plan.Column) error { return r.sink.Columns(cols) }

// Row implements Results.
func (r *nestedResults) Row(row []types.Datum) error { return r.sink.Row(row) }

// Complete implements Results.
func (r *nestedResults) Complete(tag string) error { r.tag = tag; return nil }

// Empty implements Results.
func (*nestedResults) Empty() error { return nil }

// Notice implements Results.
func (r *nestedResults) Notice(severity string, e *pgerr.Error) {
	if r.out != nil {
		r.out.Notice(severity, e)
	}
}

func errNoCopy() error {
	return pgerr.Unsupported("cannot COPY to/from client in a function")
}

// CopyOut implements Results.
func (*nestedResults) CopyOut(int, bool) error { return errNoCopy() }

// CopyData implements Results.
func (*nestedResults) CopyData([]byte) error { return errNoCopy() }

// CopyDone implements Results.
func (*nestedResults) CopyDone() error { return errNoCopy() }

// CopyIn implements Results.
func (*nestedResults) CopyIn(int, bool) (CopySource, error) { return nil, errNoCopy() }

// runCall executes CALL: root makes the arguments.
func (x *execution) runCall(ctx context.Context, prep *plan.Prepared) error {
	program, err := exec.CompileNode(prep.Root, nil)
	if err != nil {
		return err
	}
	x.ex.eval.fill(ctx, &x.env, x.params)
	rows, err := program.Rows(&x.env)
	if err != nil {
		return err
	}
	row, err := x.ex.routines.Call(x.env.Builtin, prep.Procedure, rows[0], x.transactions(ctx))
	if err != nil {
		return err
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if prep.Columns != nil {
		if err := x.announce(prep.Columns); err != nil {
			return err
		}
		if err := x.res.Row(row); err != nil {
			return err
		}
	}
	x.warn()
	return x.answer("CALL")
}

// transactions returns what a procedure that begins now may end its transaction with; nil inside of a block.
func (x *execution) transactions(ctx context.Context) routine.Transactions {
	if x.within != nil || x.ex.txn.InAnyBlock() || !x.commit {
		return nil
	}
	return &procedureTransactions{x, ctx}
}

// procedureTransactions let a procedure end its transactions and begin others. What it does from the first end on is not
// run again after a conflict.
type procedureTransactions struct {
	x   *execution
	ctx context.Context
}

// Commit implements routine.Transactions.
func (t *procedureTransactions) Commit(chain bool) error {
	ex := t.x.ex
	t.x.committed = true
	o, m := ex.txn.Chained()
	if err := ex.commit(t.ctx); err != nil {
		return err
	}
	t.begin(chain, o, m)
	return nil
}

// Rollback implements routine.Transactions.
func (t *procedureTransactions) Rollback(chain bool) error {
	ex := t.x.ex
	t.x.committed = true
	o, m := ex.txn.Chained()
	ex.txn.Rollback(t.ctx)
	t.begin(chain, o, m)
	return nil
}

// begin begins the next transaction, whose first statement may be SET TRANSACTION.
func (t *procedureTransactions) begin(chain bool, o kv.TxnOptions, m transaction.Modes) {
	if chain {
		t.x.ex.txn.Start(o, m)
		return
	}
	t.x.ex.txn.Ensure()
}

// runDo executes DO.
func (x *execution) runDo(ctx context.Context, st *ast.Do) error {
	x.ex.txn.Ensure()
	language := st.Language
	if language == "" {
		language = catalog.LanguagePLpgSQL
	}
	switch language {
	case catalog.LanguagePLpgSQL:
	case catalog.LanguageSQL, "c", "internal":
		return pgerr.Unsupported("language \"%s\" does not support inline code execution", language)
	default:
		return pgerr.New(pgerr.UndefinedObject, "language \"%s\" does not exist", language)
	}
	if err := access.MustUseLanguage(x.ex.coll, language); err != nil {
		return err
	}
	x.fillEnv(ctx)
	if err := x.ex.routines.Do(x.env.Builtin, st.Code, x.transactions(ctx)); err != nil {
		return x.pointed(err, st.Code)
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.answer("DO")
}

// checkRoutine finds errors in the body of a routine that is being made.
func (x *execution) checkRoutine(ctx context.Context, t *catalog.Table) error {
	ex := x.ex
	if v, ok := ex.vars.Show("check_function_bodies"); ok && v == "off" {
		return nil
	}
	ex.eval.start(ctx)
	return x.pointed(ex.routines.Check(ctx, t), t.Routine.Body)
}

// pointed makes the position of an error in a body one in the client's statement, if the body stands there
// once, perhaps between single quotes.
func (x *execution) pointed(err error, body string) error {
	var e *pgerr.Error
	st := &x.prepared.Stmt
	if !errors.As(err, &e) || e.InternalPosition == 0 || e.InternalQuery != body || x.within != nil || st.Offset > 0 {
		return err
	}
	at := e.InternalPosition
	before, after, ok := strings.Cut(st.SQL, body)
	if quoted := strings.ReplaceAll(body, "'", "''"); !ok && quoted != body {
		before, after, ok = strings.Cut(st.SQL, quoted)
		at += strings.Count(firstRunes(body, at-1), "'")
	}
	if !ok || strings.Contains(after, body) {
		return err
	}
	c := *e
	c.Position, c.InternalPosition, c.InternalQuery = utf8.RuneCountInString(before)+at, 0, ""
	return &c
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
