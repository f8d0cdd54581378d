package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

var errDateRange = pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")

func datetimeOperators() []*Overload {
	return []*Overload{
		op("date + int4 date", dateAddDays(0, 1, 1)), op("int4 + date date", dateAddDays(1, 0, 1)), op("date - int4 date", dateAddDays(0, 1, -1)),
		op("date - date int4", dateDiff),
		op("date + interval timestamp", dateInterval(0, 1, false)), op("interval + date timestamp", dateInterval(1, 0, false)),
		op("date - interval timestamp", dateInterval(0, 1, true)),
		op("date + time timestamp", dateTime(0, 1)), op("time + date timestamp", dateTime(1, 0)),
		op("date + timetz timestamptz", dateTimeTZ(0, 1)), op("timetz + date timestamptz", dateTimeTZ(1, 0)),

		op("timestamp + interval timestamp", timestampInterval(0, 1, false)), op("interval + timestamp timestamp", timestampInterval(1, 0, false)),
		op("timestamp - interval timestamp", timestampInterval(0, 1, true)),
		op("timestamptz + interval timestamptz", timestampTZInterval(0, 1, false)).stable(),
		op("interval + timestamptz timestamptz", timestampTZInterval(1, 0, false)).stable(),
		op("timestamptz - interval timestamptz", timestampTZInterval(0, 1, true)).stable(),
		op("timestamp - timestamp interval", timestampDiff), op("timestamptz - timestamptz interval", timestampDiff),

		op("interval + interval interval", intervalPair(datetime.AddIntervals)), op("interval - interval interval", intervalPair(datetime.SubIntervals)),
		op("- interval interval", intervalFunc(datetime.NegInterval)),
		op("interval * float8 interval", intervalScale(0, 1, datetime.MulInterval)), op("float8 * interval interval", intervalScale(1, 0, datetime.MulInterval)),
		op("interval / float8 interval", intervalScale(0, 1, datetime.DivInterval)),

		op("time + interval time", timeInterval(0, 1, false)), op("interval + time time", timeInterval(1, 0, false)), op("time - interval time", timeInterval(0, 1, true)),
		op("timetz + interval timetz", timeTZInterval(0, 1, false)), op("interval + timetz timetz", timeTZInterval(1, 0, false)), op("timetz - interval timetz", timeTZInterval(0, 1, true)),
		op("time - time interval", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewInterval(types.IntervalValue{Micros: a[0].Int() - a[1].Int()}), nil
		}),
	}
}

// The functions below take the positions of their operands, since + has both
// orders.

func dateAddDays(date, days int, sign int64) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		d := a[date].Int()
		if a[date].InfSign() != 0 {
			return a[date], nil
		}
		if d += sign * a[days].Int(); !types.ValidDate(d) {
			return types.Null, fail(errDateRange)
		}
		return types.NewDate(d), nil
	}
}

func dateDiff(_ *Context, a []types.Datum) (types.Datum, error) {
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

func timestampResult(ts int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewTimestamp(ts), nil
}

func timestampTZResult(ts int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewTimestampTZ(ts), nil
}

func intervalResult(v types.IntervalValue, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewInterval(v), nil
}

func dateInterval(date, iv int, negate bool) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil {
			return types.Null, err
		}
		return timestampResult(datetime.AddInterval(ts, v))
	}
}

func dateTime(date, tm int) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil || a[date].InfSign() != 0 {
			return timestampResult(ts, err)
		}
		return timestampResult(validTimestamp(ts + a[tm].Int()))
	}
}

func validTimestamp(ts int64) (int64, error) {
	if !types.ValidTimestamp(ts) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
	}
	return ts, nil
}

func dateTimeTZ(date, tm int) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		ts, err := datetime.TimestampFromDate(a[date].Int())
		if err != nil || a[date].InfSign() != 0 {
			return timestampTZResult(ts, err)
		}
		micros, west := a[tm].TimeTZ()
		return timestampTZResult(validTimestamp(ts + micros + int64(west)*types.MicrosPerSec))
	}
}

func timestampInterval(ts, iv int, negate bool) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		return timestampResult(datetime.AddInterval(a[ts].Int(), v))
	}
}

func timestampTZInterval(ts, iv int, negate bool) EvalFunc {
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		v, err := interval(a[iv], negate)
		if err != nil {
			return types.Null, err
		}
		return timestampTZResult(datetime.AddIntervalTZ(a[ts].Int(), v, c.Format))
	}
}

func timestampDiff(_ *Context, a []types.Datum) (types.Datum, error) {
	return intervalResult(datetime.SubTimestamps(a[0].Int(), a[1].Int()))
}

func intervalPair(f func(a, b types.IntervalValue) (types.IntervalValue, error)) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		return intervalResult(f(a[0].Interval(), a[1].Interval()))
	}
}

func intervalFunc(f func(v types.IntervalValue) (types.IntervalValue, error)) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) { return intervalResult(f(a[0].Interval())) }
}

func intervalScale(iv, by int, f func(v types.IntervalValue, by float64) (types.IntervalValue, error)) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		return intervalResult(f(a[iv].Interval(), a[by].Float()))
	}
}

func timeInterval(tm, iv int, negate bool) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		return types.NewTime(shiftTime(a[tm].Int(), a[iv].Interval().Micros, negate)), nil
	}
}

func timeTZInterval(tm, iv int, negate bool) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		micros, west := a[tm].TimeTZ()
		return types.NewTimeTZ(shiftTime(micros, a[iv].Interval().Micros, negate), west), nil
	}
}

// shiftTime moves a time of day around the clock.
func shiftTime(t, by int64, negate bool) int64 {
	by %= types.MicrosPerDay
	if negate {
		by = -by
	}
	t = (t + by) % types.MicrosPerDay
	if t < 0 {
		t += types.MicrosPerDay
	}
	return t
}
