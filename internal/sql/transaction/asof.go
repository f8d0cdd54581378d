package transaction

import (
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// AsOf returns the time that a value of type t names in AS OF SYSTEM TIME: a timestamp, an interval
// before now ('-10s'), or a hybrid logical timestamp as a decimal number. 22023 if it names none, or
// one that is not in the past; pos is where the value stands.
func AsOf(d types.Datum, t *types.T, now hlc.Timestamp, fc *types.FormatContext, pos int) (hlc.Timestamp, error) {
	ts, err := timeOf(d, t, now, fc)
	bad := ""
	switch {
	case err != nil:
		return hlc.Timestamp{}, err
	case now.Less(ts):
		bad = "cannot specify timestamp in the future"
	case ts.WallTime == 0:
		bad = "zero timestamp is invalid"
	case ts.WallTime < 0:
		bad = "timestamp before 1970-01-01T00:00:00Z is invalid"
	default:
		return ts, nil
	}
	return hlc.Timestamp{}, pgerr.New(pgerr.InvalidParameterValue, "AS OF SYSTEM TIME: %s", bad).At(pos)
}

// timeOf returns the time that a value names, wherever it lies.
func timeOf(d types.Datum, t *types.T, now hlc.Timestamp, fc *types.FormatContext) (hlc.Timestamp, error) {
	const epoch = 946684800_000_000 // 2000-01-01 in microseconds of Unix time
	at := func(micros int64) hlc.Timestamp { return wallTime(float64(micros)+epoch, (micros+epoch)*1000) }
	back := func(iv types.IntervalValue) hlc.Timestamp {
		days := int64(iv.Days) + 30*int64(iv.Months)
		rough := float64(now.WallTime)/1000 + float64(iv.Micros) + float64(days)*86400e6
		return wallTime(rough, now.WallTime+(iv.Micros+days*86400_000_000)*1000)
	}
	bad := pgerr.New(pgerr.InvalidParameterValue, "AS OF SYSTEM TIME: expected a timestamp, an interval or a decimal number")
	switch t.Family {
	case types.TimestampTZFamily, types.TimestampFamily:
		return at(d.Int()), nil
	case types.IntervalFamily:
		return back(d.Interval()), nil
	case types.IntFamily:
		return hlc.Timestamp{WallTime: d.Int()}, nil
	case types.DecimalFamily:
		return parseHLC(string(typeio.AppendText(nil, types.Numeric, d, fc)), bad)
	case types.StringFamily:
		if ts, err := parseHLC(d.Str(), bad); err == nil {
			return ts, nil
		}
		if v, err := typeio.ParseText(types.Interval, d.Str(), fc); err == nil {
			return back(v.Interval()), nil
		}
		v, err := typeio.ParseText(types.TimestampTZ, d.Str(), fc)
		if err != nil {
			return hlc.Timestamp{}, bad
		}
		return at(v.Int()), nil
	}
	return hlc.Timestamp{}, bad
}

// wallTime is a time in nanoseconds, which did not overflow if it is near micros; what is too
// far away lies at the end of time.
func wallTime(micros float64, nanos int64) hlc.Timestamp {
	const most = math.MaxInt64 / 1000
	if micros >= most || micros <= -most {
		nanos = math.MaxInt64
		if micros < 0 {
			nanos = math.MinInt64
		}
	}
	return hlc.Timestamp{WallTime: nanos}
}

// parseHLC reads nanoseconds with the logical part as ten decimals.
func parseHLC(s string, bad error) (ts hlc.Timestamp, err error) {
	wall, logical, _ := strings.Cut(s, ".")
	if ts.WallTime, err = strconv.ParseInt(wall, 10, 64); err != nil || ts.WallTime < 0 {
		return ts, bad
	}
	if logical != "" {
		n, err := strconv.ParseUint((logical + "0000000000")[:10], 10, 32)
		if err != nil {
			return ts, bad
		}
		ts.Logical = uint32(n)
	}
	return ts, nil
}
