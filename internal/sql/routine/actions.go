package routine

import (
	"errors"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// execute runs a statement in SQL.
func (p *program) execute(f *frame, s *plpgsql.Execute) error {
	q := p.sqls[&s.SQL]
	if s.Call {
		if err := q.prepare(f); err != nil {
			return err
		}
		if c, ok := q.st.Stmt.AST.(*ast.Call); ok {
			return p.callProcedure(f, q, c)
		}
	}
	writes, err := q.writes(f)
	if err != nil {
		return err
	}
	sink := &rowSink{most: 1, ends: s.Into != nil && !writes}
	if s.Strict || writes {
		sink.most = 2
	}
	out, err := f.run(q, sink)
	if err != nil {
		return err
	}
	if s.Into == nil && !s.Perform && len(sink.cols) > 0 && !s.Call {
		return noDestination(q.st.Stmt.AST)
	}
	f.count(p, out, sink)
	if s.Into != nil && sink.cols == nil {
		return errNoData()
	}
	if s.Into == nil {
		return nil
	}
	names, vals, ts := q.used(f)
	if err := sink.single(s.Strict, s.Strict || writes, func() string { return p.strictDetail(f, names, vals, ts) }); err != nil {
		if pgerr.CodeOf(err) == tooManyRows {
			return pgerr.From(err).WithHint("Make sure the query returns a single row, or use LIMIT 1.")
		}
		return err
	}
	return p.into(f, s.Into, sink)
}

// writes reports whether a statement is INSERT, UPDATE, DELETE or MERGE: all its rows are counted, and INTO takes no more than one.
func (q *query) writes(f *frame) (bool, error) {
	if err := q.prepare(f); err != nil {
		return false, err
	}
	switch q.st.Stmt.AST.(type) {
	case *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		return true, nil
	}
	return false, nil
}

// used returns the variables that a statement reads, if the body prints those of strict queries.
func (q *query) used(f *frame) (names []string, vals []types.Datum, ts []*types.T) {
	for _, v := range q.p.slots {
		if q.uses[v.slot] {
			names, vals, ts = append(names, v.name), append(vals, f.value(v)), append(ts, q.p.typeIn(f, v))
		}
	}
	return names, vals, ts
}

// strictDetail is the detail of an error of INTO STRICT.
func (p *program) strictDetail(f *frame, names []string, vals []types.Datum, ts []*types.T) string {
	if !p.tree.PrintStrict {
		return ""
	}
	return strictParams(f.c.Format, names, vals, ts)
}

// single refuses no row, and several.
func (s *rowSink) single(some, one bool, detail func() string) error {
	var err *pgerr.Error
	switch {
	case some && len(s.rows) == 0:
		err = pgerr.New(noDataFound, "query returned no rows")
	case one && len(s.rows) > 1:
		err = pgerr.New(tooManyRows, "query returned more than one row")
	default:
		return nil
	}
	if d := detail(); d != "" {
		return err.WithDetail("%s", d)
	}
	return err
}

func noDestination(st ast.Statement) error {
	err := pgerr.New(pgerr.SyntaxError, "query has no destination for result data")
	if _, ok := st.(*ast.Select); ok {
		return err.WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
	}
	return err
}

func errNoData() error {
	return pgerr.New(pgerr.SyntaxError, "INTO used with a command that cannot return data")
}

// count sets FOUND and ROW_COUNT.
func (f *frame) count(p *program, out Outcome, sink *rowSink) {
	f.rowCount = max(out.Rows, sink.n)
	f.params[p.found.slot] = types.NewBool(f.rowCount > 0)
}

// into gives targets the first row of a query, NULLs if there is none.
func (p *program) into(f *frame, targets []plpgsql.Target, sink *rowSink) error {
	row := make([]types.Datum, len(sink.cols))
	if len(sink.rows) > 0 {
		row = sink.rows[0]
	}
	return p.putRow(f, targets, row, sink.cols)
}

// putRow gives a row to targets: one that is a row gets it as a whole.
func (p *program) putRow(f *frame, targets []plpgsql.Target, row []types.Datum, cols []types.FieldDef) error {
	if len(targets) == 1 {
		if to := p.targets[targets[0].ID]; len(to.path) == 0 {
			return p.setRow(f, to.v, row, cols)
		}
	}
	for i := range targets {
		d, t := types.Null, types.Unknown
		if i < len(row) {
			d, t = row[i], cols[i].Type
		}
		if err := p.put(f, &targets[i], d, t); err != nil {
			return err
		}
	}
	return nil
}

// text computes the text of EXECUTE.
func (p *program) text(f *frame, x *plpgsql.Expr) (string, error) {
	d, t, err := p.eval(f, x)
	if err != nil {
		return "", err
	}
	if d.IsNull() {
		return "", pgerr.New(pgerr.NullValueNotAllowed, "query string argument of EXECUTE is null")
	}
	return string(typeio.AppendText(nil, t, d, f.c.Format)), nil
}

// using computes the values of USING.
func (p *program) using(f *frame, list []plpgsql.Expr) (params []types.Datum, ts []*types.T, err error) {
	params, ts = make([]types.Datum, len(list)), make([]*types.T, len(list))
	for i := range list {
		if params[i], ts[i], err = p.eval(f, &list[i]); err != nil {
			return nil, nil, err
		}
		params[i] = params[i].Clone()
		if ts[i].Oid == types.Unknown.Oid {
			ts[i] = types.Text
		}
	}
	return params, ts, nil
}

// computed runs a statement whose text is computed, with the values of USING.
func (p *program) computed(f *frame, x *plpgsql.Expr, using []plpgsql.Expr, sink Sink) error {
	text, err := p.text(f, x)
	if err != nil {
		return err
	}
	params, ts, err := p.using(f, using)
	if err != nil {
		return err
	}
	_, err = p.runText(f, text, params, ts, sink)
	return err
}

// runText runs a statement in SQL that was computed, with values for its parameters.
func (p *program) runText(f *frame, text string, params []types.Datum, ts []*types.T, sink Sink) (Outcome, error) {
	stmts, err := f.r.host.Parse(text)
	if err != nil {
		return Outcome{}, sourceOf(text).within(err)
	}
	var out Outcome
	_, loops := sink.(fetched)
	if !loops {
		defer f.runs(sourceOf(text))()
	}
	for i, st := range stmts {
		if err := notDynamic(st.AST); err != nil {
			return out, err
		}
		if err := f.readsOnly(st.AST); err != nil {
			return out, err
		}
		p.nextKey++
		q := NewQuery(st, p.key+"."+itoa(p.nextKey), ts, nil)
		q.Apart = true
		to := sink
		if i < len(stmts)-1 {
			to = &rowSink{most: 1, ends: true}
		}
		out, err = f.r.host.Run(f.c, q, params, f.fresh, to)
		if err != nil && !errors.Is(err, errEnough) {
			if loops && !out.Unplanned {
				return out, err
			}
			return out, sourceOf(text).within(err)
		}
	}
	return out, nil
}

// notDynamic refuses what EXECUTE does not run.
func notDynamic(st ast.Statement) error {
	if ast.EndsOrBeginsTransaction(st) {
		return pgerr.Unsupported("EXECUTE of transaction commands is not implemented")
	}
	if sel, ok := st.(*ast.Select); ok && sel.Into != nil {
		return pgerr.Unsupported("EXECUTE of SELECT ... INTO is not implemented").
			WithHint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.")
	}
	return notCopy(st)
}

// notCopy refuses COPY from and to the client.
func notCopy(st ast.Statement) error {
	if c, ok := st.(*ast.Copy); ok && c.Filename == "" && !c.Program {
		return pgerr.Unsupported("cannot COPY to/from client in PL/pgSQL")
	}
	return nil
}

func (p *program) dynamic(f *frame, s *plpgsql.Dynamic) error {
	text, err := p.text(f, &s.Text)
	if err != nil {
		return err
	}
	params, ts, err := p.using(f, s.Using)
	if err != nil {
		return err
	}
	sink := &rowSink{most: 2}
	out, err := p.runText(f, text, params, ts, sink)
	if err != nil {
		return err
	}
	f.rowCount = max(out.Rows, sink.n)
	if s.Into == nil {
		return nil
	}
	if sink.cols == nil {
		return errNoData()
	}
	names := make([]string, len(params))
	for i := range names {
		names[i] = "$" + itoa(i+1)
	}
	if err := sink.single(s.Strict, s.Strict, func() string { return p.strictDetail(f, names, params, ts) }); err != nil {
		return err
	}
	return p.into(f, s.Into, sink)
}

func (p *program) returnNext(f *frame, s *plpgsql.ReturnNext) error {
	if s.Value == nil {
		return f.out.addRow(p.outputValues(f))
	}
	d, t, err := p.eval(f, s.Value)
	if err != nil {
		return err
	}
	return f.out.addRow([]types.Datum{d}, []*types.T{t})
}

// setSink adds the rows of a query to those that a function returns.
type setSink struct {
	f  *frame
	ts []*types.T
	n  int64
}

// Columns implements Sink.
func (s *setSink) Columns(cols []plan.Column) error {
	s.ts = make([]*types.T, len(cols))
	for i := range cols {
		s.ts[i] = cols[i].Type
	}
	o := &s.f.out
	if o.whole != nil && o.whole.Fields() == nil { // any record
		return nil
	}
	bad := pgerr.New(pgerr.DatatypeMismatch, "structure of query does not match function result type")
	for i := range min(len(cols), len(o.cols)) {
		if cols[i].Type.BaseType().Oid != o.cols[i].BaseType().Oid {
			return bad.WithDetail("Returned type %s does not match expected type %s in column %d.",
				types.FormatType(cols[i].Type), types.FormatType(o.cols[i]), i+1)
		}
	}
	if len(cols) != len(o.cols) {
		return bad.WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(cols), len(o.cols))
	}
	return nil
}

// Row implements Sink.
func (s *setSink) Row(row []types.Datum) error {
	s.n++
	return s.f.out.addRow(row, s.ts)
}

func (p *program) returnQuery(f *frame, s *plpgsql.ReturnQuery) error {
	sink := &setSink{f: f}
	var err error
	if s.Dynamic != nil {
		err = p.computed(f, s.Dynamic, s.Using, sink)
	} else {
		q := p.sqls[s.Query]
		_, err = f.run(q, sink)
	}
	f.rowCount = sink.n
	f.params[p.found.slot] = types.NewBool(sink.n > 0)
	return err
}

// asText computes an expression as a text; ok is false for NULL.
func (p *program) asText(f *frame, x *plpgsql.Expr) (s string, ok bool, err error) {
	d, t, err := p.eval(f, x)
	if err != nil || d.IsNull() {
		return "", false, err
	}
	return string(typeio.AppendText(nil, t, d, f.c.Format)), true, nil
}

// raise runs RAISE.
func (p *program) raise(f *frame, s *plpgsql.Raise) error {
	if s.Bare {
		if len(f.handled) == 0 {
			return pgerr.New("0Z002", "RAISE without parameters cannot be used outside an exception handler")
		}
		return &raisedAgain{f, f.handled[len(f.handled)-1]}
	}
	e := &pgerr.Error{Code: raiseException}
	if s.Level != "exception" {
		e.Code = pgerr.SuccessfulCompletion
		if s.Level == "warning" {
			e.Code = pgerr.Warning
		}
	}
	if states, err := statesOf(s.Cond); err == nil && (s.Cond.Name != "" || s.Cond.State != "") {
		e.Code, e.Message = pgerr.Code(states[0]), s.Cond.Name+s.Cond.State
	}
	if err := p.message(f, s, e); err != nil {
		return err
	}
	if err := p.raiseOptions(f, s, e); err != nil {
		return err
	}
	if e.Message == "" {
		e.Message = string(e.Code)
	}
	if s.Level == "exception" {
		return e
	}
	e.Context = f.stack()
	f.r.host.Notice(strings.ToUpper(s.Level), e)
	return nil
}

// message makes the message of RAISE of its format.
func (p *program) message(f *frame, s *plpgsql.Raise, e *pgerr.Error) error {
	if s.Format == nil {
		return nil
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(*s.Format); i++ {
		c := (*s.Format)[i]
		switch {
		case c != '%':
			b.WriteByte(c)
		case i+1 < len(*s.Format) && (*s.Format)[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			v, ok, err := p.asText(f, &s.Args[n])
			if err != nil {
				return err
			}
			if n++; !ok {
				v = "<NULL>"
			}
			b.WriteString(v)
		}
	}
	e.Message = b.String()
	return nil
}

func (p *program) raiseOptions(f *frame, s *plpgsql.Raise, e *pgerr.Error) error {
	fields := map[string]*string{
		"message": &e.Message, "detail": &e.Detail, "hint": &e.Hint, "column": &e.Column, "constraint": &e.Constraint,
		"datatype": &e.DataType, "table": &e.Table, "schema": &e.Schema,
	}
	given := map[string]bool{"message": s.Format != nil, "errcode": s.Cond != (plpgsql.Condition{})}
	for i := range s.Options {
		o := &s.Options[i]
		v, ok, err := p.asText(f, &o.Value)
		if err != nil {
			return err
		}
		if !ok {
			return pgerr.New(pgerr.NullValueNotAllowed, "RAISE statement option cannot be null")
		}
		if given[o.Name] {
			return pgerr.New(pgerr.SyntaxError, "RAISE option already specified: %s", strings.ToUpper(o.Name))
		}
		given[o.Name] = true
		if o.Name != "errcode" {
			*fields[o.Name] = v
			continue
		}
		states, err := statesOf(plpgsql.Condition{Name: v})
		if err != nil && len(v) == 5 {
			states, err = []string{v}, nil
		}
		if err != nil {
			return err
		}
		e.Code = pgerr.Code(states[0])
	}
	return nil
}

func (p *program) assert(f *frame, s *plpgsql.Assert) error {
	if v, ok := f.r.host.Setting("plpgsql.check_asserts"); ok && v == "off" {
		return nil
	}
	ok, err := p.evalBool(f, &s.Cond)
	if err != nil || ok {
		return err
	}
	message := "assertion failed"
	if s.Message != nil {
		if m, ok, err := p.asText(f, s.Message); err != nil {
			return err
		} else if ok {
			message = m
		}
	}
	return pgerr.New(assertFailure, "%s", message)
}

// diagnostics runs GET DIAGNOSTICS.
func (p *program) diagnostics(f *frame, s *plpgsql.Diagnostics) error {
	if s.Stacked && len(f.handled) == 0 {
		return pgerr.New("0Z002", "GET STACKED DIAGNOSTICS cannot be used outside an exception handler")
	}
	var e pgerr.Error
	if s.Stacked {
		e = *f.handled[len(f.handled)-1]
	}
	values := map[string]string{
		"returned_sqlstate": string(e.Code), "message_text": e.Message, "pg_exception_detail": e.Detail, "pg_exception_hint": e.Hint,
		"pg_exception_context": e.Context, "column_name": e.Column, "constraint_name": e.Constraint, "table_name": e.Table,
		"schema_name": e.Schema, "pg_datatype_name": e.DataType,
		"pg_context": f.stack(),
	}
	for i := range s.Items {
		it := &s.Items[i]
		v, ok := values[it.Item]
		var err error
		switch {
		case it.Item == "row_count":
			err = p.put(f, &it.Target, types.NewInt(f.rowCount), types.Int8)
		case !ok:
			err = pgerr.New(pgerr.SyntaxError, "unrecognized GET DIAGNOSTICS item")
		default:
			err = p.put(f, &it.Target, types.NewString(v), types.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transaction runs COMMIT and ROLLBACK.
func (p *program) transaction(f *frame, s *plpgsql.Transaction) error {
	switch {
	case f.txn == nil:
		return pgerr.New(invalidTermination, "invalid transaction termination")
	case f.handling > 0 && s.Rollback:
		return pgerr.New(invalidTermination, "cannot roll back while a subtransaction is active")
	case f.handling > 0:
		return pgerr.New(invalidTermination, "cannot commit while a subtransaction is active")
	case s.Rollback:
		return f.txn.Rollback(s.Chain)
	}
	return f.txn.Commit(s.Chain)
}
