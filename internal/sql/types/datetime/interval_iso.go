package datetime

import (
	"math"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
)

// maxISONumber is the largest number in an ISO 8601 interval.
const maxISONumber = 1e15

// isoInterval reads the ISO 8601 forms of an interval: with designators
// (P1Y2DT3H), and the alternative ones (P0001-02-03T04:05:06, P00010203).
type isoInterval struct {
	s    string
	v    *intervalSum
	n    int64
	frac float64
	len  int // digits of n
}

func decodeISOInterval(s string, v *intervalSum) dateErr {
	if len(s) < 2 || s[0] != 'P' {
		return dateBadFormat
	}
	p := isoInterval{s: s[1:], v: v}
	time, any := false, false
	for p.s != "" {
		if p.s[0] == 'T' {
			p.s = p.s[1:]
			time, any = true, false
			continue
		}
		if err := p.number(); err != dateOK {
			return err
		}
		var designator byte
		if p.s != "" {
			designator = p.s[0]
		}
		if u := isoUnit(designator, time); u != unitNone {
			p.s = p.s[1:]
			if err := v.add(u, p.n, p.frac); err != dateOK {
				return err
			}
			any = true
			continue
		}
		if any {
			return dateBadFormat
		}
		var err dateErr
		if time {
			return p.alternativeTime()
		}
		if err = p.alternativeDate(); err != dateOK {
			return err
		}
	}
	return dateOK
}

func isoUnit(c byte, time bool) unit {
	switch {
	case !time && c == 'Y':
		return unitYear
	case !time && c == 'M':
		return unitMonth
	case !time && c == 'W':
		return unitWeek
	case !time && c == 'D':
		return unitDay
	case time && c == 'H':
		return unitHour
	case time && c == 'M':
		return unitMinute
	case time && c == 'S':
		return unitSecond
	}
	return unitNone
}

// number reads a signed decimal number at the front of p.s.
func (p *isoInterval) number() dateErr {
	s := strings.TrimPrefix(p.s, "-")
	i, point := 0, false
	p.len = 0
	for ; i < len(s) && (ascii.IsDigit(s[i]) || s[i] == '.' && !point); i++ {
		if s[i] == '.' {
			point = true
		} else if !point {
			p.len++
		}
	}
	if i == 0 || i == 1 && point {
		return dateBadFormat
	}
	i = skipExponent(s, i)
	f, ok := parseFloatLoose(s[:i])
	if !ok || f > maxISONumber {
		return dateFieldOverflow
	}
	if len(s) < len(p.s) {
		f = -f
	}
	whole := math.Trunc(f)
	p.n, p.frac = int64(whole), f-whole
	p.s = s[i:]
	return dateOK
}

// skipExponent returns where an exponent at s[i], if there is one, ends.
func skipExponent(s string, i int) int {
	j := i
	if j < len(s) && s[j]|0x20 == 'e' {
		j++
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if j < len(s) && ascii.IsDigit(s[j]) {
			for j < len(s) && ascii.IsDigit(s[j]) {
				j++
			}
			return j
		}
	}
	return i
}

// alternativeDate continues after the first number of a date without
// designators.
func (p *isoInterval) alternativeDate() dateErr {
	end := func() bool { return p.s == "" || p.s[0] == 'T' }
	if end() && p.len == 8 {
		if err := p.v.add(unitYear, p.n/10000, 0); err != dateOK {
			return err
		}
		if err := p.v.add(unitMonth, p.n/100%100, 0); err != dateOK {
			return err
		}
		return p.v.add(unitDay, p.n%100, p.frac)
	}
	for i, u := range []unit{unitYear, unitMonth, unitDay} {
		if i > 0 {
			if p.s[0] != '-' {
				return dateBadFormat
			}
			p.s = p.s[1:]
			if err := p.number(); err != dateOK {
				return err
			}
		}
		if err := p.v.add(u, p.n, p.frac); err != dateOK {
			return err
		}
		if end() {
			return dateOK
		}
	}
	return dateBadFormat
}

// alternativeTime continues after the first number of a time without
// designators, to the end.
func (p *isoInterval) alternativeTime() dateErr {
	if p.s == "" && p.len == 6 {
		if err := p.v.add(unitHour, p.n/10000, 0); err != dateOK {
			return err
		}
		if err := p.v.add(unitMinute, p.n/100%100, 0); err != dateOK {
			return err
		}
		return p.v.add(unitSecond, p.n%100, p.frac)
	}
	for i, u := range []unit{unitHour, unitMinute, unitSecond} {
		if i > 0 {
			if p.s[0] != ':' {
				return dateBadFormat
			}
			p.s = p.s[1:]
			if err := p.number(); err != dateOK {
				return err
			}
		}
		if err := p.v.add(u, p.n, p.frac); err != dateOK {
			return err
		}
		if p.s == "" {
			return dateOK
		}
	}
	return dateBadFormat
}
