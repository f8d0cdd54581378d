package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// extractFunctions declares extract(field, x), date_part and date_trunc.
func extractFunctions() []*call.Overload {
	var all []*call.Overload
	for _, t := range []*types.T{types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval} {
		ex := call.Fn("extract(text,"+t.Name+") numeric", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return datetime.Extract(a[0].Str(), t, a[1], c.Format)
		})
		dp := call.Fn("date_part(text,"+t.Name+") float8", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if t != types.Date {
				return datetime.DatePart(a[0].Str(), t, a[1], c.Format)
			}
			// Unlike extract, it takes a date for the midnight it begins with.
			ts, err := datetime.TimestampFromDate(a[1].Int())
			if err != nil {
				return types.Null, err
			}
			return datetime.DatePart(a[0].Str(), types.Timestamp, types.NewTimestamp(ts), c.Format)
		})
		if t == types.TimestampTZ {
			ex.Stable()
			dp.Stable()
		}
		all = append(all, ex, dp)
	}
	return append(all,
		call.Fn("date_trunc(text,timestamp) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return TimestampResult(datetime.TruncTimestamp(a[0].Str(), a[1].Int()))
		}),
		call.Fn("date_trunc(text,timestamptz) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return TimestampTZResult(datetime.TruncTimestampTZ(a[0].Str(), a[1].Int(), c.Format))
		}).Stable(),
		call.Fn("date_trunc(text,timestamptz,text) timestamptz", truncInZone).Stable(),
		call.Fn("date_trunc(text,interval) interval", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return IntervalResult(datetime.TruncInterval(a[0].Str(), a[1].Interval()))
		}),
	)
}

// truncInZone is date_trunc on the calendar of a named zone.
func truncInZone(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[1].InfSign() != 0 {
		return a[1], nil
	}
	z, err := datetime.ZoneForExpr(a[2].Str(), c.Format)
	if err != nil {
		return types.Null, err
	}
	fc := types.FormatContext{TimeZone: z.At(a[1].Int())}
	return TimestampTZResult(datetime.TruncTimestampTZ(a[0].Str(), a[1].Int(), &fc))
}
