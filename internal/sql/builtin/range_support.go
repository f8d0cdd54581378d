package builtin

import "github.com/lichendb/lichen/internal/sql/types"

// rangeSupportFunctions declares the functions that PostgreSQL's range types are made of and that
// SQL may call.
func rangeSupportFunctions() []*Overload {
	same := func(_ *Context, a []types.Datum) (types.Datum, error) { return a[0], nil }
	diff := func(unit float64) EvalFunc {
		return func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat((float64(a[0].Int()) - float64(a[1].Int())) / unit), nil
		}
	}
	all := []*Overload{
		fn("int4range_subdiff(int4,int4) float8", diff(1)), fn("int8range_subdiff(int8,int8) float8", diff(1)),
		fn("daterange_subdiff(date,date) float8", diff(1)), fn("tsrange_subdiff(timestamp,timestamp) float8", diff(1e6)),
		fn("tstzrange_subdiff(timestamptz,timestamptz) float8", diff(1e6)),
		fn("numrange_subdiff(numeric,numeric) float8", func(_ *Context, a []types.Datum) (types.Datum, error) {
			d, err := SubDecimal(a[0], a[1])
			return types.NewFloat(types.DecimalToFloat(d)), err
		}),
	}
	for _, t := range []string{"int4range", "int8range", "daterange"} { // ranges always have that form here
		all = append(all, fn(t+"_canonical("+t+") "+t, same))
	}
	return all
}
