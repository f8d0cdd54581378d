package formatfuncs

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

func formattingFunctions() []*call.Overload {
	num := func(sig string, f func(d types.Datum) numberInput) *call.Overload {
		return call.Fn(sig, func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return numberToChar(c, f(a[0]), a[1].Str())
		}).Stable()
	}
	return []*call.Overload{
		call.Fn("to_char(timestamp,text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return timestampToChar(c, a[0], a[1].Str(), dateParts{})
		}).Stable(),
		call.Fn("to_char(timestamptz,text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if a[0].InfSign() != 0 {
				return types.Null, nil
			}
			var p dateParts
			p.zoned = true
			p.east, p.zone = datetime.OffsetAt(c.Format.Location(), a[0].Int())
			return timestampToChar(c, types.NewTimestamp(c.ToLocal(a[0].Int())), a[1].Str(), p)
		}).Stable(),
		call.Fn("to_char(interval,text) text", intervalToChar).Stable(),
		num("to_char(int4,text) text", intInput(4)), num("to_char(int8,text) text", intInput(8)),
		num("to_char(float4,text) text", floatInput(6)), num("to_char(float8,text) text", floatInput(15)),
		num("to_char(numeric,text) text", func(d types.Datum) numberInput { return numberInput{value: d} }),
		call.Fn("to_number(text,text) numeric", toNumber).Stable(),
		call.Fn("to_date(text,text) date", toDate).Stable(),
		call.Fn("to_timestamp(text,text) timestamptz", toTimestamp).Stable(),
	}
}

// dateParts are the values that the fields of a format print.
type dateParts struct {
	year, month, day  int // year 0 is 1 BC
	hour, minute, sec int
	micros            int
	weekday, yearDay  int
	isoYear, isoWeek  int
	days              int64 // since 2000-01-01
	east              int   // zone offset in seconds
	zone              string
	zoned, isInterval bool
}

func timestampToChar(c *call.Context, d types.Datum, format string, p dateParts) (types.Datum, error) {
	if d.InfSign() != 0 || format == "" {
		return types.Null, nil
	}
	civil := datetime.TimestampParts(d.Int())
	p.year, p.month, p.day = civil.Year, civil.Month, civil.Day
	p.hour, p.minute, p.sec, p.micros = civil.Hour, civil.Min, civil.Sec, civil.Micros
	p.days = datetime.DateFromTimestamp(d.Int())
	p.weekday = datetime.DayOfWeek(p.days)
	p.yearDay = datetime.DayOfYear(p.year, p.month, p.day)
	p.isoYear, p.isoWeek = datetime.ISOWeek(p.days)
	return p.print(c, format)
}

func intervalToChar(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[1].Str() == "" {
		return types.Null, nil
	}
	v := a[0].Interval()
	p := dateParts{isInterval: true}
	p.year, p.month, p.day = int(v.Months)/12, int(v.Months)%12, int(v.Days)
	t := v.Micros
	p.hour, t = int(t/types.MicrosPerHour), t%types.MicrosPerHour
	p.minute, t = int(t/types.MicrosPerMin), t%types.MicrosPerMin
	p.sec, p.micros = int(t/types.MicrosPerSec), int(t%types.MicrosPerSec)
	p.yearDay = (p.year*12+p.month)*30 + p.day
	// Weeks make little sense here, but this is what they are: those of the
	// fields taken as a date.
	p.days = datetime.DaysFromCivil(p.year, p.month, p.day)
	p.isoYear, p.isoWeek = datetime.ISOWeek(p.days)
	return p.print(c, a[1].Str())
}

func (p *dateParts) print(c *call.Context, format string) (types.Datum, error) {
	tokens, err := parseDateFormat(c, format)
	if err != nil {
		return types.Null, err
	}
	var b strings.Builder
	for _, t := range tokens {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if t.field == fieldNone {
			b.WriteString(t.literal)
			continue
		}
		if err := p.printField(&b, t); err != nil {
			return types.Null, err
		}
		if b.Len() > call.MaxStringLen {
			return types.Null, call.Fail(call.ErrTooLong)
		}
	}
	return call.Text(b.String())
}

var errIntervalField = pgerr.New(pgerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
	WithHint("Intervals are not tied to specific calendar dates.")

// number prints n with leading zeros, unless FM, and an ordinal suffix.
func (t dateToken) number(b *strings.Builder, n, width int) {
	switch t.field {
	case fieldHour12, fieldHour24, fieldMinute, fieldSecond, fieldMonth, fieldCentury:
		width += pick(n < 0, 1, 0)
	case fieldYear, fieldISOYear:
		width += pick(n < 0 && t.n == 4, 1, 0)
	}
	if t.fill {
		width = 0
	}
	s := fmt.Sprintf("%0*d", width, n)
	b.WriteString(s)
	if t.ordinal != 0 {
		b.WriteString(ordinalSuffix(s, t.ordinal == 'T'))
	}
}

// name prints a name, padded unless FM or TM.
func (t dateToken) name(b *strings.Builder, s string, width int) {
	if t.fill || t.local {
		width = 0
	}
	fmt.Fprintf(b, "%-*s", width, inCase(s, t.letters))
}

// displayYear counts years BC from 1.
func (p *dateParts) displayYear(y int) int {
	if y <= 0 && !p.isInterval {
		return 1 - y
	}
	return y
}

// printField prints the fields of the time of day and passes on the others.
func (p *dateParts) printField(b *strings.Builder, t dateToken) error {
	switch t.field {
	case fieldMeridiem:
		s := pick(p.hour%24 >= 12, "PM", "AM")
		if t.n == 1 {
			s = s[:1] + "." + s[1:] + "."
		}
		b.WriteString(inCase(s, t.letters))
	case fieldHour12:
		h := p.hour % 12
		if h == 0 {
			h = 12
		}
		width := 2
		if p.hour < 0 && h >= 0 {
			width = 3 // the width goes by the sign of the hours
		}
		t.number(b, h, width)
	case fieldHour24:
		t.number(b, p.hour, 2)
	case fieldMinute:
		t.number(b, p.minute, 2)
	case fieldSecond:
		t.number(b, p.sec, 2)
	case fieldFraction:
		n := p.micros
		for i := t.n; i < 6; i++ {
			n /= 10
		}
		t.fixed(b, n, t.n)
	case fieldMillis:
		t.fixed(b, p.micros/1000, 3)
	case fieldMicros:
		t.fixed(b, p.micros, 6)
	case fieldDaySeconds:
		t.fixed(b, p.hour*3600+p.minute*60+p.sec, 0)
	case fieldZone, fieldZoneHour, fieldZoneMinute, fieldOffset:
		return p.printZone(b, t)
	case fieldExact:
	default:
		return p.printDateField(b, t)
	}
	return nil
}

// fixed prints a number whose width FM does not change.
func (t dateToken) fixed(b *strings.Builder, n, width int) {
	s := fmt.Sprintf("%0*d", width, n)
	b.WriteString(s)
	if t.ordinal != 0 {
		b.WriteString(ordinalSuffix(s, t.ordinal == 'T'))
	}
}

func (p *dateParts) printZone(b *strings.Builder, t dateToken) error {
	if p.isInterval {
		return call.Fail(errIntervalField)
	}
	if !p.zoned && t.field == fieldZone {
		return nil
	}
	sign, off := byte('+'), p.east
	if off < 0 {
		sign, off = '-', -off
	}
	switch t.field {
	case fieldZone:
		b.WriteString(pick(t.letters == caseLower, strings.ToLower(p.zone), p.zone))
	case fieldZoneHour:
		fmt.Fprintf(b, "%c%02d", sign, off/3600)
	case fieldZoneMinute:
		fmt.Fprintf(b, "%02d", off%3600/60)
	default:
		width := 2
		if t.fill {
			width = 0
		}
		fmt.Fprintf(b, "%c%0*d", sign, width, off/3600)
		if m := off % 3600 / 60; m != 0 {
			fmt.Fprintf(b, ":%02d", m)
		}
	}
	return nil
}

func (p *dateParts) printDateField(b *strings.Builder, t dateToken) error {
	switch t.field {
	case fieldEra, fieldMonthName, fieldMonthAbbrev, fieldDayName, fieldDayAbbrev, fieldDayOfWeek,
		fieldISODayOfWeek:
		if p.isInterval {
			return call.Fail(errIntervalField)
		}
		p.printName(b, t)
	case fieldYear, fieldYearComma, fieldISOYear, fieldCentury:
		p.printYear(b, t)
	case fieldMonth:
		t.number(b, p.month, 2)
	case fieldDayOfYear:
		t.number(b, p.yearDay, 3)
	case fieldISODayOfYear:
		t.number(b, int(p.days-datetime.DaysFromISOWeek(p.isoYear, 1))+1, 3)
	case fieldDay:
		t.number(b, p.day, 2)
	case fieldWeekOfMonth:
		t.fixed(b, (p.day-1)/7+1, 0)
	case fieldWeek:
		t.number(b, (p.yearDay-1)/7+1, 2)
	case fieldISOWeek:
		t.number(b, p.isoWeek, 2)
	case fieldJulian:
		t.fixed(b, int(datetime.JulianDay(p.days)), 0)
	case fieldQuarter:
		if p.month != 0 {
			t.fixed(b, (p.month-1)/3+1, 0)
		}
	case fieldRoman:
		p.printRoman(b, t)
	}
	return nil
}

func (p *dateParts) printName(b *strings.Builder, t dateToken) {
	switch t.field {
	case fieldEra:
		s := pick(p.year <= 0, "BC", "AD")
		if t.n == 1 {
			s = s[:1] + "." + s[1:] + "."
		}
		b.WriteString(inCase(s, t.letters))
	case fieldMonthName:
		t.name(b, monthNames[p.month-1], 9)
	case fieldMonthAbbrev:
		t.name(b, monthNames[p.month-1][:3], 0)
	case fieldDayName:
		t.name(b, dayNames[p.weekday], 9)
	case fieldDayAbbrev:
		t.name(b, dayNames[p.weekday][:3], 0)
	case fieldDayOfWeek:
		t.fixed(b, p.weekday+1, 0)
	case fieldISODayOfWeek:
		t.fixed(b, (p.weekday+6)%7+1, 0)
	}
}

func (p *dateParts) printYear(b *strings.Builder, t dateToken) {
	y := p.displayYear(p.year)
	switch t.field {
	case fieldYearComma:
		s := fmt.Sprintf("%d,%03d", y/1000, y%1000)
		b.WriteString(s)
		if t.ordinal != 0 {
			b.WriteString(ordinalSuffix(s, t.ordinal == 'T'))
		}
		return
	case fieldCentury:
		t.number(b, p.century(), 2)
		return
	case fieldISOYear:
		y = p.displayYear(p.isoYear)
	}
	switch t.n {
	case 3:
		y %= 1000
	case 2:
		y %= 100
	case 1:
		y %= 10
	}
	t.number(b, y, t.n)
}

func (p *dateParts) century() int {
	switch {
	case p.isInterval:
		return p.year / 100
	case p.year > 0:
		return (p.year-1)/100 + 1
	}
	return p.year/100 - 1
}

func (p *dateParts) printRoman(b *strings.Builder, t dateToken) {
	m := p.month
	if m == 0 {
		if p.year == 0 {
			return
		}
		m = pick(p.year > 0, 12, 1)
	}
	if m < 0 {
		m += 13
	}
	t.name(b, romanMonths[m-1], 4)
}

// intInput takes integers of a width in bytes.
func intInput(width int) func(d types.Datum) numberInput {
	return func(d types.Datum) numberInput {
		return numberInput{value: decimal.FromInt(d.Int()), float: float64(d.Int()), width: width}
	}
}

// floatInput takes floats with as many digits as their type guarantees.
func floatInput(digits int) func(d types.Datum) numberInput {
	return func(d types.Datum) numberInput { return numberInput{float: d.Float(), digits: digits} }
}
