package arrayfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fieldAssignments declares what an assignment to a field of a record calls: it takes the old record
// and returns the new one.
func fieldAssignments() []*call.Overload {
	set := call.FnBind("lichen_set_field(record,int4,any) record", bindSetField).NonStrict()
	set.RetType = func(args []*types.T) *types.T { return args[0] }
	return []*call.Overload{set}
}

func bindSetField(b call.Binding) (call.EvalFunc, error) {
	ts := FieldTypes(b.Types[0])
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		row := BaseRow(c, b.Types[0], a[0])
		if row == nil {
			row = make([]types.Datum, len(ts))
		}
		i := a[1].Int()
		if i < 0 || i >= int64(len(row)) || len(row) != len(ts) {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "record has no field %d", i+1)
		}
		row[i] = a[2]
		return types.NewRecord(ts, row), nil
	}, nil
}

// FieldTypes returns the types of the fields of a record type.
func FieldTypes(t *types.T) []*types.T {
	var ts []*types.T
	for _, f := range t.Fields() {
		ts = append(ts, f.Type)
	}
	return ts
}

// BaseRow returns the fields of the record that gives defaults, nil for none.
func BaseRow(c *call.Context, t *types.T, d types.Datum) []types.Datum {
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
