package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

var errDateRange = pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")

func datetimeOperators() []*call.Overload {
	return []*call.Overload{
		call.Op("date + int4 date", dateAddDays(0, 1, 1)), call.Op("int4 + date date", dateAddDays(1, 0, 1)), call.Op("date - int4 date", dateAddDays(0, 1, -1)),
		call.Op("date - date int4", dateDiff),
		call.Op("date + interval timestamp", dateInterval(0, 1, false)), call.Op("interval + date timestamp", dateInterval(1, 0, false)),
		call.Op("date - interval timestamp", dateInterval(0, 1, true)),
		call.Op("date + time timestamp", dateTime(0, 1)), call.Op("time + date timestamp", dateTime(1, 0)),
		call.Op("date + timetz timestamptz", dateTimeTZ(0, 1)), call.Op("timetz + date timestamptz", dateTimeTZ(1, 0)),

		call.Op("timestamp + interval timestamp", timestampInterval(0, 1, false)), call.Op("interval + timestamp timestamp", timestampInterval(1, 0, false)),
		call.Op("timestamp - interval timestamp", timestampInterval(0, 1, true)),
		call.Op("timestamptz + interval timestamptz", timestampTZInterval(0, 1, false)).Stable(),
		call.Op("interval + timestamptz timestamptz", timestampTZInterval(1, 0, false)).Stable(),
		call.Op("timestamptz - interval timestamptz", timestampTZInterval(0, 1, true)).Stable(),
		call.Op("timestamp - timestamp interval", timestampDiff), call.Op("timestamptz - timestamptz interval", timestampDiff),

		call.Op("interval + interval interval", intervalPair(datetime.AddIntervals)), call.Op("interval - interval interval", intervalPair(datetime.SubIntervals)),
		call.Op("- interval interval", intervalFunc(datetime.NegInterval)),
		call.Op("interval * float8 interval", intervalScale(0, 1, datetime.MulInterval)), call.Op("float8 * interval interval", intervalScale(1, 0, datetime.MulInterval)),
		call.Op("interval / float8 interval", intervalScale(0, 1, datetime.DivInterval)),

		call.Op("time + interval time", timeInterval(0, 1, false)), call.Op("interval + time time", timeInterval(1, 0, false)), call.Op("time - interval time", timeInterval(0, 1, true)),
		call.Op("timetz + interval timetz", timeTZInterval(0, 1, false)), call.Op("interval + timetz timetz", timeTZInterval(1, 0, false)), call.Op("timetz - interval timetz", timeTZInterval(0, 1, true)),
		call.Op("time - time interval", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInterval(types.IntervalValue{Micros: a[0].Int() - a[1].Int()}), nil
		}),
	}
}

// The functions below take the positions of their operands, since + has both
// orders.

func dateAddDays(date, days int, sign int64) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		d := a[date].Int()
		if a[date].InfSign() != 0 {
			return a[date], nil
		}
		if d += sign * a[days].Int(); !types.ValidDate(d) {
			return types.Null, call.Fail(errDateRange)
		}
		return types.NewDate(d), nil
	}
}

func dateDiff(_ *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].InfSign() != 0 || a[1].InfSign() != 0 {
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
	}
	return types.NewInt(a[0].Int() - a[1].Int()), nil
}

// interval returns the interval of an argument, negated on request.
func interval(d types.Datum, negate bool) (types.IntervalValue, error) {
	if negate {
		return datetime.NegInterval(d.Interval())
	}
	return d.Interval(), nil
}

// TimestampResult returns a timestamp, unless there is an error.
func TimestampResult(ts int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewTimestamp(ts), nil
}

// TimestampTZResult returns a timestamp with time zone, unless there is an error.
func TimestampTZResult(ts int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewTimestampTZ(ts), nil
}

// IntervalResult returns an interval, unless there is an error.
func IntervalResult(v types.IntervalValue, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewInterval(v), nil
}

func dateInterval(date, iv int, negate bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil {
			return types.Null, err
		}
		return TimestampResult(datetime.AddInterval(ts, v))
	}
}

func dateTime(date, tm int) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil || a[date].InfSign() != 0 {
			return TimestampResult(ts, err)
		}
		return TimestampResult(ValidTimestamp(ts + a[tm].Int()))
	}
}

// ValidTimestamp returns ts, or 22008 if it is out of range.
func ValidTimestamp(ts int64) (int64, error) {
	if !types.ValidTimestamp(ts) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
	}
	return ts, nil
}

func dateTimeTZ(date, tm int) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil || a[date].InfSign() != 0 {
			return TimestampTZResult(ts, err)
		}
		micros, west := a[tm].TimeTZ()
		return TimestampTZResult(ValidTimestamp(ts + micros + int64(west)*types.MicrosPerSec))
	}
}

func timestampInterval(ts, iv int, negate bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		return TimestampResult(datetime.AddInterval(a[ts].Int(), v))
	}
}

func timestampTZInterval(ts, iv int, negate bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		return TimestampTZResult(datetime.AddIntervalTZ(a[ts].Int(), v, c.Format))
	}
}

func timestampDiff(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return IntervalResult(datetime.SubTimestamps(a[0].Int(), a[1].Int()))
}

func intervalPair(f func(a, b types.IntervalValue) (types.IntervalValue, error)) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return IntervalResult(f(a[0].Interval(), a[1].Interval()))
	}
}

func intervalFunc(f func(v types.IntervalValue) (types.IntervalValue, error)) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) { return IntervalResult(f(a[0].Interval())) }
}

func intervalScale(iv, by int, f func(v types.IntervalValue, by float64) (types.IntervalValue, error)) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return IntervalResult(f(a[iv].Interval(), a[by].Float()))
	}
}

func timeInterval(tm, iv int, negate bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewTime(shiftTime(a[tm].Int(), a[iv].Interval().Micros, negate)), nil
	}
}

func timeTZInterval(tm, iv int, negate bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		micros, west := a[tm].TimeTZ()
		return types.NewTimeTZ(shiftTime(micros, a[iv].Interval().Micros, negate), west), nil
	}
}

// shiftTime moves a time of day around the clock, back if negate is set.
func shiftTime(t, by int64, negate bool) int64 {
	if negate {
		by = -(by % types.MicrosPerDay)
	}
	return datetime.ShiftTime(t, by)
}
