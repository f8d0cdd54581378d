package datetime

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// civilDate checks the fields of the make_ functions, where a negative year is
// BC, and returns the day and the astronomical year.
func civilDate(year, month, day int32) (days int64, y int, err error) {
	y = int(year)
	if y < 0 {
		y++
	}
	if year == 0 || year == math.MinInt32 || month < 1 || month > 12 ||
		day < 1 || int(day) > DaysInMonth(y, int(month)) {
		return 0, 0, pgerr.New(pgerr.DatetimeFieldOverflow,
			"date field value out of range: %d-%02d-%02d", year, month, day)
	}
	return DaysFromCivil(y, int(month), int(day)), y, nil
}

// MakeDate is make_date; a negative year is BC.
func MakeDate(year, month, day int32) (int64, error) {
	days, y, err := civilDate(year, month, day)
	if err == nil && !types.ValidDate(days) {
		err = pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: %d-%02d-%02d", y, month, day)
	}
	return days, err
}

// MakeTime is make_time.
func MakeTime(hour, minute int32, sec float64) (int64, error) {
	micros := math.RoundToEven(sec * 1e6)
	total := int64(hour)*types.MicrosPerHour + int64(minute)*types.MicrosPerMin + int64(micros)
	if hour < 0 || hour > 24 || minute < 0 || minute > 59 || math.IsNaN(sec) ||
		!(micros >= 0 && micros <= 60e6) || total > types.MicrosPerDay {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow,
			"time field value out of range: %d:%02d:%s", hour, minute, formatSeconds(sec))
	}
	return total, nil
}

// formatSeconds is C's %02g.
func formatSeconds(sec float64) string {
	s := string(types.AppendFloat(nil, sec, false, -9)) // %.6g
	switch {
	case math.IsNaN(sec):
		s = "NaN"
	case math.IsInf(sec, 1):
		s = "Infinity"
	case math.IsInf(sec, -1):
		s = "-Infinity"
	case len(s) < 2:
		s = "0" + s
	}
	return s
}

// MakeTimestamp is make_timestamp.
func MakeTimestamp(year, month, day, hour, minute int32, sec float64) (int64, error) {
	days, _, err := civilDate(year, month, day)
	if err != nil {
		return 0, err
	}
	// The months PostgreSQL's day arithmetic covers, wider than the range.
	if days < DaysFromCivil(-4713, 11, 1) || days >= DaysFromCivil(5874898, 6, 1) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: %d-%02d-%02d", year, month, day)
	}
	micros, err := MakeTime(hour, minute, sec)
	if err != nil {
		return 0, err
	}
	if days >= types.EndTimestamp/types.MicrosPerDay || !types.ValidTimestamp(days*types.MicrosPerDay+micros) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: %d-%02d-%02d %d:%02d:%s",
			year, month, day, hour, minute, formatSeconds(sec))
	}
	return days*types.MicrosPerDay + micros, nil
}

// MakeInterval is make_interval.
func MakeInterval(years, months, weeks, days, hours, mins int32, secs float64) (types.IntervalValue, error) {
	var v types.IntervalValue
	micros := math.RoundToEven(secs * 1e6)
	if math.IsNaN(micros) || micros < -1<<63 || micros >= 1<<63 ||
		!addInt32(&v.Months, int64(years)*12) || !addInt32(&v.Months, int64(months)) ||
		!addInt32(&v.Days, int64(weeks)*7) || !addInt32(&v.Days, int64(days)) {
		return types.IntervalValue{}, errIntervalRange()
	}
	var ok bool
	if v.Micros, ok = types.AddInt64(int64(hours)*types.MicrosPerHour+int64(mins)*types.MicrosPerMin, int64(micros)); !ok {
		return types.IntervalValue{}, errIntervalRange()
	}
	return v, nil
}
