package routine

import (
	"errors"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

// loopSignal says whether a loop ends behind a run of its body, and how control goes on then.
func loopSignal(label string, sig signal) (ends bool, out signal) {
	mine := sig.label == "" || sig.label == label
	switch {
	case sig.kind == goOn, sig.kind == continues && mine:
		return false, signal{}
	case sig.kind == exits && mine:
		return true, signal{}
	}
	return true, sig
}

func (p *program) loop(f *frame, s *plpgsql.Loop) (signal, error) {
	for {
		f.line, f.doing = s.At(), "at LOOP"
		if err := f.c.Step(stepCost); err != nil {
			return signal{}, err
		}
		if s.Cond != nil {
			f.doing = "at WHILE"
			if ok, err := p.evalBool(f, s.Cond); err != nil || !ok {
				return signal{}, err
			}
		}
		sig, err := p.stmts(f, s.Body)
		if err != nil {
			return signal{}, err
		}
		if ends, out := loopSignal(s.Label, sig); ends {
			return out, nil
		}
	}
}

// bound computes a bound of a loop over integers.
func (p *program) bound(f *frame, x *plpgsql.Expr, what string) (int64, error) {
	d, t, err := p.eval(f, x)
	if err != nil {
		return 0, err
	}
	if d, err = convert(f.c.Format, d, t, types.Int4); err != nil {
		return 0, err
	}
	if d.IsNull() {
		return 0, pgerr.New(pgerr.NullValueNotAllowed, "%s of FOR loop cannot be null", what)
	}
	return d.Int(), nil
}

func (p *program) forInt(f *frame, s *plpgsql.ForInt) (signal, error) {
	from, err := p.bound(f, &s.From, "lower bound")
	if err != nil {
		return signal{}, err
	}
	to, err := p.bound(f, &s.To, "upper bound")
	if err != nil {
		return signal{}, err
	}
	by := int64(1)
	if s.By != nil {
		if by, err = p.bound(f, s.By, "BY value"); err != nil {
			return signal{}, err
		}
		if by <= 0 {
			return signal{}, pgerr.New(pgerr.InvalidParameterValue, "BY value of FOR loop must be greater than zero")
		}
	}
	v := p.vars[s]
	found := false
	defer func() { f.params[p.found.slot] = types.NewBool(found) }()
	for i := from; s.Reverse && i >= to || !s.Reverse && i <= to; {
		if err := f.c.Step(stepCost); err != nil {
			return signal{}, err
		}
		found = true
		f.params[v.slot] = types.NewInt(i)
		sig, err := p.stmts(f, s.Body)
		if err != nil {
			return signal{}, err
		}
		if ends, out := loopSignal(s.Label, sig); ends {
			return out, nil
		}
		if s.Reverse {
			i -= by
		} else {
			i += by
		}
	}
	return signal{}, nil
}

// loopSink runs the body of a loop for each row of a query, while the query runs.
type loopSink struct {
	p    *program
	f    *frame
	s    *plpgsql.ForQuery
	cols []types.FieldDef
	rows int
	out  signal
	err  error // of the body: the query has none
	line int
	what string
}

func (*loopSink) fetches() {}

// Columns implements Sink.
func (l *loopSink) Columns(cols []plan.Column) error {
	l.cols = fieldsOf(cols)
	return nil
}

// Row implements Sink: it runs the body of the loop for a row.
func (l *loopSink) Row(row []types.Datum) error {
	l.rows++
	var ends bool
	if ends, l.out, l.err = l.p.iterate(l.f, l.s, row, l.cols); l.err != nil || ends {
		return errEnough
	}
	l.f.line, l.f.doing = l.line, l.what
	return l.f.c.Step(stepCost)
}

// iterate runs the body of a loop over a query for a row.
func (p *program) iterate(f *frame, s *plpgsql.ForQuery, row []types.Datum, cols []types.FieldDef) (ends bool, out signal, err error) {
	if err := p.putRow(f, s.Targets, row, cols); err != nil {
		return false, signal{}, err
	}
	sig, err := p.stmts(f, s.Body)
	if err != nil {
		return false, signal{}, err
	}
	ends, out = loopSignal(s.Label, sig)
	return ends, out, nil
}

// forQuery runs a loop over the rows of a query.
func (p *program) forQuery(f *frame, s *plpgsql.ForQuery) (signal, error) {
	f.doing = "at FOR over SELECT rows"
	if s.Cursor != "" {
		f.doing = "at FOR over cursor"
	} else if s.Dynamic != nil {
		f.doing = "at FOR over EXECUTE statement"
	}
	if f.txn != nil && p.ends[s] {
		return p.forKept(f, s)
	}
	l := &loopSink{p: p, f: f, s: s, line: f.line, what: f.doing}
	var err error
	if s.Cursor != "" {
		err = p.forCursor(f, s, l)
	} else {
		err = p.loopRows(f, s, l)
	}
	f.params[p.found.slot] = types.NewBool(l.rows > 0)
	if l.err != nil {
		err = l.err
	}
	return l.out, err
}

// forCursor runs a loop over the rows of a bound cursor, which is one of the session meanwhile.
func (p *program) forCursor(f *frame, s *plpgsql.ForQuery, l *loopSink) error {
	v := p.vars[s]
	if err := p.cursorArgs(f, v, s.Using); err != nil {
		return err
	}
	named := !f.params[v.slot].IsNull()
	name, err := p.open(f, v, p.sqls[v.cursor.Query])
	if err != nil {
		return err
	}
	err = f.r.host.LoopCursor(f.c, name, func(row []types.Datum, cols []plan.Column) error {
		if l.cols == nil {
			l.cols = fieldsOf(cols)
		}
		return l.Row(row)
	})
	if !named {
		f.params[v.slot] = types.Null
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// loopRows runs the query of a loop.
func (p *program) loopRows(f *frame, s *plpgsql.ForQuery, sink Sink) error {
	var err error
	switch {
	case s.Cursor != "":
		v := p.vars[s]
		if err := p.cursorArgs(f, v, s.Using); err != nil {
			return err
		}
		_, err = f.run(p.sqls[v.cursor.Query], sink)
	case s.Dynamic != nil:
		err = p.computed(f, s.Dynamic, s.Using, sink)
	default:
		_, err = f.run(p.sqls[s.Query], sink)
	}
	return err
}

// keptRows keep the rows of a query for a loop whose body ends transactions, which the query would not outlive.
type keptRows struct {
	f    *frame
	cols []types.FieldDef
	rows [][]types.Datum
	size int // of the rows since the last reservation
	held int64
}

// reserveRows is how many bytes of rows a loop reserves at once.
const reserveRows = quota.LargeValue

func (*keptRows) fetches() {}

// Columns implements Sink.
func (k *keptRows) Columns(cols []plan.Column) error {
	k.cols = fieldsOf(cols)
	return nil
}

// Row implements Sink.
func (k *keptRows) Row(row []types.Datum) error {
	for i := range row {
		k.size += datumBytes + len(row[i].Str())
	}
	k.rows = append(k.rows, CloneRow(row))
	if k.size < reserveRows {
		return nil
	}
	n := int64(k.size)
	k.size = 0
	if err := k.f.c.Values.Reserve(n); err != nil {
		return pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", err.Error()).WithHint("The loop ends transactions, and so keeps all rows of its query in memory.")
	}
	k.held += n
	return nil
}

// forKept is forQuery for a body that ends transactions.
func (p *program) forKept(f *frame, s *plpgsql.ForQuery) (signal, error) {
	k := &keptRows{f: f}
	defer func() { f.c.Values.Release(k.held) }()
	if err := p.loopRows(f, s, k); err != nil {
		return signal{}, err
	}
	defer func() { f.params[p.found.slot] = types.NewBool(len(k.rows) > 0) }()
	line, doing := f.line, f.doing
	for _, row := range k.rows {
		f.line, f.doing = line, doing
		if err := f.c.Step(stepCost); err != nil {
			return signal{}, err
		}
		if ends, out, err := p.iterate(f, s, row, k.cols); err != nil || ends {
			return out, err
		}
	}
	return signal{}, nil
}

// forEach runs a loop over the elements of an array, or its slices.
func (p *program) forEach(f *frame, s *plpgsql.ForEach) (signal, error) {
	d, t, err := p.eval(f, &s.Array)
	if err != nil {
		return signal{}, err
	}
	list, elem, err := p.eachOf(f, s, d.Clone(), t)
	if err != nil {
		return signal{}, err
	}
	defer func() { f.params[p.found.slot] = types.NewBool(len(list) > 0) }()
	for _, e := range list {
		if err := f.c.Step(stepCost); err != nil {
			return signal{}, err
		}
		if err := p.putElement(f, s.Targets, e, elem); err != nil {
			return signal{}, err
		}
		sig, err := p.stmts(f, s.Body)
		if err != nil {
			return signal{}, err
		}
		if ends, out := loopSignal(s.Label, sig); ends {
			return out, nil
		}
	}
	return signal{}, nil
}

// putElement gives the targets of FOREACH an element: several ones the fields of a row.
func (p *program) putElement(f *frame, targets []plpgsql.Target, e types.Datum, t *types.T) error {
	if len(targets) == 1 || t.Family != types.RecordFamily {
		return p.putRow(f, targets, []types.Datum{e}, []types.FieldDef{{Name: "element", Type: t}})
	}
	vals, ts := f.rowValues(e, t)
	cols := make([]types.FieldDef, len(vals))
	for i := range cols {
		cols[i].Type = ts[i]
	}
	return p.putRow(f, targets, vals, cols)
}

// eachOf returns what FOREACH gives its targets in turn.
func (p *program) eachOf(f *frame, s *plpgsql.ForEach, d types.Datum, t *types.T) ([]types.Datum, *types.T, error) {
	if d.IsNull() {
		return nil, nil, pgerr.New(pgerr.NullValueNotAllowed, "FOREACH expression must not be null")
	}
	if t.Elem == nil {
		return nil, nil, pgerr.New(pgerr.DatatypeMismatch, "FOREACH expression must yield an array, not type %s", types.FormatType(t))
	}
	arr := d.DecodeArray(f.c.Format)
	if n := len(arr.Dims); s.Slice > n {
		return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "slice dimension (%d) is out of the valid range 0..%d", s.Slice, n)
	}
	if to := p.targets[s.Targets[0].ID]; len(s.Targets) == 1 && len(to.path) == 0 && to.v.typ != nil {
		switch isArray := to.v.typ.BaseType().Elem != nil; {
		case s.Slice > 0 && !isArray:
			return nil, nil, pgerr.New(pgerr.DatatypeMismatch, "FOREACH ... SLICE loop variable must be of an array type")
		case s.Slice == 0 && isArray:
			return nil, nil, pgerr.New(pgerr.DatatypeMismatch, "FOREACH loop variable must not be of an array type")
		}
	}
	if s.Slice == 0 {
		return arr.Elems, t.Elem, nil
	}
	var list []types.Datum
	dims, size := arr.Dims[len(arr.Dims)-s.Slice:], 1
	for _, d := range dims {
		size *= int(d.Len)
	}
	for at := 0; at < len(arr.Elems); at += size {
		list = append(list, types.NewArrayDims(dims, arr.Elems[at:at+size]))
	}
	return list, t, nil
}
