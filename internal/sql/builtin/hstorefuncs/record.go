package hstorefuncs

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// recordFunctions turn rows into values, and fill rows from values.
func recordFunctions() []*call.Overload {
	return []*call.Overload{
		call.FnBind("hstore(record) hstore", bindFromRecord).NonStrict(),
		call.OpBind("anyelement #= hstore anyelement", bindPopulate).NonStrict(),
	}
}

// bindFromRecord makes a value of the fields of a row and their texts.
func bindFromRecord(b call.Binding) (call.EvalFunc, error) {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		var pairs []hstore.Pair
		if a[0].IsNull() {
			if b.Types[0].Fields() == nil {
				return types.Null, nil
			}
			for _, f := range b.Types[0].Fields() {
				pairs = append(pairs, hstore.Pair{Key: f.Name, Null: true})
			}
			return made(c, pairs)
		}
		names := b.Types[0].Fields()
		for i, f := range types.RecordFields(b.Types[0], a[0], c.Format) {
			p := hstore.Pair{Key: "f" + strconv.Itoa(i+1), Null: f.Datum.IsNull()}
			if i < len(names) {
				p.Key = names[i].Name
			}
			if !p.Null {
				p.Value = typeio.FormatDatum(f.Type, f.Datum, c.Format)
			}
			pairs = append(pairs, p)
		}
		return made(c, pairs)
	}, nil
}

// bindPopulate fills the fields of a row that a value has keys for.
func bindPopulate(b call.Binding) (call.EvalFunc, error) {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if b.Types[0].Family != types.RecordFamily {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "first argument must be a rowtype")
		}
		t := rowType(c, b.Types[0], a[0])
		switch {
		case t == nil:
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "could not determine row type for result of populate_record").
				WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.")
		case a[1].IsNull():
			return a[0], nil
		}
		base := arrayfuncs.BaseRow(c, t, a[0])
		if base != nil && hstore.Len(a[1].Str()) == 0 {
			return a[0], nil
		}
		row, err := populated(c, t, base, a[1])
		if err != nil {
			return types.Null, err
		}
		d := types.NewRecord(arrayfuncs.FieldTypes(t), row)
		return d, types.CheckField(c.Format, b.Types[0], d)
	}, nil
}

// rowType returns the type of the rows that a call makes, nil if it is not known: that of the record argument if the call does
// not tell, whose fields are called f1, f2 and so on.
func rowType(c *call.Context, t *types.T, d types.Datum) *types.T {
	if t.Fields() != nil {
		return t
	}
	if d.IsNull() {
		return nil
	}
	var fields []types.FieldDef
	for i, f := range types.RecordFields(t, d, c.Format) {
		fields = append(fields, types.FieldDef{Name: "f" + strconv.Itoa(i+1), Type: f.Type})
	}
	return types.NewRowType(fields)
}

// populated returns the fields of t: those of base where the value has no key, unless that is nil.
func populated(c *call.Context, t *types.T, base []types.Datum, value types.Datum) ([]types.Datum, error) {
	row := make([]types.Datum, len(t.Fields()))
	for i, f := range t.Fields() {
		p, ok := hstore.Get(value.Str(), f.Name)
		if !ok && base != nil {
			row[i] = base[i]
			continue
		}
		if ok && !p.Null {
			var err error
			if row[i], err = typeio.ParseText(f.Type, p.Value, c.Format); err != nil {
				return nil, err
			}
		}
		if err := types.CheckField(c.Format, f.Type, row[i]); err != nil {
			return nil, err
		}
	}
	return row, nil
}
