package datetime

import (
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
)

var (
	monthNames = [13]string{"", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	dayNames   = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

// maxZoneAbbrev is the longest zone abbreviation printed.
const maxZoneAbbrev = 10

// Append appends the text form of a date, time, timestamp or interval.
func Append(dst []byte, d types.Datum, fc *types.FormatContext) []byte {
	switch d.Family() {
	case types.DateFamily:
		return appendDate(dst, d.Int(), dateStyle(fc))
	case types.TimeFamily:
		return appendClock(dst, TimeParts(d.Int()))
	case types.TimeTZFamily:
		micros, west := d.TimeTZ()
		return appendZone(appendClock(dst, TimeParts(micros)), -int(west))
	case types.IntervalFamily:
		return appendInterval(dst, d.Interval(), intervalStyle(fc))
	case types.TimestampFamily:
		return appendTimestamp(dst, d.Int(), nil, dateStyle(fc))
	}
	return appendTimestamp(dst, d.Int(), fc.Location(), dateStyle(fc))
}

func appendInfinity(dst []byte, sign int) []byte {
	if sign < 0 {
		dst = append(dst, '-')
	}
	return append(dst, "infinity"...)
}

// appendPadded appends n ≥ 0 with at least width digits.
func appendPadded(dst []byte, n int64, width int) []byte {
	if width == 2 && n < 100 {
		return append(dst, byte('0'+n/10), byte('0'+n%10))
	}
	for p := int64(1); width > 1; width-- {
		if p *= 10; n < p {
			for ; width > 1; width-- {
				dst = append(dst, '0')
			}
			break
		}
	}
	return strconv.AppendInt(dst, n, 10)
}

// appendYear prints an astronomical year without its era.
func appendYear(dst []byte, year int) []byte {
	if year <= 0 {
		year = 1 - year
	}
	switch {
	case year < 10:
		dst = append(dst, "000"...)
	case year < 100:
		dst = append(dst, "00"...)
	case year < 1000:
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(year), 10)
}

func appendEra(dst []byte, year int) []byte {
	if year <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendDate(dst []byte, days int64, style types.DateStyle) []byte {
	if sign := types.InfSign(days, types.DateNegInf, types.DateInf); sign != 0 {
		return appendInfinity(dst, sign)
	}
	y, m, d := CivilFromDays(days)
	if style.Format == types.DatePostgres {
		dst = appendDayMonth(dst, m, d, '-', style.Order == types.OrderDMY)
		dst = append(dst, '-')
		dst = appendYear(dst, y)
	} else {
		dst = appendYMD(dst, y, m, d, style)
	}
	return appendEra(dst, y)
}

// appendDayMonth prints day and month in the order of DateStyle.
func appendDayMonth(dst []byte, m, d int, sep byte, dayFirst bool) []byte {
	if dayFirst {
		m, d = d, m
	}
	dst = appendPadded(dst, int64(m), 2)
	dst = append(dst, sep)
	return appendPadded(dst, int64(d), 2)
}

func appendYMD(dst []byte, y, m, d int, style types.DateStyle) []byte {
	switch style.Format {
	case types.DateSQL:
		dst = appendDayMonth(dst, m, d, '/', style.Order == types.OrderDMY)
		dst = append(dst, '/')
		return appendYear(dst, y)
	case types.DateGerman:
		dst = appendDayMonth(dst, m, d, '.', true)
		dst = append(dst, '.')
		return appendYear(dst, y)
	}
	dst = appendYear(dst, y)
	dst = append(dst, '-')
	return appendDayMonth(dst, m, d, '-', false)
}

func appendClock(dst []byte, c Civil) []byte {
	dst = appendPadded(dst, int64(c.Hour), 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, int64(c.Min), 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, int64(c.Sec), 2)
	return appendFraction(dst, c.Micros)
}

// appendFraction prints .ffffff without trailing zeros, nothing for 0.
func appendFraction(dst []byte, micros int) []byte {
	if micros == 0 {
		return dst
	}
	dst = append(dst, '.')
	for p := 100_000; micros > 0; p /= 10 {
		dst = append(dst, byte('0'+micros/p))
		micros %= p
	}
	return dst
}

// appendZone prints an offset east of UTC in seconds: +hh[:mm[:ss]].
func appendZone(dst []byte, east int) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	dst = append(dst, sign)
	dst = appendPadded(dst, int64(east/3600), 2)
	if east%3600 != 0 {
		dst = append(dst, ':')
		dst = appendPadded(dst, int64(east/60%60), 2)
	}
	if east%60 != 0 {
		dst = append(dst, ':')
		dst = appendPadded(dst, int64(east%60), 2)
	}
	return dst
}

// appendTimestamp prints a timestamp, or with loc a timestamptz in that zone.
func appendTimestamp(dst []byte, micros int64, loc *time.Location, style types.DateStyle) []byte {
	if sign := types.InfSign(micros, types.TimestampNegInf, types.TimestampInf); sign != 0 {
		return appendInfinity(dst, sign)
	}
	east, abbrev := 0, ""
	if loc != nil {
		east, abbrev = OffsetAt(loc, micros)
		micros += int64(east) * types.MicrosPerSec
	}
	c := TimestampParts(micros)
	if style.Format == types.DatePostgres {
		dst = append(dst, dayNames[DayOfWeek(types.FloorDiv(micros, types.MicrosPerDay))]...)
		dst = append(dst, ' ')
		if style.Order == types.OrderDMY {
			dst = appendPadded(dst, int64(c.Day), 2)
			dst = append(dst, ' ')
			dst = append(dst, monthNames[c.Month]...)
		} else {
			dst = append(dst, monthNames[c.Month]...)
			dst = append(dst, ' ')
			dst = appendPadded(dst, int64(c.Day), 2)
		}
		dst = append(dst, ' ')
		dst = appendClock(dst, c)
		dst = append(dst, ' ')
		dst = appendYear(dst, c.Year)
	} else {
		dst = appendYMD(dst, c.Year, c.Month, c.Day, style)
		dst = append(dst, ' ')
		dst = appendClock(dst, c)
	}
	if loc != nil {
		dst = appendZoneName(dst, east, abbrev, style)
	}
	return appendEra(dst, c.Year)
}

func appendZoneName(dst []byte, east int, abbrev string, style types.DateStyle) []byte {
	if style.Format == types.DateISO {
		return appendZone(dst, east)
	}
	dst = append(dst, ' ')
	return append(dst, abbrev[:min(len(abbrev), maxZoneAbbrev)]...)
}

func dateStyle(fc *types.FormatContext) types.DateStyle {
	if fc == nil {
		return types.DateStyle{}
	}
	return fc.DateStyle
}

func intervalStyle(fc *types.FormatContext) types.IntervalStyle {
	if fc == nil {
		return types.IntervalPostgres
	}
	return fc.IntervalStyle
}
