package datetime

import (
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// clock is a time written with colons; the hour may be large in an interval.
type clock struct {
	hour   int64
	min    int
	sec    int
	micros int
}

// decodeClock reads hh:mm, hh:mm:ss or mm:ss.fff, fraction optional.
func decodeClock(s string, r types.IntervalRange) (t clock, err dateErr) {
	head, rest, _ := strings.Cut(s, ":")
	hour, perr := strconv.ParseInt(head, 10, 64)
	if perr != nil {
		return t, overflowOrBad(perr)
	}
	t.hour = hour
	var ok bool
	if t.min, rest, ok = leadingInt(rest); !ok {
		return t, dateFieldOverflow
	}
	switch {
	case rest == "":
		if r == types.RangeMinute|types.RangeSecond {
			if t.hour > math.MaxInt32 {
				return t, dateFieldOverflow
			}
			t.hour, t.min, t.sec = 0, int(t.hour), t.min
		}
	case rest[0] == '.':
		if t.micros, ok = fractionMicros(rest); !ok {
			return t, dateBadFormat
		}
		if t.hour > math.MaxInt32 {
			return t, dateFieldOverflow
		}
		t.hour, t.min, t.sec = 0, int(t.hour), t.min
	case rest[0] == ':':
		if t.sec, rest, ok = leadingInt(rest[1:]); !ok {
			return t, dateFieldOverflow
		}
		if t.micros, ok = fractionMicros(rest); !ok {
			return t, dateBadFormat
		}
	default:
		return t, dateBadFormat
	}
	if t.hour < 0 || t.min < 0 || t.min > 59 || t.sec < 0 || t.sec > 60 {
		return t, dateFieldOverflow
	}
	return t, dateOK
}

func overflowOrBad(err error) dateErr {
	if isRange(err) {
		return dateFieldOverflow
	}
	return dateBadFormat
}

// decodeZoneOffset reads a signed offset from UTC as it follows a time: hours,
// hhmm, or with colons. The result is in seconds west.
func decodeZoneOffset(s string) (west int, err dateErr) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, dateBadFormat
	}
	hr, rest, ok := leadingInt(s[1:])
	if !ok {
		return 0, dateZoneOverflow
	}
	var mn, sec int
	switch {
	case rest != "" && rest[0] == ':':
		if mn, rest, ok = leadingInt(rest[1:]); !ok {
			return 0, dateZoneOverflow
		}
		if rest != "" && rest[0] == ':' {
			if sec, rest, ok = leadingInt(rest[1:]); !ok {
				return 0, dateZoneOverflow
			}
		}
	case rest == "" && len(s) > 3:
		hr, mn = hr/100, hr%100
	}
	if hr > 15 || mn > 59 || sec > 59 {
		return 0, dateZoneOverflow
	}
	if rest != "" {
		return 0, dateBadFormat
	}
	west = hr*3600 + mn*60 + sec
	if s[0] == '+' {
		west = -west
	}
	return west, dateOK
}

// NumericZone reads a time zone given as an offset east of UTC, such as +5, +0530 or
// -05:30:15, and returns its seconds west. Other zones are not numeric; an offset that is
// out of range is an error.
func NumericZone(s string) (west int, numeric bool, err error) {
	west, bad := decodeZoneOffset(s)
	if bad == dateZoneOverflow {
		return 0, false, pgerr.New(pgerr.InvalidParameterValue, "numeric time zone \"%s\" out of range", s)
	}
	return west, bad == dateOK, nil
}

// leadingInt reads the digits s starts with (none read as zero); false when
// they exceed 32 bits.
func leadingInt(s string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && ascii.IsDigit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
		if n > math.MaxInt32 {
			return 0, "", false
		}
	}
	return n, s[i:], true
}

// fraction reads ".ddd"; nothing, or a bare point, is zero.
func fraction(s string) (float64, bool) {
	if s == "" || s == "." {
		return 0, true
	}
	if s[0] != '.' {
		return 0, false
	}
	for i := 1; i < len(s); i++ {
		if !ascii.IsDigit(s[i]) {
			return 0, false
		}
	}
	return parseFloatLoose(s)
}

// fractionMicros reads ".ddd" as microseconds, rounded; one second is possible.
func fractionMicros(s string) (int, bool) {
	f, ok := fraction(s)
	return int(math.RoundToEven(f * 1e6)), ok
}

func parseFloatLoose(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
