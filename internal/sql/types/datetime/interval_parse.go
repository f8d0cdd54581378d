package datetime

import (
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// intervalSum collects an interval from its written parts, watching for
// overflow.
type intervalSum struct {
	years, months, days int32
	micros              int64
}

func addInt32(to *int32, n int64) bool {
	s, ok := types.AddInt64(int64(*to), n)
	if !ok || s != int64(int32(s)) {
		return false
	}
	*to = int32(s)
	return true
}

// addMicros adds (n + frac) units of the given length.
func (v *intervalSum) addMicros(n int64, frac float64, length int64) bool {
	m, ok := types.MulInt64(n, length)
	if !ok {
		return false
	}
	if v.micros, ok = types.AddInt64(v.micros, m); !ok {
		return false
	}
	return v.addFraction(frac, length)
}

func (v *intervalSum) addFraction(frac float64, length int64) bool {
	frac *= float64(length)
	whole := math.Trunc(frac)
	n := int64(whole)
	switch rest := frac - whole; {
	case rest > 0.5:
		n++
	case rest < -0.5:
		n--
	}
	var ok bool
	v.micros, ok = types.AddInt64(v.micros, n)
	return ok
}

// addDays adds (n + frac) × days; what is not a whole day becomes time.
func (v *intervalSum) addDays(n int64, frac float64, days int64) bool {
	m, ok := types.MulInt64(n, days)
	if !ok || !addInt32(&v.days, m) {
		return false
	}
	frac *= float64(days)
	whole := math.Trunc(frac)
	return addInt32(&v.days, int64(whole)) && v.addFraction(frac-whole, types.MicrosPerDay)
}

func (v *intervalSum) addMonths(n int64, frac float64) bool {
	return addInt32(&v.months, n) && v.addDays(0, frac, 30)
}

// addYears adds (n + frac) × years; a fraction is rounded to months.
func (v *intervalSum) addYears(n int64, frac float64, years int64) bool {
	m, ok := types.MulInt64(n, years)
	return ok && addInt32(&v.years, m) &&
		addInt32(&v.months, int64(math.RoundToEven(frac*float64(years)*12)))
}

// add adds (n + frac) of a unit.
func (v *intervalSum) add(u unit, n int64, frac float64) dateErr {
	ok := true
	switch u {
	case unitMicrosecond:
		ok = v.addMicros(n, frac, 1)
	case unitMillisecond:
		ok = v.addMicros(n, frac, 1000)
	case unitSecond:
		ok = v.addMicros(n, frac, types.MicrosPerSec)
	case unitMinute:
		ok = v.addMicros(n, frac, types.MicrosPerMin)
	case unitHour:
		ok = v.addMicros(n, frac, types.MicrosPerHour)
	case unitDay:
		ok = v.addDays(n, frac, 1)
	case unitWeek:
		ok = v.addDays(n, frac, 7)
	case unitMonth:
		ok = v.addMonths(n, frac)
	case unitYear:
		ok = v.addYears(n, frac, 1)
	case unitDecade:
		ok = v.addYears(n, frac, 10)
	case unitCentury:
		ok = v.addYears(n, frac, 100)
	case unitMillennium:
		ok = v.addYears(n, frac, 1000)
	default:
		return dateBadFormat
	}
	if !ok {
		return dateFieldOverflow
	}
	return dateOK
}

func (v *intervalSum) negate() bool {
	if v.years == math.MinInt32 || v.months == math.MinInt32 || v.days == math.MinInt32 || v.micros == math.MinInt64 {
		return false
	}
	v.years, v.months, v.days, v.micros = -v.years, -v.months, -v.days, -v.micros
	return true
}

func parseInterval(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	r, _ := types.IntervalTypmodParts(t.Typmod)
	var v intervalSum
	var l dateLexer
	e := l.lex(s)
	if e == dateOK {
		d := intervalDecoder{
			fields: l.fields[:l.n], rng: r,
			negative: intervalStyle(fc) == types.IntervalSQLStandard && onlyLeadingMinus(l.fields[:l.n]),
		}
		e = d.decode()
		v = d.sum
	}
	if e == dateBadFormat {
		v = intervalSum{}
		e = decodeISOInterval(s, &v)
	}
	if e == dateFieldOverflow {
		e = dateIntervalOverflow
	}
	if e != dateOK {
		return types.Null, dateError(e, types.IntervalFamily, s, "")
	}
	months := int64(v.years)*12 + int64(v.months)
	if months != int64(int32(months)) {
		return types.Null, errIntervalRange()
	}
	d := types.NewInterval(types.IntervalValue{Months: int32(months), Days: v.days, Micros: v.micros})
	return types.ApplyTypmod(d, t, false, nil)
}

func errIntervalRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")
}

// onlyLeadingMinus reports whether a minus before the first field is the only
// sign: the SQL standard then negates all fields.
func onlyLeadingMinus(fields []lexField) bool {
	for i, f := range fields {
		signed := f.text[0] == '-' || f.text[0] == '+'
		if i == 0 && f.text[0] != '-' || i > 0 && signed {
			return false
		}
	}
	return len(fields) > 0
}

// intervalDecoder reads the fields of an interval from right to left, so that
// units come before their numbers.
type intervalDecoder struct {
	fields   []lexField
	rng      types.IntervalRange
	negative bool // negate every field
	sum      intervalSum
	have     fieldSet
	unit     unit // of the next number, unitNone before the first
	ago      bool
}

func (d *intervalDecoder) decode() dateErr {
	for i := len(d.fields) - 1; i >= 0; i-- {
		set, err := d.field(d.fields[i])
		if err != dateOK {
			return err
		}
		if set&d.have != 0 {
			return dateBadFormat
		}
		d.have |= set
	}
	if d.have == 0 {
		return dateBadFormat
	}
	if d.ago && !d.sum.negate() {
		return dateFieldOverflow
	}
	return dateOK
}

func (d *intervalDecoder) field(f lexField) (fieldSet, dateErr) {
	switch f.kind {
	case lexTime:
		return d.clock(f.text, d.negative)
	case lexZone:
		if strings.IndexByte(f.text, ':') >= 0 {
			set, err := d.clock(f.text[1:], f.text[0] == '-' || d.negative)
			if err == dateOK {
				return set, err
			}
		}
		return d.number(f.text)
	case lexNumber, lexDate:
		return d.number(f.text)
	}
	return d.word(f.text)
}

func (d *intervalDecoder) clock(s string, negative bool) (fieldSet, dateErr) {
	t, err := decodeClock(s, d.rng)
	if err != dateOK {
		return 0, err
	}
	var v intervalSum
	if !v.addMicros(t.hour, 0, types.MicrosPerHour) || !v.addMicros(int64(t.min), 0, types.MicrosPerMin) ||
		!v.addMicros(int64(t.sec)*types.MicrosPerSec+int64(t.micros), 0, 1) {
		return 0, dateFieldOverflow
	}
	if negative {
		v.micros = -v.micros
	}
	d.sum.micros = v.micros
	d.unit = unitDay
	return setTime | setSeconds, dateOK
}

func (d *intervalDecoder) word(s string) (fieldSet, dateErr) {
	switch s {
	case "@":
		return 0, dateOK
	case "ago":
		d.ago = true
		d.unit = unitTime // a number cannot count this
		return 0, dateOK
	}
	u, ok := lookupUnit(s)
	if !ok {
		return 0, dateBadFormat
	}
	d.unit = u
	return 0, dateOK
}

// defaultUnit returns what a rightmost number without a unit counts.
func (d *intervalDecoder) defaultUnit() unit {
	switch d.rng {
	case types.RangeYear:
		return unitYear
	case types.RangeMonth, types.RangeYear | types.RangeMonth:
		return unitMonth
	case types.RangeDay:
		return unitDay
	case types.RangeHour, types.RangeDay | types.RangeHour:
		return unitHour
	case types.RangeMinute, types.RangeHour | types.RangeMinute, types.RangeDay | types.RangeHour | types.RangeMinute:
		return unitMinute
	}
	return unitSecond
}

func (d *intervalDecoder) number(s string) (fieldSet, dateErr) {
	if d.unit == unitNone {
		d.unit = d.defaultUnit()
	}
	end := 0
	if s[0] == '-' || s[0] == '+' {
		end = 1
	}
	for end < len(s) && ascii.IsDigit(s[end]) {
		end++
	}
	n, frac := int64(0), 0.0
	if head := s[:end]; head != "" && head != "-" && head != "+" {
		v, err := strconv.ParseInt(head, 10, 64)
		if err != nil {
			return 0, dateFieldOverflow
		}
		n = v
	}
	switch rest := s[end:]; {
	case rest == "":
	case rest[0] == '-':
		var err dateErr
		if n, err = yearsMonths(n, rest[1:], s[0] == '-'); err != dateOK {
			return 0, err
		}
		d.unit = unitMonth
	case rest[0] == '.':
		f, ok := fraction(rest)
		if !ok {
			return 0, dateBadFormat
		}
		if frac = f; s[0] == '-' {
			frac = -f
		}
	default:
		return 0, dateBadFormat
	}
	if d.negative {
		n, frac = -types.AbsInt64(n), -math.Abs(frac)
	}
	set, err := unitSet(d.unit, frac), d.sum.add(d.unit, n, frac)
	if d.unit == unitHour {
		d.unit = unitDay // what stands before it without a unit
	}
	return set, err
}

// yearsMonths joins the SQL standard's "years-months".
func yearsMonths(years int64, months string, negative bool) (int64, dateErr) {
	m, rest, ok := leadingInt(months)
	if !ok || m >= 12 {
		return 0, dateFieldOverflow
	}
	if rest != "" {
		return 0, dateBadFormat
	}
	if negative {
		m = -m
	}
	n, ok := types.MulInt64(years, 12)
	if !ok {
		return 0, dateFieldOverflow
	}
	if n, ok = types.AddInt64(n, int64(m)); !ok {
		return 0, dateFieldOverflow
	}
	return n, dateOK
}

// unitSet returns the fields a number of a unit fills: seconds with a fraction
// leave no room for milliseconds.
func unitSet(u unit, frac float64) fieldSet {
	switch u {
	case unitMicrosecond:
		return setMicrosecond
	case unitMillisecond:
		return setMillisecond
	case unitSecond:
		if frac != 0 {
			return setSeconds
		}
		return setSecond
	case unitMinute:
		return setMinute
	case unitHour:
		return setHour
	case unitDay:
		return setDay
	case unitWeek:
		return setWeek
	case unitMonth:
		return setMonth
	case unitYear:
		return setYear
	case unitDecade:
		return setDecade
	case unitCentury:
		return setCentury
	}
	return setMillennium
}
