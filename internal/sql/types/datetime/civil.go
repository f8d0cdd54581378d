package datetime

import "github.com/lichendb/lichen/internal/sql/types"

// Civil is a calendar date and time of day. Year is astronomical: 0 is 1 BC.
// Hour may be 24 with the rest zero when it comes from a time of day.
type Civil struct {
	Year, Month, Day       int
	Hour, Min, Sec, Micros int
}

// DaysFromCivil returns the days since 2000-01-01 of a proleptic Gregorian
// date. Month and day may lie outside their usual ranges; months carry.
func DaysFromCivil(year, month, day int) int64 {
	// Years start in March here, so that the leap day comes last.
	y := int64(year) + types.FloorDiv(int64(month)-1, 12)
	m := types.FloorMod(int64(month)-1, 12) + 1
	if m <= 2 {
		y--
		m += 12
	}
	era := types.FloorDiv(y, 400)
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468 - types.EpochDiffDays
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (year, month, day int) {
	z := days + types.EpochDiffDays + 719468
	era := types.FloorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	y := yoe + era*400
	if month > 12 {
		month -= 12
		y++
	}
	return int(y), month, day
}

// DaysInMonth returns the length of a month of an astronomical year.
func DaysInMonth(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	}
	return 31
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// DayOfWeek returns 0 for Sunday to 6 for Saturday.
func DayOfWeek(days int64) int { return int(types.FloorMod(days+6, 7)) }

// DayOfYear returns 1 for January 1.
func DayOfYear(year, month, day int) int {
	return int(DaysFromCivil(year, month, day)-DaysFromCivil(year, 1, 1)) + 1
}

// ISOWeek returns the ISO 8601 year and week of a day.
func ISOWeek(days int64) (year, week int) {
	thursday := days - types.FloorMod(days+5, 7) + 3
	year, _, _ = CivilFromDays(thursday)
	return year, int(thursday-DaysFromCivil(year, 1, 1))/7 + 1
}

// DaysFromISOWeek returns the Monday of an ISO week.
func DaysFromISOWeek(year, week int) int64 {
	jan4 := DaysFromCivil(year, 1, 4)
	return jan4 - types.FloorMod(jan4+5, 7) + int64(week-1)*7
}

// JulianDay returns the Julian day number of a day, and DaysFromJulian its
// inverse.
func JulianDay(days int64) int64 { return days - types.MinDate }

// DaysFromJulian returns the days since 2000-01-01 of a Julian day number.
func DaysFromJulian(j int64) int64 { return j + types.MinDate }

// TimestampParts splits a finite timestamp into its fields.
func TimestampParts(micros int64) Civil {
	days := types.FloorDiv(micros, types.MicrosPerDay)
	c := TimeParts(micros - days*types.MicrosPerDay)
	c.Year, c.Month, c.Day = CivilFromDays(days)
	return c
}

// TimeParts splits a time of day; the date fields stay zero.
func TimeParts(micros int64) Civil {
	sec := micros / types.MicrosPerSec
	return Civil{
		Hour: int(sec / 3600), Min: int(sec / 60 % 60), Sec: int(sec % 60),
		Micros: int(micros % types.MicrosPerSec),
	}
}

// TimeMicros returns the microseconds since midnight of c's time of day.
func (c Civil) TimeMicros() int64 {
	return int64(c.Hour)*types.MicrosPerHour + int64(c.Min)*types.MicrosPerMin + int64(c.Sec)*types.MicrosPerSec + int64(c.Micros)
}

// TimestampFromCivil returns the timestamp of c, false when out of range.
func TimestampFromCivil(c Civil) (int64, bool) {
	days := DaysFromCivil(c.Year, c.Month, c.Day)
	if days < types.MinDate-1 || days > types.EndTimestamp/types.MicrosPerDay {
		return 0, false
	}
	ts, ok := types.AddInt64(days*types.MicrosPerDay, c.TimeMicros())
	return ts, ok && types.ValidTimestamp(ts)
}
