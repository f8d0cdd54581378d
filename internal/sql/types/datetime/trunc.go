package datetime

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// unitWord returns the name of a field in lower case, as long as a name may be.
func unitWord(field string) string {
	return strings.ToLower(field[:min(len(field), types.MaxNameLength)])
}

// fieldUnit returns the unit a field name of extract denotes.
func fieldUnit(field string) unit {
	low := unitWord(field)
	if u, ok := lookupUnit(low); ok {
		return u
	}
	switch w, _ := lookupDateWord(low); {
	case w.kind == wordUnit:
		return unit(w.val)
	case w.kind == wordReserved && low == "epoch":
		return unitEpoch
	case w.kind == wordReserved && low != "":
		if _, ok := lookupDateWord(low); ok {
			return unitTime // known, and supported nowhere
		}
	}
	return unitNone
}

// truncUnit is fieldUnit for date_trunc, which knows no other names than those
// of units.
func truncUnit(field string) unit {
	u, _ := lookupUnit(unitWord(field))
	return u
}

// errUnit reports a field that t does not have, or that does not exist.
func errUnit(u unit, field string, t *types.T) *pgerr.Error {
	field = unitWord(field)
	reserved := u == unitTime && (t.Family == types.TimeFamily || t.Family == types.TimeTZFamily || t.Family == types.IntervalFamily)
	if u == unitNone || reserved {
		return pgerr.New(pgerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", field, t.SQLName)
	}
	return pgerr.Unsupported("unit \"%s\" not supported for type %s", field, t.SQLName)
}

// floorYears truncates an astronomical year to a multiple of n years as they
// are counted: decades from year 0, centuries and millennia from year 1, and
// away from it before that.
func floorYears(year, n int) int {
	if n == 10 {
		return int(types.FloorDiv(int64(year), 10)) * 10
	}
	return int(types.FloorDiv(int64(year)-1, int64(n)))*n + 1
}

// truncCivil truncates calendar fields; false when u is not one of them or
// smaller than a second.
func truncCivil(c Civil, u unit) (Civil, bool) {
	day := Civil{Year: c.Year, Month: c.Month, Day: c.Day}
	switch u {
	case unitMillennium:
		return Civil{Year: floorYears(c.Year, 1000), Month: 1, Day: 1}, true
	case unitCentury:
		return Civil{Year: floorYears(c.Year, 100), Month: 1, Day: 1}, true
	case unitDecade:
		return Civil{Year: floorYears(c.Year, 10), Month: 1, Day: 1}, true
	case unitYear:
		return Civil{Year: c.Year, Month: 1, Day: 1}, true
	case unitQuarter:
		return Civil{Year: c.Year, Month: (c.Month-1)/3*3 + 1, Day: 1}, true
	case unitMonth:
		return Civil{Year: c.Year, Month: c.Month, Day: 1}, true
	case unitWeek:
		days := DaysFromCivil(c.Year, c.Month, c.Day)
		day.Year, day.Month, day.Day = CivilFromDays(days - types.FloorMod(days+5, 7))
	case unitDay:
	case unitHour:
		day.Hour = c.Hour
	case unitMinute:
		day.Hour, day.Min = c.Hour, c.Min
	case unitSecond:
		day.Hour, day.Min, day.Sec = c.Hour, c.Min, c.Sec
	case unitMillisecond:
		c.Micros = c.Micros / 1000 * 1000
		return c, true
	case unitMicrosecond:
		return c, true
	default:
		return c, false
	}
	return day, true
}

// TruncTimestamp is date_trunc for a timestamp.
func TruncTimestamp(field string, ts int64) (int64, error) {
	return truncTimestamp(field, ts, types.Timestamp)
}

func truncTimestamp(field string, ts int64, t *types.T) (int64, error) {
	if !isFinite(ts) {
		return ts, nil
	}
	u := truncUnit(field)
	c, ok := truncCivil(TimestampParts(ts), u)
	if !ok {
		return 0, errUnit(u, field, t)
	}
	r, ok := TimestampFromCivil(c)
	if !ok {
		return 0, errTimestampRange()
	}
	return r, nil
}

// TruncTimestampTZ is date_trunc for a timestamptz in the zone of fc. From a
// day up, the offset from UTC is the one at the result.
func TruncTimestampTZ(field string, ts int64, fc *types.FormatContext) (int64, error) {
	if !isFinite(ts) {
		return ts, nil
	}
	loc := fc.Location()
	east, _ := OffsetAt(loc, ts)
	local, err := truncTimestamp(field, ts+int64(east)*types.MicrosPerSec, types.TimestampTZ)
	if err != nil {
		return 0, err
	}
	switch truncUnit(field) {
	case unitHour, unitMinute, unitSecond, unitMillisecond, unitMicrosecond:
		ts = local - int64(east)*types.MicrosPerSec
	default:
		ts = UTCFromLocal(local, loc)
	}
	if !types.ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

// TruncInterval is date_trunc for an interval.
func TruncInterval(field string, v types.IntervalValue) (types.IntervalValue, error) {
	u := truncUnit(field)
	months := func(n int32) (types.IntervalValue, error) {
		return types.IntervalValue{Months: v.Months / n * n}, nil
	}
	micros := func(n int64) (types.IntervalValue, error) {
		v.Micros = v.Micros / n * n
		return v, nil
	}
	switch u {
	case unitMillennium:
		return months(12000)
	case unitCentury:
		return months(1200)
	case unitDecade:
		return months(120)
	case unitYear:
		return months(12)
	case unitQuarter:
		return months(3)
	case unitMonth:
		return months(1)
	case unitDay:
		v.Micros = 0
		return v, nil
	case unitHour:
		return micros(types.MicrosPerHour)
	case unitMinute:
		return micros(types.MicrosPerMin)
	case unitSecond:
		return micros(types.MicrosPerSec)
	case unitMillisecond:
		return micros(1000)
	case unitMicrosecond:
		return v, nil
	}
	err := errUnit(u, field, types.Interval)
	if u == unitWeek {
		err.Detail = "Months usually have fractional weeks."
	}
	return v, err
}
