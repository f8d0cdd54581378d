package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fieldAssignments declares what an assignment to a field of a record calls: it takes the old record
// and returns the new one.
func fieldAssignments() []*Overload {
	set := fnBind("lichen_set_field(record,int4,any) record", bindSetField).nonStrict()
	set.RetType = func(args []*types.T) *types.T { return args[0] }
	return []*Overload{set}
}

func bindSetField(b Binding) (EvalFunc, error) {
	ts := fieldTypes(b.Types[0])
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		row := baseRow(c, b.Types[0], a[0])
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
