package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// jsonRecordFunctions declares the functions that make rows of json.
func jsonRecordFunctions() []*Overload {
	var all []*Overload
	for _, t := range []string{"json", "jsonb"} {
		raw := t == "json"
		one := fnBind(t+"_populate_record(anyelement,"+t+") anyelement", bindPopulate(t, raw)).nonStrict().stable()
		set := srf(t+"_populate_recordset(anyelement,"+t+") setof anyelement", nil).nonStrict().stable()
		if raw {
			one = fnBind("json_populate_record(anyelement,json,bool) anyelement", bindPopulate(t, raw)).nonStrict().stable().defaults(types.False)
			set = srf("json_populate_recordset(anyelement,json,bool) setof anyelement", nil).nonStrict().stable().defaults(types.False)
		}
		set.bindSRF = bindPopulateSet(t, raw)
		toRecord := srf(t+"_to_record("+t+") record", nil).stable().one()
		toRecord.recordSRF = func(rt *types.T) SRFFunc {
			return func(c *Context, a []types.Datum) (RowIterator, error) {
				row, err := populateRow(c, rt, nil, newJSONPart(a[0], raw), t+"_to_record")
				if err != nil {
					return nil, err
				}
				return &tableRows{rows: [][]types.Datum{row}}, nil
			}
		}
		toSet := srf(t+"_to_recordset("+t+") setof record", nil).stable()
		toSet.recordSRF = func(rt *types.T) SRFFunc {
			return func(c *Context, a []types.Datum) (RowIterator, error) {
				rows, err := populateRows(c, rt, nil, newJSONPart(a[0], raw), t+"_to_recordset")
				return &tableRows{rows: rows}, err
			}
		}
		all = append(all, one, set, toRecord, toSet)
	}
	return all
}

func errNotComposite(name string) error {
	return pgerr.New(pgerr.DatatypeMismatch, "first argument of %s must be a row type", name)
}

func bindPopulate(t string, raw bool) BindFunc {
	return func(b Binding) (EvalFunc, error) {
		rt := b.Types[0]
		if rt.Fields() == nil {
			return nil, errNotComposite(t + "_populate_record")
		}
		return func(c *Context, a []types.Datum) (types.Datum, error) {
			if a[1].IsNull() {
				return a[0], nil
			}
			row, err := populateRow(c, rt, baseRow(c, rt, a[0]), newJSONPart(a[1], raw), "populate_composite")
			if err != nil {
				return types.Null, err
			}
			return types.NewRecord(fieldTypes(rt), row), nil
		}, nil
	}
}

func bindPopulateSet(t string, raw bool) func(Binding) (SRFFunc, error) {
	return func(b Binding) (SRFFunc, error) {
		rt := b.Types[0]
		if rt.Fields() == nil {
			return nil, errNotComposite(t + "_populate_recordset")
		}
		return func(c *Context, a []types.Datum) (RowIterator, error) {
			if a[1].IsNull() {
				return newSliceRows(nil), nil
			}
			rows, err := populateRows(c, rt, baseRow(c, rt, a[0]), newJSONPart(a[1], raw), t+"_populate_recordset")
			if err != nil {
				return nil, err
			}
			ts := fieldTypes(rt)
			values := make([]types.Datum, len(rows))
			for i := range rows {
				values[i] = types.NewRecord(ts, rows[i])
			}
			return newSliceRows(values), nil
		}, nil
	}
}

func fieldTypes(t *types.T) []*types.T {
	var ts []*types.T
	for _, f := range t.Fields() {
		ts = append(ts, f.Type)
	}
	return ts
}

// baseRow returns the fields of the record that gives defaults, nil for none.
func baseRow(c *Context, t *types.T, d types.Datum) []types.Datum {
	if d.IsNull() {
		return nil
	}
	var row []types.Datum
	for _, f := range types.RecordFields(t, d, c.Format) {
		row = append(row, f.Datum)
	}
	if len(row) != len(t.Fields()) {
		return nil
	}
	return row
}

func populateRows(c *Context, t *types.T, base []types.Datum, p jsonPart, name string) ([][]types.Datum, error) {
	kind, ms, err := p.members()
	if err != nil {
		return nil, err
	}
	switch kind {
	case types.KindArray:
	case types.KindObject:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on an object", name)
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", name)
	}
	var rows [][]types.Datum
	for _, m := range ms {
		if m.value.kind() != types.KindObject {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", name)
		}
		row, err := populateRow(c, t, base, m.value, name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (p jsonPart) kind() types.JSONKind {
	if p.isRaw {
		return types.RawJSONKind(p.raw)
	}
	return p.parsed.Kind
}

// populateRow makes the fields of t of the members of an object.
func populateRow(c *Context, t *types.T, base []types.Datum, p jsonPart, name string) ([]types.Datum, error) {
	switch p.kind() {
	case types.KindObject:
	case types.KindArray:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on an array", name)
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", name)
	}
	row := make([]types.Datum, len(t.Fields()))
	for i, f := range t.Fields() {
		v, ok := p.field(f.Name)
		if !ok && base != nil {
			row[i] = base[i]
			continue
		}
		if ok {
			var err error
			if row[i], err = populateValue(c, f.Type, v, f.Name); err != nil {
				return nil, err
			}
		}
		if err := types.CheckField(c.Format, f.Type, row[i]); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// populateValue makes a value of type t of JSON.
func populateValue(c *Context, t *types.T, p jsonPart, key string) (types.Datum, error) {
	kind := p.kind()
	if kind == types.KindNull {
		return types.Null, nil
	}
	switch t.Family {
	case types.JSONFamily:
		if t.Oid == types.JSON.Oid && p.isRaw {
			return types.NewJSON(p.raw), nil
		}
		s := p.raw
		if !p.isRaw {
			s = string(types.AppendJSON(nil, p.parsed))
		}
		return types.ParseText(t, s, c.Format)
	case types.ArrayFamily:
		if kind == types.KindArray {
			return populateArray(c, t, p, key)
		}
		if kind != types.KindString {
			return types.Null, errExpectedArray(key)
		}
	case types.RecordFamily:
		if kind == types.KindObject && t.Fields() != nil {
			row, err := populateRow(c, t, nil, p, "populate_composite")
			if err != nil {
				return types.Null, err
			}
			return types.NewRecord(fieldTypes(t), row), nil
		}
	}
	d := p.datum(true)
	return types.ParseText(t, d.Str(), c.Format)
}

func errExpectedArray(key string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array").WithHint("See the value of key \"%s\".", key)
}

// populateArray makes an array of nested JSON arrays of one shape.
func populateArray(c *Context, t *types.T, p jsonPart, key string) (types.Datum, error) {
	var dims []types.ArrayDim
	var elems []types.Datum
	elem := t.Elem.WithTypmod(t.Typmod)
	var walk func(p jsonPart, depth int) error
	walk = func(p jsonPart, depth int) error {
		kind, ms, err := p.members()
		if err != nil {
			return err
		}
		if kind != types.KindArray {
			return errExpectedArray(key)
		}
		if depth == len(dims) {
			if depth == types.MaxArrayDims {
				return pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", depth+1, types.MaxArrayDims)
			}
			dims = append(dims, types.ArrayDim{Len: int32(len(ms)), Lower: 1})
		} else if int(dims[depth].Len) != len(ms) {
			return pgerr.New(pgerr.InvalidTextRepresentation, "malformed JSON array").
				WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
		}
		for i, m := range ms {
			nested := m.value.kind() == types.KindArray && elem.Family != types.JSONFamily
			if nested && i == 0 || depth+1 < len(dims) {
				if err := walk(m.value, depth+1); err != nil {
					return err
				}
				continue
			}
			d, err := populateValue(c, elem, m.value, key)
			if err != nil {
				return err
			}
			elems = append(elems, d)
		}
		return nil
	}
	if err := walk(p, 0); err != nil {
		return types.Null, err
	}
	if len(elems) == 0 {
		dims = nil
	}
	return types.NewArrayDims(dims, elems), nil
}

// WithColumns returns a function that returns records as one with the columns
// that a column definition list names; false if the function has its own.
func (o *Overload) WithColumns(names []string, ts []*types.T) (*Overload, bool) {
	if o.recordSRF == nil {
		return nil, false
	}
	var fields []types.FieldDef
	for i, n := range names {
		fields = append(fields, types.FieldDef{Name: n, Type: ts[i]})
	}
	c := *o
	c.OutNames, c.OutTypes = names, ts
	c.SRF = o.recordSRF(types.NewRowType(fields))
	return &c, true
}

// NeedsColumns reports whether a call of o needs a column definition list.
func (o *Overload) NeedsColumns() bool { return o.recordSRF != nil && len(o.OutTypes) == 0 }
