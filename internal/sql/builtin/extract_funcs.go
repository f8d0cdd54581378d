package builtin

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// extractFunctions declares extract(field, x), date_part and date_trunc.
func extractFunctions() []*Overload {
	var all []*Overload
	for _, t := range []*types.T{types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval} {
		ex := fn("extract(text,"+t.Name+") numeric", func(c *Context, a []types.Datum) (types.Datum, error) {
			return datetime.Extract(a[0].Str(), t, a[1], c.Format)
		})
		dp := fn("date_part(text,"+t.Name+") float8", func(c *Context, a []types.Datum) (types.Datum, error) {
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
			ex.stable()
			dp.stable()
		}
		all = append(all, ex, dp)
	}
	return append(all,
		fn("date_trunc(text,timestamp) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return timestampResult(datetime.TruncTimestamp(a[0].Str(), a[1].Int()))
		}),
		fn("date_trunc(text,timestamptz) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			return timestampTZResult(datetime.TruncTimestampTZ(a[0].Str(), a[1].Int(), c.Format))
		}).stable(),
		fn("date_trunc(text,timestamptz,text) timestamptz", truncInZone).stable(),
		fn("date_trunc(text,interval) interval", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return intervalResult(datetime.TruncInterval(a[0].Str(), a[1].Interval()))
		}),
	)
}

// truncInZone is date_trunc on the calendar of a named zone.
func truncInZone(c *Context, a []types.Datum) (types.Datum, error) {
	if a[1].InfSign() != 0 {
		return a[1], nil
	}
	z, err := datetime.ZoneForExpr(a[2].Str(), c.Format)
	if err != nil {
		return types.Null, err
	}
	fc := types.FormatContext{TimeZone: z.At(a[1].Int())}
	return timestampTZResult(datetime.TruncTimestampTZ(a[0].Str(), a[1].Int(), &fc))
}
