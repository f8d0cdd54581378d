package datefuncs

import (
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func datetimeFunctions() []*call.Overload {
	return append([]*call.Overload{
		call.Fn("age(timestamp,timestamp) interval", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return IntervalResult(datetime.Age(a[0].Int(), a[1].Int()))
		}),
		call.Fn("age(timestamptz,timestamptz) interval", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return IntervalResult(datetime.AgeTZ(a[0].Int(), a[1].Int(), c.Format))
		}).Stable(),
		call.Fn("age(timestamp) interval", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return IntervalResult(datetime.Age(c.Midnight(), a[0].Int()))
		}).Stable(),
		call.Fn("age(timestamptz) interval", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return IntervalResult(datetime.AgeTZ(c.ToUTC(c.Midnight()), a[0].Int(), c.Format))
		}).Stable(),
		call.Fn("date_bin(interval,timestamp,timestamp) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return TimestampResult(datetime.DateBin(a[0].Interval(), a[1].Int(), a[2].Int()))
		}),
		call.Fn("date_bin(interval,timestamptz,timestamptz) timestamptz", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return TimestampTZResult(datetime.DateBin(a[0].Interval(), a[1].Int(), a[2].Int()))
		}),
		call.Fn("justify_hours(interval) interval", intervalFunc(datetime.JustifyHours)),
		call.Fn("justify_days(interval) interval", intervalFunc(datetime.JustifyDays)),
		call.Fn("justify_interval(interval) interval", intervalFunc(datetime.JustifyInterval)),
		call.Fn("isfinite(date) bool", isFinite), call.Fn("isfinite(timestamp) bool", isFinite), call.Fn("isfinite(timestamptz) bool", isFinite),
		call.Fn("isfinite(interval) bool", isFinite),
		call.Fn("make_date(int4,int4,int4) date", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			d, err := datetime.MakeDate(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()))
			if err != nil {
				return types.Null, err
			}
			return types.NewDate(d), nil
		}),
		call.Fn("make_time(int4,int4,float8) time", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			t, err := datetime.MakeTime(int32(a[0].Int()), int32(a[1].Int()), a[2].Float())
			if err != nil {
				return types.Null, err
			}
			return types.NewTime(t), nil
		}),
		call.Fn("make_timestamp(int4,int4,int4,int4,int4,float8) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return TimestampResult(makeTimestamp(a))
		}),
		call.Fn("make_timestamptz(int4,int4,int4,int4,int4,float8) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			ts, err := makeTimestamp(a)
			return TimestampTZResult(c.ToUTC(ts), err)
		}).Stable(),
		call.Fn("make_timestamptz(int4,int4,int4,int4,int4,float8,text) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
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
			return TimestampTZResult(ValidTimestamp(ts + int64(west)*types.MicrosPerSec))
		}).Stable(),
		call.Fn("make_interval(int4,int4,int4,int4,int4,int4,float8) interval", makeInterval).WithDefaults(
			types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewInt(0), types.NewFloat(0)),
		call.Fn("to_timestamp(float8) timestamptz", epochTimestamp),
	}, slices.Concat(combineFunctions(), zoneFunctions(), overlapFunctions())...)
}

// combineFunctions declares what makes a timestamp of a date and a time.
func combineFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("timestamp(date,time) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestamp(ts), err
			}
			return types.NewTimestamp(ts + a[1].Int()), nil
		}),
		call.Fn("timestamptz(date,time) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestampTZ(ts), err
			}
			return TimestampTZResult(ValidTimestamp(c.ToUTC(ts + a[1].Int())))
		}).Stable(),
		call.Fn("timestamptz(date,timetz) timestamptz", dateTimeTZ(0, 1)),
	}
}

func isFinite(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].InfSign() == 0), nil
}

func makeTimestamp(a []types.Datum) (int64, error) {
	return datetime.MakeTimestamp(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()),
		int32(a[3].Int()), int32(a[4].Int()), a[5].Float())
}

func makeInterval(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return IntervalResult(datetime.MakeInterval(int32(a[0].Int()), int32(a[1].Int()), int32(a[2].Int()),
		int32(a[3].Int()), int32(a[4].Int()), int32(a[5].Int()), a[6].Float()))
}

// epochTimestamp is to_timestamp(seconds since 1970).
func epochTimestamp(_ *call.Context, a []types.Datum) (types.Datum, error) {
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
	ts := int64(math.RoundToEven((f - call.PgEpochSeconds) * 1e6))
	if !types.ValidTimestamp(ts) {
		return types.Null, outOfRange()
	}
	return types.NewTimestampTZ(ts), nil
}

// zoneFunctions declares AT TIME ZONE, which is timezone(zone, value).
func zoneFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("timezone(text,timestamp) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return zoneToUTC(c, a[0].Str(), a[1].Int())
		}),
		call.Fn("timezone(text,timestamptz) timestamp", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestamp(a[1].Int()), nil
			}
			z, err := datetime.ZoneForExpr(a[0].Str(), c.Format)
			if err != nil {
				return types.Null, err
			}
			return TimestampResult(ValidTimestamp(datetime.LocalFromUTC(a[1].Int(), z.At(a[1].Int()))))
		}),
		call.Fn("timezone(text,timetz) timetz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			z, err := datetime.ZoneForExpr(a[0].Str(), c.Format)
			if err != nil {
				return types.Null, err
			}
			east, _ := datetime.OffsetAt(z.At(c.TxnTime), c.TxnTime)
			return rezoneTime(a[1], int64(-east)), nil
		}).Stable(),
		call.Fn("timezone(interval,timestamp) timestamptz", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestampTZ(a[1].Int()), nil
			}
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return TimestampTZResult(ValidTimestamp(a[1].Int() + west*types.MicrosPerSec))
		}),
		call.Fn("timezone(interval,timestamptz) timestamp", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[1].InfSign() != 0 {
				return types.NewTimestamp(a[1].Int()), nil
			}
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return TimestampResult(ValidTimestamp(a[1].Int() - west*types.MicrosPerSec))
		}),
		call.Fn("timezone(interval,timetz) timetz", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			west, err := intervalZone(a[0])
			if err != nil {
				return types.Null, err
			}
			return rezoneTime(a[1], west), nil
		}),
	}
}

// zoneToUTC reads a timestamp as local time of a named zone.
func zoneToUTC(c *call.Context, zone string, ts int64) (types.Datum, error) {
	if ts == types.TimestampInf || ts == types.TimestampNegInf {
		return types.NewTimestampTZ(ts), nil
	}
	z, err := datetime.ZoneForExpr(zone, c.Format)
	if err != nil {
		return types.Null, err
	}
	return TimestampTZResult(ValidTimestamp(datetime.UTCFromLocal(ts, z.AtLocal(ts))))
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
	micros = datetime.ShiftTime(micros, (int64(was)-west)*types.MicrosPerSec)
	return types.NewTimeTZ(micros, int32(west))
}

// overlapFunctions declares the predicate OVERLAPS: (start, end) pairs, where
// an interval stands for a length.
func overlapFunctions() []*call.Overload {
	var all []*call.Overload
	for _, t := range []string{"timestamp", "timestamptz", "time"} {
		for _, ends := range [][2]string{{t, t}, {t, "interval"}, {"interval", t}, {"interval", "interval"}} {
			o := call.Fn("overlaps("+t+","+ends[0]+","+t+","+ends[1]+") bool", overlaps(t, ends))
			o.Strict = false
			if t == "timestamptz" && (ends[0] == "interval" || ends[1] == "interval") {
				o.Stable()
			}
			all = append(all, o)
		}
	}
	return append(all, call.Fn("overlaps(timetz,timetz,timetz,timetz) bool", overlaps("timetz", [2]string{"timetz", "timetz"})).NonStrict())
}

func overlaps(t string, ends [2]string) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
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

func addLength(c *call.Context, t string, start types.Datum, v types.IntervalValue) (types.Datum, error) {
	switch t {
	case "timestamp":
		return TimestampResult(datetime.AddInterval(start.Int(), v))
	case "timestamptz":
		return TimestampTZResult(datetime.AddIntervalTZ(start.Int(), v, c.Format))
	}
	return types.NewTime(datetime.ShiftTime(start.Int(), v.Micros)), nil
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
