package routine

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

func (p *program) assign(f *frame, s *plpgsql.Assign) error {
	to, q := &p.targets[s.Target.ID], p.exprs[s.Value.ID]
	if len(to.path) == 0 && to.v.plain && q.ready(f) && q.typ.Oid == to.v.typ.Oid {
		return q.evaluateInto(f, &f.params[to.v.slot])
	}
	d, t, err := q.value(f)
	if err != nil {
		return err
	}
	if to.v.typ != nil && to.v.typ.Family == types.RecordFamily && t.Family != types.RecordFamily && len(to.path) == 0 {
		// Here, and nowhere else, a text may be that of a row.
		if d, err = convert(f.c.Format, d.Clone(), t, to.v.typ); err != nil {
			return err
		}
		t = valueType(to.v.typ)
	}
	return q.converted(p.putAt(f, to, d, t))
}

// put gives a target a value.
func (p *program) put(f *frame, t *plpgsql.Target, d types.Datum, from *types.T) error {
	return p.putAt(f, &p.targets[t.ID], d, from)
}

// putAt gives a variable, or a part of one, a value.
func (p *program) putAt(f *frame, to *place, d types.Datum, from *types.T) error {
	if len(to.path) == 0 {
		return p.set(f, to.v, d.Clone(), from)
	}
	typ := p.typeIn(f, to.v)
	if to.v.typ == nil && f.records[to.v.slot] == nil {
		return unassigned(to.v)
	}
	a := assignment{p: p, f: f, v: to.v, value: d, from: from}
	if to.path[0].Field != "" && typ.Family == types.RecordFamily && typ.Domain() == nil {
		if row := f.apart(to.v, typ); row != nil {
			return a.ofRow(typ, row, to)
		}
	}
	whole, err := a.part(typ, f.value(to.v), to.path)
	if err != nil {
		return err
	}
	return p.set(f, to.v, whole, typ)
}

// assignment gives a part of a variable a value.
type assignment struct {
	p     *program
	f     *frame
	v     *variable
	value types.Datum
	from  *types.T
}

// part returns old, of type t, with the value at the end of a path.
func (a *assignment) part(t *types.T, old types.Datum, path []plpgsql.Step) (types.Datum, error) {
	base := t.BaseType()
	switch {
	case len(path) == 0:
		return convert(a.f.c.Format, a.value.Clone(), a.from, t)
	case path[0].Field != "":
		return a.field(base, old, path)
	case base.Oid == types.JSONB.Oid:
		return a.json(old, path)
	case base.Oid == types.Hstore.Oid:
		return types.Null, pgerr.Unsupported("assigning to a key of an hstore variable is not supported").WithHint("Assign the whole value: h := h || hstore(key, value).")
	case base.Elem == nil:
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", types.FormatType(base))
	}
	n := 0 // subscripts of this array
	for n < len(path) && path[n].Field == "" {
		n++
	}
	for i := range path[:n] {
		if path[i].Slice {
			return a.slice(base, old, path[:n], path[n:])
		}
	}
	return a.element(base, old, path[:n], path[n:])
}

// ofRow gives a field of the variable, which is taken apart into row, a value.
func (a *assignment) ofRow(t *types.T, row types.Row, to *place) error {
	if to.of != t {
		k, err := a.find(t, to.path[0].Field)
		if err != nil {
			return err
		}
		to.of, to.at = t, k
	}
	d, err := a.part(t.Fields()[to.at].Type, row[to.at], to.path[1:])
	if err != nil {
		return err
	}
	row[to.at], a.f.act.stale[a.v.slot] = d, true
	return nil
}

// find returns the position of a field.
func (a *assignment) find(t *types.T, name string) (int, error) {
	k := t.FieldByName(name)
	if k < 0 {
		return 0, pgerr.New(pgerr.UndefinedColumn, "record \"%s\" has no field \"%s\"", a.v.name, name)
	}
	return k, nil
}

// field gives a field of a row a value.
func (a *assignment) field(t *types.T, old types.Datum, path []plpgsql.Step) (types.Datum, error) {
	k, err := a.find(t, path[0].Field)
	if err != nil {
		return types.Null, err
	}
	vals, ts := a.f.rowValues(old, t)
	part, err := a.part(t.Fields()[k].Type, vals[k], path[1:])
	if err != nil {
		return types.Null, err
	}
	vals[k], ts[k] = part, t.Fields()[k].Type
	return makeRow(a.f.c.Format, vals, ts, t)
}

// subscript computes a subscript: NULL for one that is left out of a slice.
func (a *assignment) subscript(x *plpgsql.Expr) (types.Datum, error) {
	if x == nil {
		return types.Null, nil
	}
	d, t, err := a.p.eval(a.f, x)
	if err != nil {
		return types.Null, err
	}
	return convert(a.f.c.Format, d, t, types.Int4)
}

// call calls a function whose result is the new value.
func (a *assignment) call(name string, ts []*types.T, args []types.Datum) (types.Datum, error) {
	fn, err := builtin.ResolveFunction(name, ts)
	if err != nil {
		return types.Null, err
	}
	return fn.Call(a.f.c, ts, args)
}

// element gives an element of an array a value, or a part of it.
func (a *assignment) element(t *types.T, old types.Datum, subs, rest []plpgsql.Step) (types.Datum, error) {
	args, ts := []types.Datum{old, types.Null}, []*types.T{t, t.Elem}
	for i := range subs {
		at, err := a.subscript(subs[i].From)
		if err != nil {
			return types.Null, err
		}
		args, ts = append(args, at), append(ts, types.Int4)
	}
	before := types.Null
	if len(rest) > 0 {
		before = elementAt(old, args[2:], a.f.c.Format)
	}
	var err error
	if args[1], err = a.part(t.Elem, before, rest); err != nil {
		return types.Null, err
	}
	return a.call("lichen_set_element", ts, args)
}

// elementAt returns an element of an array, NULL if there is none.
func elementAt(d types.Datum, subs []types.Datum, fc *types.FormatContext) types.Datum {
	if d.IsNull() {
		return types.Null
	}
	arr := d.DecodeArray(fc)
	if len(arr.Dims) != len(subs) {
		return types.Null
	}
	pos := int64(0)
	for i, s := range subs {
		k := s.Int() - int64(arr.Dims[i].Lower)
		if s.IsNull() || k < 0 || k >= int64(arr.Dims[i].Len) {
			return types.Null
		}
		pos = pos*int64(arr.Dims[i].Len) + k
	}
	return arr.Elems[pos]
}

// slice gives a slice of an array the elements of another. A subscript among slices is a slice from 1.
func (a *assignment) slice(t *types.T, old types.Datum, subs, rest []plpgsql.Step) (types.Datum, error) {
	if len(rest) > 0 {
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "cannot assign to a field of a slice of an array")
	}
	source, err := a.part(t, types.Null, nil)
	if err != nil {
		return types.Null, err
	}
	args, ts := []types.Datum{old, source, types.Null}, []*types.T{t, t, types.Int8}
	given := int64(0)
	for i := range subs {
		bounds := [2]*plpgsql.Expr{subs[i].From, subs[i].To}
		if !subs[i].Slice {
			bounds = [2]*plpgsql.Expr{nil, subs[i].From}
		}
		for k, x := range bounds {
			d, err := a.subscript(x)
			if err != nil {
				return types.Null, err
			}
			if x != nil {
				given |= 1 << (2*i + k)
			} else if !subs[i].Slice {
				d, given = types.NewInt(1), given|1<<(2*i+k)
			}
			args, ts = append(args, d), append(ts, types.Int4)
		}
	}
	args[2] = types.NewInt(given)
	return a.call("lichen_set_slice", ts, args)
}

// json gives a subscript of a jsonb value a value.
func (a *assignment) json(old types.Datum, path []plpgsql.Step) (types.Datum, error) {
	v, err := a.part(types.JSONB, types.Null, nil)
	if err != nil {
		return types.Null, err
	}
	args, ts := []types.Datum{old, v}, []*types.T{types.JSONB, types.JSONB}
	for i := range path {
		if path[i].Slice || path[i].Field != "" {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		d, t, err := a.p.eval(a.f, path[i].From)
		if err != nil {
			return types.Null, err
		}
		if t.Oid == types.Unknown.Oid {
			t = types.Text
		}
		args, ts = append(args, d), append(ts, t)
	}
	return a.call("lichen_set_json", ts, args)
}
