package routine

import (
	"errors"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// execute runs a statement in SQL.
func (p *program) execute(f *frame, s *plpgsql.Execute) error {
	q := p.sqls[&s.SQL]
	sink := &rowSink{most: 1}
	if s.Strict {
		sink.most = 2
	}
	out, err := f.run(q, sink)
	if err != nil {
		return err
	}
	if s.Into == nil && !s.Perform && len(sink.cols) > 0 && !s.Call {
		return pgerr.New(pgerr.SyntaxError, "query has no destination for result data").
			WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
	}
	f.count(p, out, sink)
	if s.Into == nil && !(s.Call && len(sink.rows) > 0) {
		return nil
	}
	return p.into(f, s.Into, s.Strict, sink)
}

// count sets FOUND and ROW_COUNT.
func (f *frame) count(p *program, out Outcome, sink *rowSink) {
	f.rowCount = max(out.Rows, int64(len(sink.rows)))
	f.params[p.found.slot] = types.NewBool(f.rowCount > 0)
}

// into gives targets the first row of a query, NULLs if there is none.
func (p *program) into(f *frame, targets []plpgsql.Target, strict bool, sink *rowSink) error {
	switch {
	case strict && len(sink.rows) == 0:
		return pgerr.New(noDataFound, "query returned no rows")
	case strict && len(sink.rows) > 1:
		return pgerr.New(tooManyRows, "query returned more than one row").
			WithHint("Make sure the query returns a single row, or use LIMIT 1.")
	}
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

// runText runs a statement in SQL that was computed, with values for its parameters.
func (p *program) runText(f *frame, x *plpgsql.Expr, using []plpgsql.Expr, sink Sink) (Outcome, error) {
	text, err := p.text(f, x)
	if err != nil {
		return Outcome{}, err
	}
	params, ts := make([]types.Datum, len(using)), make([]*types.T, len(using))
	for i := range using {
		if params[i], ts[i], err = p.eval(f, &using[i]); err != nil {
			return Outcome{}, err
		}
		params[i] = params[i].Clone()
		if ts[i].Oid == types.Unknown.Oid {
			ts[i] = types.Text
		}
	}
	stmts, err := f.r.host.Parse(text)
	if err != nil {
		return Outcome{}, sourceOf(text).within(err)
	}
	var out Outcome
	for i, st := range stmts {
		if err := f.readsOnly(st.AST); err != nil {
			return out, err
		}
		p.nextKey++
		q := NewQuery(st, p.key+"."+itoa(p.nextKey), ts, nil)
		q.Apart = true
		to := sink
		if i < len(stmts)-1 {
			to = &rowSink{most: 1}
		}
		out, err = f.r.host.Run(f.c, q, params, f.fresh, to)
		if err != nil && !errors.Is(err, errEnough) {
			return out, sourceOf(text).within(err)
		}
	}
	return out, nil
}

func (p *program) dynamic(f *frame, s *plpgsql.Dynamic) error {
	sink := &rowSink{most: 1}
	if s.Strict {
		sink.most = 2
	}
	out, err := p.runText(f, &s.Text, s.Using, sink)
	if err != nil {
		return err
	}
	f.rowCount = max(out.Rows, int64(len(sink.rows)))
	if s.Into == nil {
		return nil
	}
	return p.into(f, s.Into, s.Strict, sink)
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
		_, err = p.runText(f, s.Dynamic, s.Using, sink)
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
	e.Context = "PL/pgSQL function " + p.name + " line " + itoa(f.line) + " at RAISE"
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
	for i := range s.Options {
		o := &s.Options[i]
		v, ok, err := p.asText(f, &o.Value)
		if err != nil {
			return err
		}
		if !ok {
			return pgerr.New(pgerr.NullValueNotAllowed, "RAISE statement option cannot be null")
		}
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
		"pg_context": "PL/pgSQL function " + p.name + " line " + itoa(f.line) + " at GET DIAGNOSTICS",
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
	if f.txn == nil {
		return pgerr.New("2D000", "invalid transaction termination")
	}
	if s.Rollback {
		return f.txn.Rollback(s.Chain)
	}
	return f.txn.Commit(s.Chain)
}
