package builtin

import (
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func datetimeFunctions() []*Overload {
	return append([]*Overload{
		fn("age(timestamp,timestamp) interval", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return intervalResult(datetime.Age(a[0].Int(), a[1].Int()))
		}),
		fn("age(timestamptz,timestamptz) interval", func(c *Context, a []types.Datum) (types.Datum, error) {
			return intervalResult(datetime.AgeTZ(a[0].Int(), a[1].Int(), c.Format))
		}).stable(),
		fn("age(timestamp) interval", func(c *Context, a []types.Datum) (types.Datum, error) {
			return intervalResult(datetime.Age(c.midnight(), a[0].Int()))
		}).stable(),
		fn("age(timestamptz) interval", func(c *Context, a []types.Datum) (types.Datum, error) {
			return intervalResult(datetime.AgeTZ(c.toUTC(c.midnight()), a[0].Int(), c.Format))
		}).stable(),
		fn("date_bin(interval,timestamp,timestamp) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return timestampResult(datetime.DateBin(a[0].Interval(), a[1].Int(), a[2].Int()))
		}),
		fn("date_bin(interval,timestamptz,timestamptz) timestamptz", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return timestampTZResult(datetime.DateBin(a[0].Interval(), a[1].Int(), a[2].Int()))
		}),
		fn("justify_hours(interval) interval", intervalFunc(datetime.JustifyHours)),
		fn("justify_days(interval) interval", intervalFunc(datetime.JustifyDays)),
		fn("justify_interval(interval) interval", intervalFunc(datetime.JustifyInterval)),
		fn("isfinite(date) bool", isFinite), fn("isfinite(timestamp) bool", isFinite), fn("isfinite(timestamptz) bool", isFinite),
		fn("isfinite(interval) bool", isFinite),
		fn("make_date(int4,int4,int4) date", func(_ *Context, a []types.Datum) (types.Datum, error) {
			d, err := datetime.MakeDate(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()))
			if err != nil {
				return types.Null, err
			}
			return types.NewDate(d), nil
		}),
		fn("make_time(int4,int4,float8) time", func(_ *Context, a []types.Datum) (types.Datum, error) {
			t, err := datetime.MakeTime(int32(a[0].Int()), int32(a[1].Int()), a[2].Float())
			if err != nil {
				return types.Null, err
			}
			return types.NewTime(t), nil
		}),
		fn("make_timestamp(int4,int4,int4,int4,int4,float8) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return timestampResult(makeTimestamp(a))
		}),
		fn("make_timestamptz(int4,int4,int4,int4,int4,float8) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			ts, err := makeTimestamp(a)
			return timestampTZResult(c.toUTC(ts), err)
		}).stable(),
		fn("make_timestamptz(int4,int4,int4,int4,int4,float8,text) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			ts, err := makeTimestamp(a)
			if err != nil {
				return types.Null, err
			}
			zone := a[6].Str()
			if zone != "" && zone[0] >= '0' && zone[0] <= '9' {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid input syntax for type numeric time zone: \"%s\"", zone).
					WithHint("Numeric time zones must have \"-\" or \"+\" as first character.")
			}
			west, numeric, err := datetime.NumericZone(zone)
			switch {
			case err != nil:
				return types.Null, err
			case !numeric:
				return zoneToUTC(c, zone, ts)
			}
			return timestampTZResult(validTimestamp(ts + int64(west)*types.MicrosPerSec))
		}).stable(),
		fn("make_interval(int4,int4,int4,int4,int4,int4,float8) interval", makeInterval).defaults(
			types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewFloat(0)),
		fn("to_timestamp(float8) timestamptz", epochTimestamp),
	}, slices.Concat(combineFunctions(), zoneFunctions(), overlapFunctions())...)
}

// combineFunctions declares what makes a timestamp of a date and a time.
func combineFunctions() []*Overload {
	return []*Overload{
		fn("timestamp(date,time) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestamp(ts), err
			}
			return types.NewTimestamp(ts + a[1].Int()), nil
		}),
		fn("timestamptz(date,time) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestampTZ(ts), err
			}
			return timestampTZResult(validTimestamp(c.toUTC(ts + a[1].Int())))
		}).stable(),
		fn("timestamptz(date,timetz) timestamptz", dateTimeTZ(0, 1)),
	}
}

func isFinite(_ *Context, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].InfSign() == 0), nil
}

func makeTimestamp(a []types.Datum) (int64, error) {
	return datetime.MakeTimestamp(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()),
		int32(a[3].Int()), int32(a[4].Int()), a[5].Float())
}

func makeInterval(_ *Context, a []types.Datum) (types.Datum, error) {
	return intervalResult(datetime.MakeInterval(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()),
		int32(a[3].Int()), int32(a[4].Int()), int32(a[5].Int()), a[6].Float()))
}

// epochTimestamp is to_timestamp(seconds since 1970).
func epochTimestamp(_ *Context, a []types.Datum) (types.Datum, error) {
	f := a[0].Float()
	outOfRange := func() error {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%g\"", f)
	}
	switch {
	case math.IsNaN(f):
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
	case math.IsInf(f, 1):
		return types.NewTimestampTZ(types.TimestampInf), nil
	case math.IsInf(f, -1):
		return types.NewTimestampTZ(types.TimestampNegInf), nil
	case math.Abs(f) > 1e13:
		return types.Null, outOfRange()
	}
	ts := int64(math.RoundToEven((f - pgEpochSeconds) * 1e6))
	if !types.ValidTimestamp(ts) {
		return types.Null, outOfRange()
	}
	return types.NewTimestampTZ(ts), nil
}

// zoneFunctions declares AT TIME ZONE, which is timezone(zone, value).
func zoneFunctions() []*Overload {
	return []*Overload{
		fn("timezone(text,timestamp) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			return zoneToUTC(c, a[0].Str(), a[1].Int())
		}),
		fn("timezone(text,timestamptz) timestamp", func(c *Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestamp(a[1].Int()), nil
			}
			z, err := datetime.ZoneForExpr(a[0].Str(), c.Format)
			if err != nil {
				return types.Null, err
			}
			return timestampResult(validTimestamp(datetime.LocalFromUTC(a[1].Int(), z.At(a[1].Int()))))
		}),
		fn("timezone(text,timetz) timetz", func(c *Context, a []types.Datum) (types.Datum, error) {
			z, err := datetime.ZoneForExpr(a[0].Str(), c.Format)
			if err != nil {
				return types.Null, err
			}
			east, _ := datetime.OffsetAt(z.At(c.TxnTime), c.TxnTime)
			return rezoneTime(a[1], int64(-east)), nil
		}).stable(),
		fn("timezone(interval,timestamp) timestamptz", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestampTZ(a[1].Int()), nil
			}
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return timestampTZResult(validTimestamp(a[1].Int() + west*types.MicrosPerSec))
		}),
		fn("timezone(interval,timestamptz) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestamp(a[1].Int()), nil
			}
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return timestampResult(validTimestamp(a[1].Int() - west*types.MicrosPerSec))
		}),
		fn("timezone(interval,timetz) timetz", func(_ *Context, a []types.Datum) (types.Datum, error) {
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return rezoneTime(a[1], west), nil
		}),
	}
}

// zoneToUTC reads a timestamp as local time of a named zone.
func zoneToUTC(c *Context, zone string, ts int64) (types.Datum, error) {
	if ts == types.TimestampInf || ts == types.TimestampNegInf {
		return types.NewTimestampTZ(ts), nil
	}
	z, err := datetime.ZoneForExpr(zone, c.Format)
	if err != nil {
		return types.Null, err
	}
	return timestampTZResult(validTimestamp(datetime.UTCFromLocal(ts, z.AtLocal(ts))))
}

// intervalZone reads an interval as a zone and returns its seconds west of UTC.
func intervalZone(d types.Datum) (int64, error) {
	v := d.Interval()
	if v.Months != 0 || v.Days != 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days",
			typeio.FormatDatum(types.Interval, d, nil))
	}
	return -v.Micros / types.MicrosPerSec, nil
}

// rezoneTime expresses a timetz in another zone.
func rezoneTime(d types.Datum, west int64) types.Datum {
	micros, was := d.TimeTZ()
	micros = shiftTime(micros, (int64(was)-west)*types.MicrosPerSec, false)
	return types.NewTimeTZ(micros, int32(west))
}

// overlapFunctions declares the predicate OVERLAPS: (start, end) pairs, where
// an interval stands for a length.
func overlapFunctions() []*Overload {
	var all []*Overload
	for _, t := range []string{"timestamp", "timestamptz", "time"} {
		for _, ends := range [][2]string{{t, t}, {t, "interval"}, {"interval", t}, {"interval", "interval"}} {
			o := fn("overlaps("+t+","+ends[0]+","+t+","+ends[1]+") bool", overlaps(t, ends))
			o.Strict = false
			if t == "timestamptz" && (ends[0] == "interval" || ends[1] == "interval") {
				o.stable()
			}
			all = append(all, o)
		}
	}
	return append(all, fn("overlaps(timetz,timetz,timetz,timetz) bool", overlaps("timetz", [2]string{"timetz", "timetz"})).nonStrict())
}

func overlaps(t string, ends [2]string) EvalFunc {
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		var p [4]types.Datum
		copy(p[:], a)
		for i := 0; i < 2; i++ {
			if ends[i] != "interval" || p[2*i+1].IsNull() {
				continue
			}
			if p[2*i].IsNull() {
				p[2*i+1] = types.Null
				continue
			}
			end, err := addLength(c, t, p[2*i], p[2*i+1].Interval())
			if err != nil {
				return types.Null, err
			}
			p[2*i+1] = end
		}
		return overlapResult(p), nil
	}
}

func addLength(c *Context, t string, start types.Datum, v types.IntervalValue) (types.Datum, error) {
	switch t {
	case "timestamp":
		return timestampResult(datetime.AddInterval(start.Int(), v))
	case "timestamptz":
		return timestampTZResult(datetime.AddIntervalTZ(start.Int(), v, c.Format))
	}
	return types.NewTime(shiftTime(start.Int(), v.Micros, false)), nil
}

// overlapResult follows SQL: the lesser end of a pair is its start; a NULL end
// leaves a point and makes the answer unknown unless the points decide it.
func overlapResult(p [4]types.Datum) types.Datum {
	s1, e1, ok1 := orderPair(p[0], p[1])
	s2, e2, ok2 := orderPair(p[2], p[3])
	if !ok1 || !ok2 {
		return types.Null
	}
	if types.Compare(s1, s2) > 0 {
		s1, e1, s2, e2 = s2, e2, s1, e1
	}
	if types.Compare(s1, s2) == 0 {
		if e1.IsNull() || e2.IsNull() {
			return types.Null
		}
		return types.True
	}
	// s2 is within the first pair if before its end.
	switch {
	case e1.IsNull():
		return types.Null
	case types.Compare(s2, e1) < 0:
		return types.True
	case e2.IsNull():
		return types.Null
	}
	return types.False
}

// orderPair puts the start of a pair first; a single NULL becomes the end.
func orderPair(s, e types.Datum) (start, end types.Datum, ok bool) {
	switch {
	case s.IsNull() && e.IsNull():
		return s, e, false
	case s.IsNull():
		return e, s, true
	case !e.IsNull() && types.Compare(s, e) > 0:
		return e, s, true
	}
	return s, e, true
}
