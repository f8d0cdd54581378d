package catalogfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// limitFunctions are information_schema's, by which drivers and code generators learn what a
// type with a modifier can hold.
func limitFunctions() []*call.Overload {
	limit := func(name string, of func(types.Limits) int64) *call.Overload {
		return call.Fn(name+"(oid,int4) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			n := of(types.LimitsOf(uint32(a[0].Int()), int32(a[1].Int())))
			if n < 0 {
				return types.Null, nil
			}
			return types.NewInt(n), nil
		})
	}
	return []*call.Overload{
		trueType("_pg_truetypid", "oid", "typbasetype", "atttypid"),
		trueType("_pg_truetypmod", "int4", "typtypmod", "atttypmod"),
		limit("_pg_char_max_length", func(l types.Limits) int64 { return l.CharLength }),
		limit("_pg_char_octet_length", func(l types.Limits) int64 { return l.OctetLength }),
		limit("_pg_numeric_precision", func(l types.Limits) int64 { return l.Precision }),
		limit("_pg_numeric_precision_radix", func(l types.Limits) int64 { return l.Radix }),
		limit("_pg_numeric_scale", func(l types.Limits) int64 { return l.Scale }),
		limit("_pg_datetime_precision", func(l types.Limits) int64 { return l.TimePrecision }),
		call.Fn("_pg_interval_type(oid,int4) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			fields := types.LimitsOf(uint32(a[0].Int()), int32(a[1].Int())).IntervalFields
			return call.TextOrNull(fields, fields != "", nil)
		}),
	}
}

// trueType declares a function of a row of pg_attribute and of the row of pg_type behind it: a
// field of a domain's row, else one of the column's.
func trueType(name, ret, ofDomain, ofColumn string) *call.Overload {
	return call.FnBind(name+"(record,record) "+ret, func(b call.Binding) (call.EvalFunc, error) {
		column, kind, base := b.Types[0].FieldByName(ofColumn), b.Types[1].FieldByName("typtype"), b.Types[1].FieldByName(ofDomain)
		if column < 0 || kind < 0 || base < 0 {
			return nil, call.NoMatch(name, false, b.Types)
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			typ := types.RecordFields(b.Types[1], a[1], c.Format)
			if typ[kind].Datum.Str() == string(types.DefDomain) {
				return typ[base].Datum, nil
			}
			return types.RecordFields(b.Types[0], a[0], c.Format)[column].Datum, nil
		}, nil
	})
}
