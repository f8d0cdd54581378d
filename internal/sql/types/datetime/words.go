package datetime

// wordKind is what a word means in date and time input.
type wordKind uint8

const (
	wordIgnore   wordKind = iota
	wordReserved          // now, today, infinity, ...
	wordMonth
	wordWeekday
	wordAMPM
	wordADBC
	wordUnit    // y2001 m02: what the next number is
	wordISOTime // t
	wordDST     // dst, after a zone
	wordAgo
)

// unit names the fields of dates, times and intervals.
type unit uint8

const (
	unitNone unit = iota
	unitMicrosecond
	unitMillisecond
	unitSecond
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitQuarter
	unitYear
	unitDecade
	unitCentury
	unitMillennium
	unitJulian
	unitDOW
	unitDOY
	unitISODOW
	unitISOYear
	unitTimezone
	unitTimezoneHour
	unitTimezoneMinute
	unitEpoch
	unitTime // the t of ISO 8601
)

// Values of reserved words, half days and eras.
const (
	reservedNow = iota
	reservedYesterday
	reservedToday
	reservedTomorrow
	reservedZulu
	reservedEpoch
	reservedLate
	reservedEarly

	halfAM = 1
	halfPM = 2

	eraAD = 0
	eraBC = 1
)

type dateWord struct {
	kind wordKind
	val  int
}

// dateWords are the words of dates and times, zone abbreviations apart.
var dateWords = map[string]dateWord{
	"infinity":  {wordReserved, reservedLate},
	"-infinity": {wordReserved, reservedEarly}, "epoch": {wordReserved, reservedEpoch},
	"now": {wordReserved, reservedNow}, "today": {wordReserved, reservedToday},
	"tomorrow": {wordReserved, reservedTomorrow}, "yesterday": {wordReserved, reservedYesterday},
	"allballs": {wordReserved, reservedZulu},
	"ad":       {wordADBC, eraAD}, "bc": {wordADBC, eraBC},
	"am": {wordAMPM, halfAM}, "pm": {wordAMPM, halfPM},
	"at": {wordIgnore, 0}, "on": {wordIgnore, 0},
	"dst": {wordDST, 0}, "t": {wordISOTime, int(unitTime)},
	"d": {wordUnit, int(unitDay)}, "h": {wordUnit, int(unitHour)}, "j": {wordUnit, int(unitJulian)},
	"jd": {wordUnit, int(unitJulian)}, "julian": {wordUnit, int(unitJulian)},
	"m": {wordUnit, int(unitMonth)}, "mm": {wordUnit, int(unitMinute)},
	"s": {wordUnit, int(unitSecond)}, "y": {wordUnit, int(unitYear)},
	"dow": {wordUnit, int(unitDOW)}, "doy": {wordUnit, int(unitDOY)},
	"isodow": {wordUnit, int(unitISODOW)}, "isoyear": {wordUnit, int(unitISOYear)},
	"jan": {wordMonth, 1}, "january": {wordMonth, 1}, "feb": {wordMonth, 2}, "february": {wordMonth, 2},
	"mar": {wordMonth, 3}, "march": {wordMonth, 3}, "apr": {wordMonth, 4}, "april": {wordMonth, 4},
	"may": {wordMonth, 5}, "jun": {wordMonth, 6}, "june": {wordMonth, 6}, "jul": {wordMonth, 7},
	"july": {wordMonth, 7}, "aug": {wordMonth, 8}, "august": {wordMonth, 8}, "sep": {wordMonth, 9},
	"sept": {wordMonth, 9}, "september": {wordMonth, 9}, "oct": {wordMonth, 10},
	"october": {wordMonth, 10}, "nov": {wordMonth, 11}, "november": {wordMonth, 11},
	"dec": {wordMonth, 12}, "december": {wordMonth, 12},
	"sun": {wordWeekday, 0}, "sunday": {wordWeekday, 0}, "mon": {wordWeekday, 1},
	"monday": {wordWeekday, 1}, "tue": {wordWeekday, 2}, "tues": {wordWeekday, 2},
	"tuesday": {wordWeekday, 2}, "wed": {wordWeekday, 3}, "weds": {wordWeekday, 3},
	"wednesday": {wordWeekday, 3}, "thu": {wordWeekday, 4}, "thur": {wordWeekday, 4},
	"thurs": {wordWeekday, 4}, "thursday": {wordWeekday, 4}, "fri": {wordWeekday, 5},
	"friday": {wordWeekday, 5}, "sat": {wordWeekday, 6}, "saturday": {wordWeekday, 6},
}

func lookupDateWord(w string) (dateWord, bool) {
	d, ok := dateWords[w]
	return d, ok
}

// unitNames are the units of interval input and of extract and date_trunc.
// Keys are cut at maxUnitName bytes, as PostgreSQL cuts what it looks up.
var unitNames = map[string]unit{
	"c": unitCentury, "cent": unitCentury, "centuries": unitCentury, "century": unitCentury,
	"d": unitDay, "day": unitDay, "days": unitDay,
	"dec": unitDecade, "decade": unitDecade, "decades": unitDecade, "decs": unitDecade,
	"h": unitHour, "hour": unitHour, "hours": unitHour, "hr": unitHour, "hrs": unitHour,
	"m": unitMinute, "min": unitMinute, "mins": unitMinute, "minute": unitMinute, "minutes": unitMinute,
	"microsecon": unitMicrosecond, "us": unitMicrosecond, "usec": unitMicrosecond,
	"usecond": unitMicrosecond, "useconds": unitMicrosecond, "usecs": unitMicrosecond,
	"mil": unitMillennium, "mils": unitMillennium, "millennia": unitMillennium, "millennium": unitMillennium,
	"millisecon": unitMillisecond, "ms": unitMillisecond, "msec": unitMillisecond,
	"msecond": unitMillisecond, "mseconds": unitMillisecond, "msecs": unitMillisecond,
	"mon": unitMonth, "mons": unitMonth, "month": unitMonth, "months": unitMonth,
	"qtr": unitQuarter, "quarter": unitQuarter,
	"s": unitSecond, "sec": unitSecond, "second": unitSecond, "seconds": unitSecond, "secs": unitSecond,
	"timezone": unitTimezone, "timezone_h": unitTimezoneHour, "timezone_m": unitTimezoneMinute,
	"w": unitWeek, "week": unitWeek, "weeks": unitWeek,
	"y": unitYear, "year": unitYear, "years": unitYear, "yr": unitYear, "yrs": unitYear,
}

const maxUnitName = 10

func lookupUnit(w string) (unit, bool) {
	if len(w) > maxUnitName {
		w = w[:maxUnitName]
	}
	u, ok := unitNames[w]
	return u, ok
}
