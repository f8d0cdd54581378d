package datetime

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

func (d *dateDecoder) numberField(i int, s string) (fieldSet, dateErr) {
	if d.prefix != unitNone {
		return d.prefixedNumber(s)
	}
	point := strings.IndexByte(s, '.')
	if d.timeOnly {
		return d.timeOnlyNumber(i, s, point)
	}
	switch {
	case point >= 0 && d.have&setDate == 0:
		return d.date(s)
	case point > 2:
		return d.runTogether(s, d.have)
	case len(s) >= 6 && (d.have&setDate == 0 || d.have&setTime == 0):
		return d.runTogether(s, d.have)
	}
	return d.number(s, d.have)
}

func (d *dateDecoder) timeOnlyNumber(i int, s string, point int) (fieldSet, dateErr) {
	have := d.have | setDate
	last := len(d.fields) - 1
	switch {
	case point >= 0 && i == 0 && last >= 1 && d.fields[last].kind == lexDate:
		return d.date(s)
	case point > 2, point < 0 && len(s) > 4:
		return d.runTogether(s, have)
	case point >= 0:
		return 0, dateBadFormat
	}
	return d.number(s, have)
}

// prefixedNumber reads a number whose meaning the word before it gave.
func (d *dateDecoder) prefixedNumber(s string) (fieldSet, dateErr) {
	n, rest, ok := leadingInt(s)
	if !ok {
		return 0, dateFieldOverflow
	}
	prefix := d.prefix
	d.prefix = unitNone
	if rest != "" && (rest[0] != '.' || prefix != unitSecond && prefix != unitJulian && prefix != unitTime) {
		return 0, dateBadFormat
	}
	switch prefix {
	case unitYear:
		d.c.Year = n
		return setYear, dateOK
	case unitMonth:
		// After an hour or with a date in hand, m is minutes.
		if d.have&setMonth != 0 && d.have&setHour != 0 {
			d.c.Min = n
			return setMinute, dateOK
		}
		d.c.Month = n
		return setMonth, dateOK
	case unitDay:
		d.c.Day = n
		return setDay, dateOK
	case unitHour:
		d.c.Hour = n
		return setHour, dateOK
	case unitMinute:
		d.c.Min = n
		return setMinute, dateOK
	case unitSecond:
		d.c.Sec = n
		d.c.Micros, ok = fractionMicros(rest)
		if !ok {
			return 0, dateBadFormat
		}
		if rest != "" {
			return setSeconds, dateOK
		}
		return setSecond, dateOK
	case unitJulian:
		return d.julianNumber(n, rest)
	case unitTime:
		set, err := d.runTogether(s, d.have|setDate)
		if err == dateOK && set != setTime {
			return 0, dateBadFormat
		}
		return set, err
	}
	return 0, dateBadFormat
}

// julianNumber takes a Julian day, whose fraction is the time of day.
func (d *dateDecoder) julianNumber(n int, rest string) (fieldSet, dateErr) {
	d.setJulian(n)
	if rest == "" {
		return setDate, dateOK
	}
	f, ok := fraction(rest)
	if !ok {
		return 0, dateBadFormat
	}
	t := TimeParts(int64(f * float64(types.MicrosPerDay)))
	d.c.Hour, d.c.Min, d.c.Sec, d.c.Micros = t.Hour, t.Min, t.Sec, t.Micros
	return setDate | setTime, dateOK
}

// number guesses which field of a date a number is, from the fields before it
// and DateStyle.
func (d *dateDecoder) number(s string, have fieldSet) (fieldSet, dateErr) {
	n, rest, ok := leadingInt(s)
	if !ok {
		return 0, dateFieldOverflow
	}
	if rest != "" {
		if rest[0] != '.' {
			return 0, dateBadFormat
		}
		if len(s)-len(rest) > 2 {
			return d.runTogether(s, have|setDate)
		}
		micros, ok := fractionMicros(rest)
		if !ok {
			return 0, dateBadFormat
		}
		d.c.Micros = micros
	}
	long := len(s) >= 3
	if len(s) == 3 && have&setDate == setYear && n >= 1 && n <= 366 {
		d.doy = n
		return setDOY | setMonth | setDay, dateOK
	}
	year := func() (fieldSet, dateErr) {
		d.c.Year = n
		d.twoDigits = len(s) <= 2
		return setYear, dateOK
	}
	month := func() (fieldSet, dateErr) { d.c.Month = n; return setMonth, dateOK }
	day := func() (fieldSet, dateErr) { d.c.Day = n; return setDay, dateOK }
	switch have & setDate {
	case 0:
		switch {
		case long || d.order == types.OrderYMD:
			return year()
		case d.order == types.OrderDMY:
			return day()
		}
		return month()
	case setYear, setDay:
		return month()
	case setMonth:
		if d.textMonth && (long || d.order == types.OrderYMD) {
			return year()
		}
		return day()
	case setYear | setMonth:
		if d.textMonth && long && d.twoDigits { // what was taken for a year was the day
			d.c.Day, d.c.Year = d.c.Year, n
			d.twoDigits = false
			return setDay, dateOK
		}
		return day()
	case setMonth | setDay:
		return year()
	case setDate:
		return d.runTogether(s, have)
	}
	return 0, dateBadFormat
}

// runTogether reads digits without separators: yymmdd or yyyymmdd while the
// date is missing, else hhmm or hhmmss, perhaps with a fraction.
func (d *dateDecoder) runTogether(s string, have fieldSet) (fieldSet, dateErr) {
	digits, frac, point := strings.Cut(s, ".")
	if point {
		micros, ok := fractionMicros("." + frac)
		if !ok {
			return 0, dateBadFormat
		}
		d.c.Micros = micros
	} else if have&setDate != setDate && len(s) >= 6 {
		n := len(s)
		y, _, ok := leadingInt(s[:n-4])
		if !ok {
			return 0, dateFieldOverflow
		}
		d.c.Year, d.c.Month, d.c.Day = y, atoi2(s[n-4:]), atoi2(s[n-2:])
		d.twoDigits = n == 6
		return setDate, dateOK
	}
	if have&setTime != setTime {
		switch len(digits) {
		case 6:
			d.c.Hour, d.c.Min, d.c.Sec = atoi2(digits), atoi2(digits[2:]), atoi2(digits[4:])
			return setTime, dateOK
		case 4:
			d.c.Hour, d.c.Min, d.c.Sec = atoi2(digits), atoi2(digits[2:]), 0
			return setTime, dateOK
		}
	}
	return 0, dateBadFormat
}

func atoi2(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
