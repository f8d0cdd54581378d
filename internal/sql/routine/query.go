package routine

import (
	"errors"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

// query is an expression or a statement in SQL of a body in PL/pgSQL. It is planned when it first runs, and again
// when a record that it reads has another structure.
type query struct {
	p     *program
	n     int // its place in p.queries
	at    source
	text  string // as it stands in the body
	sql   string
	names *blockNames
	st    *prepared.Statement
	// records are the types that records had when st was planned.
	records []*types.T
	// simple is the expression where it is one that needs no plan to run, in its version.
	simple  plan.Expr
	version int
	// rows are the slots of the variables that simple reads as whole rows.
	rows []int
	// uses are the slots of the variables that it reads, if the body prints those of strict queries.
	uses  map[int]bool
	typ   *types.T // of the only column
	epoch Epoch    // for which simple is valid
}

// expression makes a query of an expression.
func (p *program) expression(x *plpgsql.Expr, names *blockNames) *query {
	if x == nil {
		return nil
	}
	return p.newQuery(source{kind: "SQL expression", pos: x.Pos, shown: x.Text, lead: len(selects)}, x.Text, selects+x.Text, names)
}

// selects makes a query of an expression.
const selects = "SELECT "

func (p *program) newQuery(at source, text, sql string, names *blockNames) *query {
	q := &query{p: p, n: len(p.queries), at: at, text: text, sql: sql, names: names}
	p.queries = append(p.queries, q)
	return q
}

// parse finds syntax errors.
func (q *query) parse() (parser.Statement, error) {
	stmts, err := q.p.r.host.Parse(q.sql)
	switch {
	case err != nil:
		return parser.Statement{}, err
	case len(stmts) != 1:
		return parser.Statement{}, pgerr.New(pgerr.SyntaxError, "syntax error at end of input")
	}
	return stmts[0], nil
}

// prepare makes the statement ready for the records of a frame.
func (q *query) prepare(f *frame) error {
	if q.st != nil && q.sameRecords(f) {
		return nil
	}
	st, err := q.parse()
	if err != nil {
		return q.at.within(err)
	}
	if ast.EndsOrBeginsTransaction(st.AST) {
		return pgerr.Unsupported("unsupported transaction command in PL/pgSQL")
	}
	if err := notCopy(st.AST); err != nil {
		return err
	}
	if err := f.readsOnly(st.AST); err != nil {
		return q.at.within(err)
	}
	p := q.p
	ts := make([]*types.T, len(f.params))
	q.records = append(q.records[:0], f.records...)
	for i := range ts {
		switch {
		case i < len(p.slots) && p.slots[i].typ != nil:
			ts[i] = valueType(p.slots[i].typ)
		case f.records[i] != nil:
			ts[i] = f.records[i]
		default:
			ts[i] = types.Record
		}
	}
	vars := &planner.Variables{
		Find:     func(parts []ast.Name) (plan.Expr, error) { return q.find(parts) },
		Conflict: p.conflict,
		Rows:     p.transitions(),
	}
	p.nextKey++
	q.st = NewQuery(st, p.key+"."+itoa(p.nextKey), ts, vars)
	q.st.Apart = true
	q.simple = nil
	return nil
}

// find is what a name in the statement stands for.
func (q *query) find(parts []ast.Name) (plan.Expr, error) {
	if q.p.tree.PrintStrict {
		if v, _ := q.names.lookup(parts); v != nil {
			if q.uses == nil {
				q.uses = map[int]bool{}
			}
			q.uses[v.slot] = true
		}
	}
	return q.p.find(q.names, parts)
}

// sameRecords reports whether the records have the structure that they had when the statement was prepared.
func (q *query) sameRecords(f *frame) bool {
	for _, i := range q.p.records {
		if t := q.records[i]; t != f.records[i] && !sameRow(t, f.records[i]) {
			return false
		}
	}
	return true
}

// value evaluates an expression.
func (q *query) value(f *frame) (types.Datum, *types.T, error) {
	if !q.ready(f) {
		if err := q.plan(f); err != nil {
			return types.Null, nil, err
		}
	}
	if q.simple != nil {
		d, err := q.evaluate(f)
		return d, q.typ, err
	}
	return q.single(f)
}

// ready reports whether an expression is a simple one, as which it was planned.
func (q *query) ready(f *frame) bool {
	return q.simple != nil && f.r.host.Lasts(&q.epoch) && q.sameRecords(f)
}

// plan plans an expression, and finds out whether it is a simple one.
func (q *query) plan(f *frame) error {
	epoch := f.r.host.Epoch()
	if err := q.prepare(f); err != nil {
		return err
	}
	q.p.cur = f
	prep, err := f.r.host.Plan(f.ctx, q.st, f.packed())
	if err != nil {
		return q.at.within(err)
	}
	if q.simple = simpleExpr(prep); q.simple != nil {
		q.typ, q.epoch, q.rows = prep.Columns[0].Type, epoch, wholeRows(q.simple)
		q.version++
	}
	return nil
}

// single runs an expression that is not simple as a query.
func (q *query) single(f *frame) (types.Datum, *types.T, error) {
	s := &rowSink{most: 2, ends: true}
	if _, err := f.run(q, s); err != nil {
		return types.Null, nil, err
	}
	switch {
	case len(s.cols) != 1:
		return types.Null, nil, pgerr.New(pgerr.SyntaxError, "query \"%s\" returned %d columns", q.text, len(s.cols))
	case len(s.rows) > 1:
		return types.Null, nil, pgerr.New(pgerr.CardinalityViolation, "query \"%s\" returned more than one row", q.text)
	case len(s.rows) == 0:
		return types.Null, s.cols[0].Type, nil
	}
	return s.rows[0][0], s.cols[0].Type, nil
}

// converted returns the error of a conversion of the value for an assignment. PostgreSQL converts a constant when it plans the expression,
// and shows the expression then. It checks domains later, when the assignment runs.
func (q *query) converted(err error) error {
	if err == nil {
		return nil
	}
	switch _, constant := q.simple.(*plan.Const); pgerr.CodeOf(err) {
	case pgerr.CheckViolation, pgerr.NullValueNotAllowed, pgerr.ArraySubscriptError:
		return err
	default:
		if !constant {
			return err
		}
	}
	return q.at.within(err)
}

// simpleExpr returns the expression of SELECT expression, nil if it must be run as a query.
func simpleExpr(prep *plan.Prepared) plan.Expr {
	var x plan.Expr
	switch n := prep.Root.(type) {
	case *plan.Project:
		if v, ok := n.Input.(*plan.Values); ok && len(n.Exprs) == 1 && len(v.RowExprs) == 1 && len(v.RowExprs[0]) == 0 {
			x = n.Exprs[0]
		}
	case *plan.Values:
		if len(n.RowExprs) == 1 && len(n.RowExprs[0]) == 1 {
			x = n.RowExprs[0][0]
		}
	}
	if x == nil || len(prep.Columns) != 1 || prep.Failed != nil {
		return nil
	}
	simple := true
	plan.WalkExpr(x, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.Subquery, *plan.ColRef:
			simple = false
		case *plan.Call:
			simple = simple && !x.Fn.IsSRF()
		}
		return simple
	})
	if !simple {
		return nil
	}
	return x
}

// wholeRows returns the slots of the variables that a simple expression reads as rows, not only fields of them.
func wholeRows(x plan.Expr) (slots []int) {
	plan.WalkExpr(x, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.FieldSelect:
			_, variable := x.Arg.(*plan.Param)
			return !variable
		case *plan.Param:
			if x.T.Family == types.RecordFamily {
				slots = append(slots, x.Index)
			}
		}
		return true
	})
	return slots
}

// evaluate computes a simple expression.
func (q *query) evaluate(f *frame) (d types.Datum, err error) {
	c := q.compiled(f)
	if c.fn == nil {
		k := expr.NewCompiler(&f.act.state, nil)
		if c.fn, err = k.Expr(q.simple, nil); err != nil {
			return types.Null, err
		}
	}
	return c.fn(nil)
}

// evaluateInto computes a simple expression for a variable.
func (q *query) evaluateInto(f *frame, to *types.Datum) (err error) {
	c := q.compiled(f)
	if c.into == nil {
		k := expr.NewCompiler(&f.act.state, nil)
		if c.into, err = k.Into(q.simple, nil); err != nil {
			return err
		}
	}
	return c.into(nil, to)
}

// compiled begins an evaluation of a simple expression.
func (q *query) compiled(f *frame) *compiled {
	c := &f.act.exprs[q.n]
	if c.version != q.version {
		*c = compiled{version: q.version}
	}
	for _, slot := range q.rows {
		f.pack(slot)
	}
	f.act.state.Epoch++
	return c
}

// run runs a query of a body.
func (f *frame) run(q *query, s Sink) (Outcome, error) {
	if err := q.prepare(f); err != nil {
		return Outcome{}, err
	}
	q.p.cur = f
	_, loops := s.(fetched)
	at := &q.at
	if loops {
		at = nil // but while it is planned, in which nothing of a body runs
	}
	end := f.runs(at)
	out, err := f.r.host.Run(f.c, q.st, f.packed(), f.fresh, s)
	end()
	if errors.Is(err, errEnough) {
		err = nil
	}
	if loops && !out.Unplanned {
		return out, err
	}
	return out, q.at.within(err)
}

// fetched is implemented by sinks that stand for a cursor: what fails as rows are fetched from one is not said to be within the
// statement, as in PostgreSQL.
type fetched interface{ fetches() }

// readsOnly refuses a statement that changes something in a function that is not volatile.
func (f *frame) readsOnly(st ast.Statement) error { return readsOnly(f, st) }

// rowSink keeps the first rows of a query.
type rowSink struct {
	cols []types.FieldDef
	rows [][]types.Datum
	most int  // that are kept; 0: all
	ends bool // once these are there
	n    int64
}

// Columns implements Sink.
func (s *rowSink) Columns(cols []plan.Column) error {
	s.cols = fieldsOf(cols)
	return nil
}

// CloneRow copies a row, which its statement keeps for the call of a Sink only.
func CloneRow(row []types.Datum) []types.Datum {
	kept := make([]types.Datum, len(row))
	for i := range row {
		kept[i] = row[i].Clone()
	}
	return kept
}

func fieldsOf(cols []plan.Column) []types.FieldDef {
	list := make([]types.FieldDef, len(cols))
	for i := range cols {
		list[i] = types.FieldDef{Name: cols[i].Name, Type: cols[i].Type}
	}
	return list
}

// Row implements Sink.
func (s *rowSink) Row(row []types.Datum) error {
	if s.n++; s.most == 0 || len(s.rows) < s.most {
		s.rows = append(s.rows, CloneRow(row))
	}
	if s.ends && len(s.rows) >= s.most {
		return errEnough
	}
	return nil
}
