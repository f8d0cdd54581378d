package exec

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// projectSetOp calls set-returning functions for each row of its input.
type projectSetOp struct {
	run        *operator.Run
	src        *operator.Source
	funcs      []setFunc
	keep       []int // input columns that are output
	ordinality bool
	text       rowcontainer.Scratch

	row types.Row // input row at hand, nil when the next is due
	ord int64
}

// setFunc is one set-returning call.
type setFunc struct {
	fn     *call.Overload
	args   []expr.Func
	vals   types.Row
	start  call.SRFFunc
	iter   call.RowIterator // nil when exhausted
	at, n  int              // output columns
	spread bool             // VARIADIC array
	call   *plan.Call       // if spread
	// fields are those of the composite values that are results, if each is to be its
	// fields; of an anonymous record only the values know their types.
	fields               []types.FieldDef
	composite, anonymous bool
}

func (c *compiler) projectSet(n *plan.ProjectSet) (operator.Operator, error) {
	src, s, err := c.Input(n.Input)
	if err != nil {
		return nil, err
	}
	p := &projectSetOp{run: c.Run, src: src, ordinality: n.Ordinality.ID != 0}
	at := len(n.Cols)
	if p.ordinality {
		at--
	}
	for i := range n.Funcs {
		at -= len(n.Funcs[i].Out)
	}
	for _, col := range n.Cols[:at] {
		p.keep = append(p.keep, s.Find(col.ID))
	}
	if _, err := s.Positions(plan.IDs(n.Cols[:at])); err != nil {
		return nil, err
	}
	for i := range n.Funcs {
		f, err := c.setFunc(&n.Funcs[i], s)
		if err != nil {
			return nil, err
		}
		f.at, f.n = at, len(n.Funcs[i].Out)
		at += f.n
		p.funcs = append(p.funcs, f)
	}
	return p, nil
}

func (c *compiler) setFunc(n *plan.SetFunc, s expr.Scope) (setFunc, error) {
	f := setFunc{fn: n.Call.Fn, spread: n.Call.VariadicArray}
	if f.composite = n.Spread; f.composite {
		f.fields, f.anonymous = n.Call.T.Fields(), n.Call.T.Oid == types.Record.Oid
	}
	var err error
	if f.args, err = c.Exprs(n.Call.Args, s); err != nil {
		return f, err
	}
	f.vals = make(types.Row, len(f.args))
	if f.spread {
		f.call = n.Call // bound when the number of arguments is known
		return f, nil
	}
	f.start, err = n.Call.Fn.BoundSRF(expr.BindingOf(n.Call.Args))
	return f, err
}

// begin starts the call for an input row; a strict call with a NULL yields
// nothing.
func (f *setFunc) begin(r *operator.Run, row types.Row) error {
	f.iter = nil
	f.vals = f.vals[:0]
	null := false
	for i, a := range f.args {
		d, err := a(row)
		if err != nil {
			return err
		}
		null = null || d.IsNull()
		if f.spread && i == len(f.args)-1 {
			for _, x := range d.ArrayElems() {
				if err := r.Tick(); err != nil {
					return err
				}
				f.vals = append(f.vals, x)
			}
			continue
		}
		f.vals = append(f.vals, d)
	}
	if null && f.fn.Strict {
		return nil
	}
	var err error
	if f.spread {
		if f.start, err = f.fn.BoundSRF(expr.SpreadBinding(f.call, len(f.vals))); err != nil {
			return err
		}
	}
	if size := expr.SizeOf(f.vals); call.Weighty(size) {
		if err := r.Builtin.Begin(f.vals, size); err != nil {
			return err
		}
	}
	f.iter, err = f.start(r.Builtin, f.vals)
	_, err = r.Builtin.Made(types.Null, err, nil)
	return err
}

// step puts the next result into out, or NULLs at the end.
func (f *setFunc) step(text *rowcontainer.Scratch, out types.Row) (bool, error) {
	clear(out)
	if f.iter == nil {
		return false, nil
	}
	vals, ok, err := f.iter.Next()
	if err != nil {
		return false, err
	}
	if !ok {
		f.iter = nil
		return false, nil
	}
	if f.composite {
		return true, f.spreadValue(vals[0], out)
	}
	for i := range out {
		if i < len(vals) {
			out[i] = text.Datum(vals[i])
		}
	}
	return true, nil
}

// spreadValue puts the fields of a composite value into out.
func (f *setFunc) spreadValue(d types.Datum, out types.Row) error {
	if d.IsNull() {
		return nil
	}
	fields := d.Record()
	if len(fields) != len(out) {
		return errRowMismatch().WithDetail("Returned row contains %d attributes, but query expects %d.", len(fields), len(out))
	}
	for i := range fields {
		if want := f.fields[i].Type; f.anonymous && fields[i].TypeOid() != want.Shown().Oid {
			return errRowMismatch().WithDetail("Returned type %s at ordinal position %d, but query expects %s.",
				fields[i].Type.SQLName, i+1, want.Shown().SQLName)
		}
		out[i] = fields[i].Datum
	}
	return nil
}

func errRowMismatch() *pgerr.Error {
	return pgerr.New(pgerr.DatatypeMismatch, "function return row and query-specified return row do not match")
}

func (p *projectSetOp) Open() error {
	p.row = nil
	return p.src.Start()
}

func (p *projectSetOp) Close() {
	p.src.Stop()
	for i := range p.funcs {
		p.funcs[i].iter = nil
	}
}

func (p *projectSetOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	p.text.Reset()
	for !b.Full() {
		if p.row == nil {
			if b.Len() > 0 && p.src.Pos >= p.src.Batch.Len() {
				return nil // its rows live in the input's batch
			}
			row, err := p.src.Row(rowcontainer.BatchRows)
			if row == nil || err != nil {
				return err
			}
			for i := range p.funcs {
				if err := p.funcs[i].begin(p.run, row); err != nil {
					return b.StopAt(b.Len(), err)
				}
			}
			p.row, p.ord = row, 0
		}
		if err := p.emit(b); err != nil {
			return b.StopAt(b.Len()-1, err)
		}
		if err := p.run.Tick(); err != nil {
			return err
		}
	}
	return nil
}

// emit adds the next row of the functions' results, if there is one.
func (p *projectSetOp) emit(b *rowcontainer.Batch) error {
	out := b.Add()
	any := false
	for i := range p.funcs {
		f := &p.funcs[i]
		ok, err := f.step(&p.text, out[f.at:f.at+f.n])
		if err == nil {
			err = p.run.Builtin.Stopped()
		}
		if err != nil {
			return err
		}
		any = any || ok
	}
	if !any {
		p.row = nil
		b.DropLast()
		return nil
	}
	rowcontainer.CopySlots(out, p.row, p.keep)
	if p.ordinality {
		p.ord++
		out[len(out)-1] = types.NewInt(p.ord)
	}
	return nil
}
