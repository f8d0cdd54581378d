package builtin

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// clockFunctions also declares what the keywords CURRENT_DATE, CURRENT_TIME,
// LOCALTIME and LOCALTIMESTAMP stand for under their own names; the planner
// applies a precision by a cast.
func clockFunctions() []*Overload {
	txn := func(c *Context, _ []types.Datum) (types.Datum, error) { return types.NewTimestampTZ(c.TxnTime), nil }
	return []*Overload{
		fn("now() timestamptz", txn).stable(), fn("transaction_timestamp() timestamptz", txn).stable(),
		fn("current_timestamp() timestamptz", txn).stable(),
		fn("statement_timestamp() timestamptz", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.StmtTime), nil
		}).stable(),
		fn("clock_timestamp() timestamptz", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(c.clockMicros()), nil
		}).volatile(),
		fn("timeofday() text", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return text(c.now().In(c.Format.Location()).Format("Mon Jan 02 15:04:05.000000 2006 MST"))
		}).volatile(),
		fn("localtimestamp() timestamp", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestamp(c.toLocal(c.TxnTime)), nil
		}).stable(),
		fn("current_date() date", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewDate(datetime.DateFromTimestamp(c.toLocal(c.TxnTime))), nil
		}).stable(),
		fn("localtime() time", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTime(timeOfDay(c.toLocal(c.TxnTime))), nil
		}).stable(),
		fn("current_time() timetz", func(c *Context, _ []types.Datum) (types.Datum, error) {
			east, _ := datetime.OffsetAt(c.Format.Location(), c.TxnTime)
			return types.NewTimeTZ(timeOfDay(c.toLocal(c.TxnTime)), int32(-east)), nil
		}).stable(),
		fn("pg_sleep(float8) void", func(c *Context, a []types.Datum) (types.Datum, error) {
			return c.sleep(a[0].Float())
		}).volatile(),
		fn("pg_sleep_for(interval) void", func(c *Context, a []types.Datum) (types.Datum, error) {
			v := a[0].Interval()
			days := float64(v.Days) + 30*float64(v.Months)
			return c.sleep(days*86400 + float64(v.Micros)/1e6)
		}).volatile(),
		fn("pg_sleep_until(timestamptz) void", func(c *Context, a []types.Datum) (types.Datum, error) {
			return c.sleep((float64(a[0].Int()) - float64(c.clockMicros())) / 1e6)
		}).volatile(),
	}
}
