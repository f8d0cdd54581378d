package routine

import (
	"context"
	"errors"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// errEnough ends a statement of whose rows no more are wanted.
var errEnough = errors.New("no more rows are wanted")

// sqlBody is a body in SQL: statements, of which the last one makes the result.
type sqlBody struct {
	stmts []*prepared.Statement
}

// compileSQL compiles a body in SQL.
func compileSQL(f *frame) (*sqlBody, error) {
	stmts, err := parseSQL(f)
	if err != nil {
		return nil, f.r.withContext(f.ctx, err, "SQL function \"%s\" during startup", f.t.Name)
	}
	b := &sqlBody{}
	names := &parameterNames{function: f.t.Name}
	for i, p := range f.def.Inputs() {
		names.names, names.types = append(names.names, p.Name), append(names.types, valueType(f.args[i]))
	}
	vars := &planner.Variables{Find: names.find}
	for i, st := range stmts {
		key := strconv.FormatUint(uint64(f.t.ID), 10) + "." + strconv.FormatUint(f.t.Version, 10) + "." + strconv.Itoa(i)
		ts := make([]*types.T, len(f.args))
		for j, a := range f.args {
			ts[j] = valueType(a)
		}
		b.stmts = append(b.stmts, NewQuery(st, key, ts, vars))
	}
	return b, nil
}

// valueType is the type of a variable's values as expressions have it.
func valueType(t *types.T) *types.T {
	if t.OfDomain() {
		return t.BaseType().WithDomain(t)
	}
	return t
}

func parseSQL(f *frame) ([]parser.Statement, error) {
	stmts, err := f.r.host.Parse(f.def.Body)
	if err != nil {
		return nil, f.pointed(err)
	}
	for _, st := range stmts {
		switch st.AST.(type) {
		case *ast.Begin, *ast.Commit, *ast.Rollback, *ast.Savepoint, *ast.Release, *ast.RollbackTo, *ast.Copy, *ast.Execute, *ast.Prepare:
			return nil, pgerr.New(pgerr.FeatureNotSupported, "%s is not allowed in an SQL function", st.AST.Tag())
		}
	}
	return stmts, nil
}

// parameterNames are the names of a function's parameters, and of the function, in a body in SQL.
type parameterNames struct {
	function string
	names    []string
	types    []*types.T
}

func (p *parameterNames) find(parts []ast.Name) (plan.Expr, error) {
	if len(parts) == 2 && parts[0] == p.function || len(parts) == 1 {
		for i, n := range p.names {
			if n != "" && n == parts[len(parts)-1] {
				return &plan.Param{Index: i, T: p.types[i]}, nil
			}
		}
	}
	if len(parts) > 1 { // a field of a parameter
		for i, n := range p.names {
			if n != "" && n == parts[len(parts)-2] {
				if k := p.types[i].FieldByName(parts[len(parts)-1]); k >= 0 {
					return &plan.FieldSelect{Arg: &plan.Param{Index: i, T: p.types[i]}, Field: k, Name: parts[len(parts)-1], T: p.types[i].Fields()[k].Type}, nil
				}
			}
		}
	}
	return nil, nil
}

// run implements body.
func (b *sqlBody) run(f *frame) error {
	void := f.def.Returns.Oid == types.Void.Oid
	for i, st := range b.stmts {
		sink := &sqlSink{f: f, last: i == len(b.stmts)-1 && !void}
		if err := readsOnly(f, st.Stmt.AST); err != nil {
			return f.r.withContext(f.ctx, err, "SQL function \"%s\" during startup", f.t.Name)
		}
		f.line = i + 1
		out, err := f.r.host.Run(f.c, st, f.params, f.fresh, sink)
		if err != nil && (out.Unplanned || sink.bad) {
			return f.r.withContext(f.ctx, f.pointed(err), "SQL function \"%s\" during startup", f.t.Name)
		}
		if err != nil && !errors.Is(err, errEnough) {
			return f.r.withContext(f.ctx, f.pointed(err), "SQL function \"%s\" statement %d", f.t.Name, i+1)
		}
	}
	return nil
}

// readsOnly refuses a statement that changes something in a function that is not volatile.
func readsOnly(f *frame, st ast.Statement) error {
	if f.fresh {
		return nil
	}
	if _, ok := st.(*ast.Select); !ok {
		return pgerr.New(pgerr.FeatureNotSupported, "%s is not allowed in a non-volatile function", st.Tag())
	}
	return nil
}

// sqlSink takes the rows of a statement of a body in SQL.
type sqlSink struct {
	f     *frame
	last  bool // they are the result
	bad   bool // its columns can't be that
	types []*types.T
}

// Columns implements Sink.
func (s *sqlSink) Columns(cols []plan.Column) error {
	s.types = make([]*types.T, len(cols))
	for i := range cols {
		s.types[i] = cols[i].Type
	}
	if !s.last {
		return nil
	}
	err := s.f.out.checkColumns(s.types)
	s.bad = err != nil
	return err
}

// Row implements Sink.
func (s *sqlSink) Row(row []types.Datum) error {
	if !s.last {
		return errEnough
	}
	o := &s.f.out
	if o.set {
		return o.addRow(row, s.types)
	}
	if err := o.setRow(CloneRow(row), s.types); err != nil {
		return err
	}
	return errEnough
}

// addRow appends a row of a set; one value may be the whole row.
func (o *result) addRow(row []types.Datum, from []*types.T) error {
	if o.whole != nil && len(row) == 1 && from[0].Family == types.RecordFamily && len(o.cols) != 1 {
		if o.asRow {
			d, err := convert(o.f.c.Format, row[0].Clone(), from[0], o.whole)
			o.rows = append(o.rows, []types.Datum{d})
			return err
		}
		var vals []types.Datum
		var ts []*types.T
		if row[0].IsNull() {
			vals, ts = make([]types.Datum, len(o.cols)), o.cols
		} else {
			for _, f := range types.RecordFields(from[0], row[0], o.f.c.Format) {
				vals, ts = append(vals, f.Datum), append(ts, f.Type)
			}
		}
		return o.add(vals, ts)
	}
	return o.add(row, from)
}

// assignable reports whether a column of a body in SQL can be a result: by a cast that assignments make.
func assignable(from, to *types.T) bool {
	from, to = from.BaseType(), to.BaseType()
	if from.Oid == to.Oid || from.Oid == types.Unknown.Oid || to.Family == types.RecordFamily && from.Family == types.RecordFamily {
		return true
	}
	c, ok := casts.Find(from, to)
	return ok && c.Context != types.CastExplicit
}

// CheckSQL finds errors in a body in SQL, as CREATE FUNCTION does.
func (r *Runner) CheckSQL(ctx context.Context, t *catalog.Table) error {
	f := &frame{r: r, t: t, def: t.Routine, ctx: ctx, fresh: true}
	for _, p := range t.Routine.Inputs() {
		f.args = append(f.args, p.Type)
	}
	f.out.init(f, nil)
	stmts, err := parseSQL(f)
	if err != nil || polymorphic(f.def) {
		return err
	}
	void := f.def.Returns.Oid == types.Void.Oid || f.def.Procedure && len(f.def.Outputs()) == 0
	b, err := compileSQL(f)
	if err != nil {
		return err
	}
	about := func(err error) error { return r.withContext(ctx, err, "SQL function \"%s\"", t.Name) }
	if len(stmts) == 0 && !void {
		return about(noResult(f))
	}
	for i, st := range b.stmts {
		prep, err := r.host.Analyze(ctx, st)
		if err != nil {
			return f.pointed(err)
		}
		if i < len(b.stmts)-1 || void {
			continue
		}
		if prep.Columns == nil {
			return about(noResult(f))
		}
		s := &sqlSink{f: f, last: true}
		if err := s.Columns(prep.Columns); err != nil {
			return about(err)
		}
	}
	return nil
}

// pointed makes the position of an error in a body in SQL one in the body.
func (f *frame) pointed(err error) error {
	if at := pgerr.PositionOf(err); at > 0 {
		return inBody(err, f.def.Body, at)
	}
	return err
}

func noResult(f *frame) error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", types.FormatType(f.def.Returns)).
		WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
}
