package routine

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// result is what a call returns: a value, or rows.
type result struct {
	f *frame
	// cols are the types of the columns of a row, one for a function that returns single values.
	cols []*types.T
	// whole is the type of the row as one value, nil for single values.
	whole *types.T
	d     types.Datum
	set   bool
	rows  [][]types.Datum
	bytes int64
	asRow bool // rows are one value each
}

// init determines what the function returns.
func (o *result) init(f *frame, rc *call.RoutineCall) {
	o.f, o.set = f, f.def.Set
	ret := f.concrete(f.def.Returns)
	out := f.def.Outputs()
	switch {
	case rc != nil && rc.Row != nil:
		o.whole, o.set = rc.Row, true
	case len(out) > 1 || len(out) == 1 && f.def.Procedure:
		o.whole = f.outputRow(out)
	case ret.Family == types.RecordFamily:
		o.whole, o.asRow = ret, true
	}
	if o.whole == nil {
		o.cols = []*types.T{ret}
		return
	}
	for _, c := range o.whole.Fields() {
		o.cols = append(o.cols, c.Type)
	}
}

// concrete returns what a polymorphic type is in this call.
func (f *frame) concrete(t *types.T) *types.T {
	if t.Family != types.AnyFamily || t.Oid == types.Void.Oid || t.Oid == types.Trigger.Oid {
		return t
	}
	for i, p := range f.def.Inputs() {
		if p.Type.Family != types.AnyFamily {
			continue
		}
		if p.Type.Oid == t.Oid {
			return f.args[i]
		}
		elem := elementOf(p.Type, f.args[i])
		if elem == nil {
			continue
		}
		if t.Oid == types.AnyArray.Oid || t.Name == "anycompatiblearray" {
			if a, ok := types.ArrayOf(elem); ok {
				return a
			}
		}
		return elem
	}
	return t
}

// elementOf is what anyelement is where an argument of a polymorphic type has the type t; nil if that does not tell.
func elementOf(declared, t *types.T) *types.T {
	base := t.BaseType()
	switch declared.Name {
	case "anyarray", "anycompatiblearray":
		return base.Elem
	case "anyrange", "anycompatiblerange":
		return base.Sub
	case "anymultirange", "anycompatiblemultirange":
		if base.Sub != nil {
			return base.Sub.Sub
		}
		return nil
	}
	return t
}

func (f *frame) outputRow(out []catalog.RoutineParam) *types.T {
	fields := make([]types.FieldDef, len(out))
	for i, p := range out {
		fields[i] = types.FieldDef{Name: p.Name, Type: f.concrete(p.Type)}
	}
	return types.NewRowType(fields)
}

// add appends a row of a set, whose values have the types from.
func (o *result) add(vals []types.Datum, from []*types.T) error {
	row := make([]types.Datum, len(vals))
	for i := range vals {
		to := from[i]
		if i < len(o.cols) {
			to = o.cols[i]
		}
		var err error
		if row[i], err = convert(o.f.c.Format, vals[i], from[i], to); err != nil {
			return err
		}
		row[i] = row[i].Clone()
		o.bytes += int64(len(row[i].Str())) + datumBytes
	}
	if o.asRow || o.whole == nil && len(row) > 1 {
		d, err := makeRow(o.f.c.Format, row, o.cols, o.whole)
		if err != nil {
			return err
		}
		row = []types.Datum{d}
	}
	o.rows = append(o.rows, row)
	return o.f.c.Reserved(o.bytes)
}

// datumBytes is about what a datum of a row that is kept takes.
const datumBytes = 48

// value returns the value of a function that returns no set.
func (o *result) value() (types.Datum, error) { return o.d, nil }

// setRow makes a row the value.
func (o *result) setRow(vals []types.Datum, from []*types.T) (err error) {
	if o.whole == nil {
		o.d, err = convert(o.f.c.Format, vals[0], from[0], o.cols[0])
		return err
	}
	if len(vals) == 1 && from[0].Family == types.RecordFamily && len(o.cols) != 1 {
		o.d, err = convert(o.f.c.Format, vals[0], from[0], o.whole)
		return err
	}
	o.d, err = makeRow(o.f.c.Format, vals, from, o.whole)
	return err
}

// only makes a row the value, or the only row where the caller takes rows.
func (o *result) only(vals []types.Datum, from []*types.T) error {
	if o.set {
		return o.addRow(vals, from)
	}
	return o.setRow(vals, from)
}

// sameStructure refuses a row with other columns than the result has.
func (o *result) sameStructure(t *types.T, d types.Datum) error {
	if o.whole == nil || o.whole.Fields() == nil || t.Oid == o.whole.Oid && t.Oid != types.Record.Oid {
		return nil
	}
	bad := pgerr.New(pgerr.DatatypeMismatch, "returned record type does not match expected record type")
	have := types.RecordFields(t, d, o.f.c.Format)
	if len(have) != len(o.cols) {
		return bad.WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(have), len(o.cols))
	}
	for i := range have {
		if have[i].Type.BaseType().Oid != o.cols[i].BaseType().Oid {
			return bad.WithDetail("Returned type %s does not match expected type %s in column %d.",
				types.FormatType(have[i].Type), types.FormatType(o.cols[i]), i+1)
		}
	}
	return nil
}

// checkColumns returns 42P13 if rows of a last statement can't be the result.
func (o *result) checkColumns(have []*types.T) error {
	declared := types.FormatType(o.f.concrete(o.f.def.Returns))
	bad := pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", declared)
	if o.whole != nil && o.whole.Fields() == nil { // any record
		return nil
	}
	if o.whole != nil && len(have) == 1 && have[0].Family == types.RecordFamily && len(o.cols) != 1 {
		return nil
	}
	if o.whole == nil && len(have) != 1 {
		return bad.WithDetail("Final statement must return exactly one column.")
	}
	if len(have) > len(o.cols) {
		return bad.WithDetail("Final statement returns too many columns.")
	}
	if len(have) < len(o.cols) {
		return bad.WithDetail("Final statement returns too few columns.")
	}
	for i := range have {
		if !assignable(have[i], o.cols[i]) {
			if o.whole == nil {
				return bad.WithDetail("Actual return type is %s.", types.FormatType(have[i]))
			}
			return bad.WithDetail("Final statement returns %s instead of %s at column %d.", types.FormatType(have[i]), types.FormatType(o.cols[i]), i+1)
		}
	}
	return nil
}

func (o *result) close() { o.rows = nil }

// iterator yields the rows.
func (o *result) iterator() call.RowIterator { return &rowIterator{rows: o.rows} }

// rowIterator yields rows that are kept.
type rowIterator struct {
	rows [][]types.Datum
	at   int
}

// Next implements call.RowIterator.
func (it *rowIterator) Next() ([]types.Datum, bool, error) {
	if it.at >= len(it.rows) {
		return nil, false, nil
	}
	it.at++
	return it.rows[it.at-1], true, nil
}

// typesOf lists the types of fields.
func typesOf(fields []types.FieldDef) []*types.T {
	ts := make([]*types.T, len(fields))
	for i := range fields {
		ts[i] = fields[i].Type
	}
	return slices.Clip(ts)
}
