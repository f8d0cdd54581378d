package datetime

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/types"
)

// intervalParts is an interval split into the fields that are printed; all
// parts of the time have one sign.
type intervalParts struct {
	year, month, day       int64
	hour, min, sec, micros int64
}

func splitInterval(v types.IntervalValue) intervalParts {
	return intervalParts{
		year: int64(v.Months / 12), month: int64(v.Months % 12), day: int64(v.Days),
		hour: v.Micros / types.MicrosPerHour, min: v.Micros / types.MicrosPerMin % 60,
		sec: v.Micros / types.MicrosPerSec % 60, micros: v.Micros % types.MicrosPerSec,
	}
}

func appendInterval(dst []byte, v types.IntervalValue, style types.IntervalStyle) []byte {
	p := splitInterval(v)
	switch style {
	case types.IntervalPostgresVerbose:
		return appendIntervalVerbose(dst, p)
	case types.IntervalSQLStandard:
		return appendIntervalSQL(dst, p)
	case types.IntervalISO8601:
		return appendIntervalISO(dst, p)
	}
	return appendIntervalPostgres(dst, p, v.Micros)
}

// appendSeconds prints |sec| with its fraction.
func appendSeconds(dst []byte, sec, micros int64, width int) []byte {
	dst = appendPadded(dst, types.AbsInt64(sec), width)
	return appendFraction(dst, int(types.AbsInt64(micros)))
}

func appendIntervalPostgres(dst []byte, p intervalParts, micros int64) []byte {
	zero, before := true, false // before: the last field was negative
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if !zero {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(dst, unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero, before = false, n < 0
	}
	part(p.year, " year")
	part(p.month, " mon")
	part(p.day, " day")
	if !zero && micros == 0 {
		return dst
	}
	if !zero {
		dst = append(dst, ' ')
	}
	if micros < 0 {
		dst = append(dst, '-')
	} else if before {
		dst = append(dst, '+')
	}
	return appendIntervalClock(dst, p, 2)
}

func appendIntervalClock(dst []byte, p intervalParts, hourWidth int) []byte {
	dst = appendPadded(dst, types.AbsInt64(p.hour), hourWidth)
	dst = append(dst, ':')
	dst = appendPadded(dst, types.AbsInt64(p.min), 2)
	dst = append(dst, ':')
	return appendSeconds(dst, p.sec, p.micros, 2)
}

func appendIntervalVerbose(dst []byte, p intervalParts) []byte {
	dst = append(dst, '@')
	zero, before := true, false // before: the first field was negative, so "ago"
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if zero {
			before = n < 0
			n = types.AbsInt64(n)
		} else if before {
			n = -n
		}
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(dst, unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero = false
	}
	part(p.year, " year")
	part(p.month, " mon")
	part(p.day, " day")
	part(p.hour, " hour")
	part(p.min, " min")
	if p.sec != 0 || p.micros != 0 {
		dst = append(dst, ' ')
		negative := p.sec < 0 || p.micros < 0
		if zero {
			before = negative
		} else if negative != before {
			dst = append(dst, '-')
		}
		dst = appendSeconds(dst, p.sec, p.micros, 1)
		dst = append(dst, " sec"...)
		if types.AbsInt64(p.sec) != 1 || p.micros != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (p intervalParts) negated() intervalParts {
	return intervalParts{-p.year, -p.month, -p.day, -p.hour, -p.min, -p.sec, -p.micros}
}

func appendIntervalSQL(dst []byte, p intervalParts) []byte {
	fields := [...]int64{p.year, p.month, p.day, p.hour, p.min, p.sec, p.micros}
	negative, positive := false, false
	for _, f := range fields {
		negative = negative || f < 0
		positive = positive || f > 0
	}
	yearMonth := p.year != 0 || p.month != 0
	dayTime := p.day != 0 || p.hour != 0 || p.min != 0 || p.sec != 0 || p.micros != 0
	switch {
	case !negative && !positive:
		return append(dst, '0')
	case negative && positive || yearMonth && dayTime:
		return appendIntervalSQLMixed(dst, p)
	}
	if negative {
		dst = append(dst, '-')
		p = p.negated()
	}
	if yearMonth {
		dst = strconv.AppendInt(dst, p.year, 10)
		dst = append(dst, '-')
		return strconv.AppendInt(dst, p.month, 10)
	}
	if p.day != 0 {
		dst = strconv.AppendInt(dst, p.day, 10)
		dst = append(dst, ' ')
	}
	return appendIntervalClock(dst, p, 1)
}

// appendIntervalSQLMixed prints what no SQL standard interval can hold, with a
// sign on each part so that it reads back.
func appendIntervalSQLMixed(dst []byte, p intervalParts) []byte {
	sign := func(negative bool) {
		if negative {
			dst = append(dst, '-')
		} else {
			dst = append(dst, '+')
		}
	}
	sign(p.year < 0 || p.month < 0)
	dst = strconv.AppendInt(dst, types.AbsInt64(p.year), 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, types.AbsInt64(p.month), 10)
	dst = append(dst, ' ')
	sign(p.day < 0)
	dst = strconv.AppendInt(dst, types.AbsInt64(p.day), 10)
	dst = append(dst, ' ')
	sign(p.hour < 0 || p.min < 0 || p.sec < 0 || p.micros < 0)
	return appendIntervalClock(dst, p, 1)
}

func appendIntervalISO(dst []byte, p intervalParts) []byte {
	if p == (intervalParts{}) {
		return append(dst, "PT0S"...)
	}
	part := func(n int64, designator byte) {
		if n != 0 {
			dst = strconv.AppendInt(dst, n, 10)
			dst = append(dst, designator)
		}
	}
	dst = append(dst, 'P')
	part(p.year, 'Y')
	part(p.month, 'M')
	part(p.day, 'D')
	if p.hour == 0 && p.min == 0 && p.sec == 0 && p.micros == 0 {
		return dst
	}
	dst = append(dst, 'T')
	part(p.hour, 'H')
	part(p.min, 'M')
	if p.sec != 0 || p.micros != 0 {
		if p.sec < 0 || p.micros < 0 {
			dst = append(dst, '-')
		}
		dst = appendSeconds(dst, p.sec, p.micros, 1)
		dst = append(dst, 'S')
	}
	return dst
}
