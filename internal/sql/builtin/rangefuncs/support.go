package rangefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rangeSupportFunctions declares the functions that PostgreSQL's range types are made of and that
// SQL may call.
func rangeSupportFunctions() []*call.Overload {
	same := func(_ *call.Context, a []types.Datum) (types.Datum, error) { return a[0], nil }
	diff := func(unit float64) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat((float64(a[0].Int()) - float64(a[1].Int())) / unit), nil
		}
	}
	all := []*call.Overload{
		call.Fn("int4range_subdiff(int4,int4) float8", diff(1)), call.Fn("int8range_subdiff(int8,int8) float8", diff(1)),
		call.Fn("daterange_subdiff(date,date) float8", diff(1)), call.Fn("tsrange_subdiff(timestamp,timestamp) float8", diff(1e6)),
		call.Fn("tstzrange_subdiff(timestamptz,timestamptz) float8", diff(1e6)),
		call.Fn("numrange_subdiff(numeric,numeric) float8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			d, err := decimal.Sub(a[0], a[1])
			return types.NewFloat(types.DecimalToFloat(d)), err
		}),
	}
	for _, t := range []string{"int4range", "int8range", "daterange"} { // Ranges always have that form here
		all = append(all, call.Fn(t+"_canonical("+t+") "+t, same))
	}
	return all
}
