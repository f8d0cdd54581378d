package jsonfuncs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// jsonRecordFunctions declares the functions that make rows of json.
func jsonRecordFunctions() []*call.Overload {
	var all []*call.Overload
	for _, t := range []string{"json", "jsonb"} {
		raw := t == "json"
		one := call.FnBind(t+"_populate_record(anyelement,"+t+") anyelement", bindPopulate(t, raw)).NonStrict().Stable()
		set := call.SRF(t+"_populate_recordset(anyelement,"+t+") setof anyelement", nil).NonStrict().Stable()
		if raw {
			one = call.FnBind("json_populate_record(anyelement,json,bool) anyelement", bindPopulate(t, raw)).NonStrict().Stable().WithDefaults(types.False)
			set = call.SRF("json_populate_recordset(anyelement,json,bool) setof anyelement", nil).NonStrict().Stable().WithDefaults(types.False)
		}
		set.BindSRF = bindPopulateSet(t, raw)
		one.ListSRF, set.ListSRF = populateListed(raw, false, t+"_populate_record"), populateListed(raw, true, t+"_populate_recordset")
		toRecord := call.SRF(t+"_to_record("+t+") record", nil).Stable().AtMostOneRow()
		toRecord.RecordSRF = func(rt *types.T) call.SRFFunc {
			return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
				row, err := populateRow(c, rt, nil, newJSONPart(c, a[0], raw))
				if err != nil {
					return nil, err
				}
				return call.NewRows([][]types.Datum{row}), nil
			}
		}
		toSet := call.SRF(t+"_to_recordset("+t+") setof record", nil).Stable()
		toSet.RecordSRF = func(rt *types.T) call.SRFFunc {
			return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
				rows, err := populateRows(c, rt, nil, newJSONPart(c, a[0], raw), t+"_to_recordset")
				return call.NewRows(rows), err
			}
		}
		all = append(all, one, set, toRecord, toSet)
	}
	return all
}

// errNotComposite is found when the call is computed, as in PostgreSQL: for no row it is none.
func errNotComposite(name string) error {
	return pgerr.New(pgerr.DatatypeMismatch, "first argument of %s must be a row type", name)
}

func errNoRowType(name string) error {
	return pgerr.New(pgerr.FeatureNotSupported, "could not determine row type for result of %s", name).
		WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.")
}

// rowTypeOf returns the type of the rows that a call makes: that of the record argument if
// the call does not tell, whose fields are called f1, f2 and so on.
func rowTypeOf(c *call.Context, t *types.T, d types.Datum, name string) (*types.T, error) {
	if t.Fields() != nil {
		return t, nil
	}
	if d.IsNull() {
		return nil, errNoRowType(name)
	}
	var fields []types.FieldDef
	for i, f := range types.RecordFields(t, d, c.Format) {
		fields = append(fields, types.FieldDef{Name: "f" + strconv.Itoa(i+1), Type: f.Type})
	}
	return types.NewRowType(fields), nil
}

func bindPopulate(t string, raw bool) call.BindFunc {
	name := t + "_populate_record"
	return func(b call.Binding) (call.EvalFunc, error) {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if b.Types[0].Family != types.RecordFamily {
				return types.Null, errNotComposite(name)
			}
			rt, err := rowTypeOf(c, b.Types[0], a[0], name)
			if err != nil || a[1].IsNull() {
				return a[0], err
			}
			row, err := populateRow(c, rt, arrayfuncs.BaseRow(c, rt, a[0]), newJSONPart(c, a[1], raw))
			if err != nil {
				return types.Null, err
			}
			d := types.NewRecord(arrayfuncs.FieldTypes(rt), row)
			return d, types.CheckField(c.Format, b.Types[0], d)
		}, nil
	}
}

func bindPopulateSet(t string, raw bool) func(call.Binding) (call.SRFFunc, error) {
	name := t + "_populate_recordset"
	return func(b call.Binding) (call.SRFFunc, error) {
		return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			if b.Types[0].Family != types.RecordFamily {
				return nil, errNotComposite(name)
			}
			if a[1].IsNull() {
				return call.NewColumn(nil), nil
			}
			rt, err := rowTypeOf(c, b.Types[0], a[0], name)
			if err != nil {
				return nil, err
			}
			rows, err := populateRows(c, rt, arrayfuncs.BaseRow(c, rt, a[0]), newJSONPart(c, a[1], raw), name)
			if err != nil {
				return nil, err
			}
			ts := arrayfuncs.FieldTypes(rt)
			values := make([]types.Datum, len(rows))
			for i := range rows {
				values[i] = types.NewRecord(ts, rows[i])
				if err := types.CheckField(c.Format, b.Types[0], values[i]); err != nil {
					return nil, err
				}
			}
			return call.NewColumn(values), nil
		}, nil
	}
}

// populateListed makes the rows of a call that a column definition list describes; list is
// their type. A record argument says what they are, and has to be alike.
func populateListed(raw, set bool, name string) func(list *types.T) call.SRFFunc {
	return func(list *types.T) call.SRFFunc {
		return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			rt := list
			if !a[0].IsNull() {
				var err error
				if rt, err = rowTypeOf(c, types.Record, a[0], name); err != nil {
					return nil, err
				}
				if err := sameRow(rt, list); err != nil {
					return nil, err
				}
			}
			base := arrayfuncs.BaseRow(c, rt, a[0])
			switch {
			case a[1].IsNull() && set:
				return call.NewRows(nil), nil
			case a[1].IsNull() && base == nil:
				return call.NewRows([][]types.Datum{make([]types.Datum, len(list.Fields()))}), nil
			case a[1].IsNull():
				return call.NewRows([][]types.Datum{base}), nil
			case set:
				rows, err := populateRows(c, rt, base, newJSONPart(c, a[1], raw), name)
				return call.NewRows(rows), err
			}
			row, err := populateRow(c, rt, base, newJSONPart(c, a[1], raw))
			return call.NewRows([][]types.Datum{row}), err
		}
	}
}

// sameRow fails if the columns of rows are not what a column definition list says.
func sameRow(t, list *types.T) error {
	err := pgerr.New(pgerr.DatatypeMismatch, "function return row and query-specified return row do not match")
	have, want := t.Fields(), list.Fields()
	if len(have) != len(want) {
		attributes := "attributes"
		if len(have) == 1 {
			attributes = "attribute"
		}
		return err.WithDetail("Returned row contains %d %s, but query expects %d.", len(have), attributes, len(want))
	}
	for i := range have {
		if h, w := have[i].Type, want[i].Type; !h.Is(w) {
			return err.WithDetail("Returned type %s at ordinal position %d, but query expects %s.", types.FormatType(h), i+1, types.FormatType(w))
		}
	}
	return nil
}

func populateRows(c *call.Context, t *types.T, base []types.Datum, p jsonPart, name string) ([][]types.Datum, error) {
	ms, err := p.members()
	if err != nil {
		return nil, err
	}
	switch {
	case ms.kind == types.KindArray:
	case !p.isRaw:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", name)
	case ms.kind == types.KindObject:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on an object", name)
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", name)
	}
	var rows [][]types.Datum
	for i := range ms.len() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		m := ms.at(i)
		if m.value.kind() != types.KindObject {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", name)
		}
		row, err := populateRow(c, t, base, m.value)
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

// populateRow makes the fields of t of the members of an object. Its errors name the step that all
// functions take, as PostgreSQL's do.
func populateRow(c *call.Context, t *types.T, base []types.Datum, p jsonPart) ([]types.Datum, error) {
	switch p.kind() {
	case types.KindObject:
	case types.KindArray:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on an array")
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on a scalar")
	}
	row := make([]types.Datum, len(t.Fields()))
	for i, f := range t.Fields() {
		v, ok := p.field(f.Name)
		if !ok && base != nil {
			row[i] = base[i]
			continue
		}
		if ok {
			was := types.Null
			if base != nil {
				was = base[i]
			}
			var err error
			if row[i], err = populateValue(c, f.Type, was, v, f.Name); err != nil {
				return nil, err
			}
		}
		if err := types.CheckField(c.Format, f.Type, row[i]); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// populateValue makes a value of type t of JSON. The fields of a row that JSON does not have are those
// of base.
func populateValue(c *call.Context, t *types.T, base types.Datum, p jsonPart, key string) (types.Datum, error) {
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
			s = string(types.AppendJSON(nil, p.parsed, c.Format))
		}
		return typeio.ParseText(t, s, c.Format)
	case types.ArrayFamily:
		if kind == types.KindArray {
			return populateArray(c, t, p, key)
		}
		if kind != types.KindString {
			return types.Null, errExpectedArray(key, nil)
		}
	case types.RecordFamily:
		if kind != types.KindString && t.Fields() != nil {
			row, err := populateRow(c, t, arrayfuncs.BaseRow(c, t, base), p)
			if err != nil {
				return types.Null, err
			}
			return types.NewRecord(arrayfuncs.FieldTypes(t), row), nil
		}
	}
	d := p.datum(true)
	return typeio.ParseText(t, d.Str(), c.Format)
}

// errExpectedArray says which element of a key's value is no array; without indexes the value is none.
func errExpectedArray(key string, indexes []int) error {
	err := pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array")
	if len(indexes) == 0 {
		return err.WithHint("See the value of key \"%s\".", key)
	}
	var at strings.Builder
	for _, i := range indexes {
		fmt.Fprintf(&at, "[%d]", i)
	}
	return err.WithHint("See the array element %s of key \"%s\".", at.String(), key)
}

// populateArray makes an array of nested JSON arrays of one shape.
func populateArray(c *call.Context, t *types.T, p jsonPart, key string) (types.Datum, error) {
	var dims []types.ArrayDim
	var elems []types.Datum
	elem := t.Elem.WithTypmod(t.Typmod)
	var indexes []int // of the element that is walked
	var walk func(p jsonPart, depth int) error
	walk = func(p jsonPart, depth int) error {
		ms, err := p.members()
		if err != nil {
			return err
		}
		if ms.kind != types.KindArray {
			return errExpectedArray(key, indexes)
		}
		if depth == len(dims) {
			if depth == types.MaxArrayDims {
				return types.TooManyDims(depth + 1)
			}
			dims = append(dims, types.ArrayDim{Len: int32(ms.len()), Lower: 1})
		}
		for i := range ms.len() {
			if err := c.Step(1); err != nil {
				return err
			}
			m := ms.at(i)
			nested := m.value.kind() == types.KindArray && elem.Family != types.JSONFamily
			if nested && i == 0 || depth+1 < len(dims) {
				indexes = append(indexes, i)
				if err := walk(m.value, depth+1); err != nil {
					return err
				}
				indexes = indexes[:depth]
				continue
			}
			d, err := populateValue(c, elem, types.Null, m.value, key)
			if err != nil {
				return err
			}
			elems = append(elems, d)
		}
		if int(dims[depth].Len) != ms.len() {
			return pgerr.New(pgerr.InvalidTextRepresentation, "malformed JSON array").
				WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
		}
		return nil
	}
	if err := walk(p, 0); err != nil {
		return types.Null, err
	}
	if len(elems) == 0 {
		dims = nil
	}
	return types.EncodeArray(dims, elems, c.Format), nil
}
