package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Names of functions by which the optimizer turns a comparison across date and time types into one
// within the type of a column, which indexes and kernels know.
const (
	AsTimestamp    = "lichen_as_timestamp"
	AsTimestampTZ  = "lichen_as_timestamptz"
	LastDate       = "lichen_last_date"
	TimestampBound = "lichen_timestamp_bound"
)

// boundSlack is more than local time ever differs, at one instant, from what ToUTC takes for it: a
// zone that changes sides of the date line skips or repeats a day.
const boundSlack = 2 * types.MicrosPerDay

func comparableFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn(AsTimestamp+"(date) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTimestamp(comparefuncs.DateMicros(a[0].Int())), nil
		}),
		call.Fn(AsTimestampTZ+"(date) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.ToUTC(comparefuncs.DateMicros(a[0].Int()))), nil
		}).Stable(),
		call.Fn(AsTimestampTZ+"(timestamp) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.ToUTC(a[0].Int())), nil
		}).Stable(),
		call.Fn(LastDate+"(timestamp,bool) date", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewDate(lastDate(a[0].Int(), a[0].Int(), a[1].Bool(), comparefuncs.DateMicros)), nil
		}),
		call.Fn(LastDate+"(timestamptz,bool) date", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewDate(lastDate(a[0].Int(), c.ToLocal(a[0].Int()), a[1].Bool(), func(d int64) int64 {
				return c.ToUTC(comparefuncs.DateMicros(d))
			})), nil
		}).Stable(),
		call.Fn(TimestampBound+"(timestamptz,bool) timestamp", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTimestamp(timestampBound(c.ToLocal(a[0].Int()), a[1].Bool())), nil
		}).Stable(),
	}
}

// lastDate returns the last date whose beginning is before the instant t, or at it if inclusive; local
// is t's timestamp. If there is none it is a value below all dates.
func lastDate(t, local int64, inclusive bool, begin func(date int64) int64) int64 {
	switch {
	case t == types.TimestampInf && inclusive:
		return types.DateInf
	case t == types.TimestampInf:
		return types.DateInf - 1
	case t == types.TimestampNegInf && inclusive:
		return types.DateNegInf
	case t == types.TimestampNegInf:
		return types.DateNegInf - 1
	}
	reached := func(d int64) bool {
		b := begin(d)
		return b < t || inclusive && b == t
	}
	d := types.FloorDiv(local, types.MicrosPerDay)
	for !reached(d) {
		d--
	}
	for reached(d + 1) {
		d++
	}
	return d
}

// timestampBound returns a timestamp that is not less than any that compares less than or equal to the
// timestamptz whose local time is given, or if not upper, not greater than any that is not less. The bound
// is not tight: where clocks are set back or forth the order of timestamps is not that of instants.
func timestampBound(local int64, upper bool) int64 {
	switch {
	case local == types.TimestampInf || local == types.TimestampNegInf:
		return local
	case upper:
		return min(local, types.TimestampInf-1-boundSlack) + boundSlack
	}
	return max(local, types.TimestampNegInf+1+boundSlack) - boundSlack
}
