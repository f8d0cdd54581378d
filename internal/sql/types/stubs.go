package types

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var errTodo = pgerr.Unsupported("not built yet")

// Date and time arithmetic.

// AddInterval returns ts + v for a timestamp: months first (clamped to the
// month's last day), then days, then time.
func AddInterval(ts int64, v IntervalValue) (int64, error) { return 0, errTodo }

// AddIntervalTZ is AddInterval for a timestamptz; months and days move on loc's
// calendar.
func AddIntervalTZ(ts int64, v IntervalValue, fc *FormatContext) (int64, error) { return 0, errTodo }

// SubTimestamps returns a - b as days and time.
func SubTimestamps(a, b int64) (IntervalValue, error) { return IntervalValue{}, errTodo }

// Age returns age(a, b) for timestamps: a difference in years, months and days.
func Age(a, b int64) (IntervalValue, error) { return IntervalValue{}, errTodo }

// AgeTZ is Age for timestamptz values, on loc's calendar.
func AgeTZ(a, b int64, fc *FormatContext) (IntervalValue, error) { return IntervalValue{}, errTodo }

// JustifyHours, JustifyDays and JustifyInterval are the functions of that name.
func JustifyHours(v IntervalValue) (IntervalValue, error) { return v, errTodo }

// JustifyDays turns every 30 days into a month.
func JustifyDays(v IntervalValue) (IntervalValue, error) { return v, errTodo }

// JustifyInterval does both and makes the signs agree.
func JustifyInterval(v IntervalValue) (IntervalValue, error) { return v, errTodo }

// AddIntervals returns a + b.
func AddIntervals(a, b IntervalValue) (IntervalValue, error) { return a, errTodo }

// SubIntervals returns a - b.
func SubIntervals(a, b IntervalValue) (IntervalValue, error) { return a, errTodo }

// NegInterval returns -v.
func NegInterval(v IntervalValue) (IntervalValue, error) { return v, errTodo }

// MulInterval returns v * f; fractions of a month spill into days, of a day
// into time.
func MulInterval(v IntervalValue, f float64) (IntervalValue, error) { return v, errTodo }

// DivInterval returns v / f.
func DivInterval(v IntervalValue, f float64) (IntervalValue, error) { return v, errTodo }

// TruncTimestamp is date_trunc for a timestamp.
func TruncTimestamp(field string, ts int64) (int64, error) { return 0, errTodo }

// TruncTimestampTZ is date_trunc for a timestamptz in the zone of fc.
func TruncTimestampTZ(field string, ts int64, fc *FormatContext) (int64, error) { return 0, errTodo }

// TruncInterval is date_trunc for an interval.
func TruncInterval(field string, v IntervalValue) (IntervalValue, error) { return v, errTodo }

// Extract is extract(field from d) for a date, time, timetz, timestamp,
// timestamptz or interval: a numeric, or NULL (a field infinity does not have).
func Extract(field string, t *T, d Datum, fc *FormatContext) (Datum, error) { return Null, errTodo }

// DatePart is date_part, which yields float8.
func DatePart(field string, t *T, d Datum, fc *FormatContext) (Datum, error) { return Null, errTodo }

// MakeDate is make_date; a negative year is BC.
func MakeDate(year, month, day int32) (int64, error) { return 0, errTodo }

// MakeTime is make_time.
func MakeTime(hour, minute int32, sec float64) (int64, error) { return 0, errTodo }

// MakeTimestamp is make_timestamp.
func MakeTimestamp(year, month, day, hour, minute int32, sec float64) (int64, error) {
	return 0, errTodo
}

// MakeInterval is make_interval.
func MakeInterval(years, months, weeks, days, hours, mins int32, secs float64) (IntervalValue, error) {
	return IntervalValue{}, errTodo
}

// DateBin is date_bin for timestamps (and timestamptz values).
func DateBin(stride IntervalValue, ts, origin int64) (int64, error) { return 0, errTodo }

// AddTimeInterval returns a time of day plus an interval's time part, around
// the clock.
func AddTimeInterval(micros int64, v IntervalValue) int64 { return 0 }
