package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// clockFunctions also declares what the keywords CURRENT_DATE, CURRENT_TIME,
// LOCALTIME and LOCALTIMESTAMP stand for under their own names; the planner
// applies a precision by a cast.
func clockFunctions() []*call.Overload {
	txn := func(c *call.Context, _ []types.Datum) (types.Datum, error) {
		return types.NewTimestampTZ(c.TxnTime), nil
	}
	return []*call.Overload{
		call.Fn("now() timestamptz", txn).Stable(), call.Fn("transaction_timestamp() timestamptz", txn).Stable(),
		call.Fn("current_timestamp() timestamptz", txn).Stable(),
		call.Fn("statement_timestamp() timestamptz", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.StmtTime), nil
		}).Stable(),
		call.Fn("clock_timestamp() timestamptz", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.ClockMicros()), nil
		}).Volatile(),
		call.Fn("timeofday() text", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return call.Text(c.Clock().In(c.Format.Location()).Format("Mon Jan 02 15:04:05.000000 2006 MST"))
		}).Volatile(),
		call.Fn("localtimestamp() timestamp", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestamp(c.ToLocal(c.TxnTime)), nil
		}).Stable(),
		call.Fn("current_date() date", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewDate(datetime.DateFromTimestamp(c.ToLocal(c.TxnTime))), nil
		}).Stable(),
		call.Fn("localtime() time", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTime(call.TimeOfDay(c.ToLocal(c.TxnTime))), nil
		}).Stable(),
		call.Fn("current_time() timetz", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			east, _ := datetime.OffsetAt(c.Format.Location(), c.TxnTime)
			return types.NewTimeTZ(call.TimeOfDay(c.ToLocal(c.TxnTime)), int32(-east)), nil
		}).Stable(),
		call.Fn("pg_sleep(float8) void", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return c.Sleep(a[0].Float())
		}).Volatile(),
		call.Fn("pg_sleep_for(interval) void", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			v := a[0].Interval()
			days := float64(v.Days) + 30*float64(v.Months)
			return c.Sleep(days*86400 + float64(v.Micros)/1e6)
		}).Volatile(),
		call.Fn("pg_sleep_until(timestamptz) void", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return c.Sleep((float64(a[0].Int()) - float64(c.ClockMicros())) / 1e6)
		}).Volatile(),
	}
}
