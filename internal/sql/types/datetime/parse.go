package datetime

import (
	"errors"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// dateTypeNames are the names date and time types have in syntax errors.
var dateTypeNames = map[types.Family]string{
	types.DateFamily: "date", types.TimeFamily: "time", types.TimeTZFamily: "time with time zone",
	types.TimestampFamily: "timestamp", types.TimestampTZFamily: "timestamp with time zone",
	types.IntervalFamily: "interval",
}

func dateError(e dateErr, f types.Family, s, zone string) error {
	switch e {
	case dateFieldOverflow, dateMDOverflow:
		err := pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
		if e == dateMDOverflow {
			err.Hint = "Perhaps you need a different \"datestyle\" setting."
		}
		return err
	case dateIntervalOverflow:
		return pgerr.New(pgerr.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	case dateZoneOverflow:
		return pgerr.New(pgerr.InvalidTimeZoneDisplacementValue, "time zone displacement out of range: \"%s\"", s)
	case dateUnknownZone:
		return pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", zone)
	}
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", dateTypeNames[f], s)
}

// Parse reads the text form of a value of t, a type of dates and times.
func Parse(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if t.Family == types.IntervalFamily {
		return parseInterval(t, s, fc)
	}
	if d, ok := parseISO(t.Family, s, fc); ok {
		return d, nil
	}
	var l dateLexer
	if e := l.lex(s); e != dateOK {
		return types.Null, dateError(e, t.Family, s, "")
	}
	d := dateDecoder{
		fc: fc, order: dateStyle(fc).Order, fields: l.fields[:l.n],
		timeOnly: t.Family == types.TimeFamily || t.Family == types.TimeTZFamily,
	}
	if e := d.decode(); e != dateOK {
		return types.Null, dateError(e, t.Family, s, d.badZone)
	}
	return d.datum(t.Family, s)
}

// datum builds the value of the wanted family from the decoded fields.
func (d *dateDecoder) datum(f types.Family, s string) (types.Datum, error) {
	switch f {
	case types.TimeFamily:
		return types.NewTime(d.c.TimeMicros()), nil
	case types.TimeTZFamily:
		return types.NewTimeTZ(d.c.TimeMicros(), int32(d.west)), nil
	case types.DateFamily:
		return d.dateDatum(s)
	}
	switch d.kind {
	case decodedEpoch:
		return types.NewTimestampOf(f, -types.EpochDiffMicros), nil
	case decodedLate:
		return types.NewTimestampOf(f, types.TimestampInf), nil
	case decodedEarly:
		return types.NewTimestampOf(f, types.TimestampNegInf), nil
	}
	ts, ok := timestampAt(d.c, f == types.TimestampTZFamily, d.west)
	if !ok {
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return types.NewTimestampOf(f, ts), nil
}

// timestampAt returns c as a timestamp, or as a timestamptz read at a zone
// west of UTC; the range applies to the result.
func timestampAt(c Civil, tz bool, west int) (int64, bool) {
	days := DaysFromCivil(c.Year, c.Month, c.Day)
	if days < types.MinDate-1 || days > types.EndTimestamp/types.MicrosPerDay {
		return 0, false
	}
	ts, ok := types.AddInt64(days*types.MicrosPerDay, c.TimeMicros())
	if ok && tz {
		ts, ok = types.AddInt64(ts, int64(west)*types.MicrosPerSec)
	}
	return ts, ok && types.ValidTimestamp(ts)
}

func (d *dateDecoder) dateDatum(s string) (types.Datum, error) {
	switch d.kind {
	case decodedEpoch:
		return types.NewDate(-types.EpochDiffDays), nil
	case decodedLate:
		return types.NewDate(types.DateInf), nil
	case decodedEarly:
		return types.NewDate(types.DateNegInf), nil
	}
	days := DaysFromCivil(d.c.Year, d.c.Month, d.c.Day)
	if !types.ValidDate(days) {
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return types.NewDate(days), nil
}

// parseISO is the fast path for what clients send: YYYY-MM-DD, then for
// timestamps HH:MM:SS with a fraction of up to six digits and a numeric zone.
// It declines anything else, and whatever needs an error.
func parseISO(f types.Family, s string, fc *types.FormatContext) (types.Datum, bool) {
	p := isoScanner{s: s, ok: true}
	if f == types.TimeFamily {
		micros := p.clock()
		return types.NewTime(micros), p.done()
	}
	if f == types.TimeTZFamily {
		return types.Null, false
	}
	days, ok := p.date()
	if !ok {
		return types.Null, false
	}
	if f == types.DateFamily {
		return types.NewDate(days), p.done()
	}
	micros := days * types.MicrosPerDay
	if p.s != "" {
		if p.s[0] != ' ' && p.s[0] != 'T' {
			return types.Null, false
		}
		p.s = p.s[1:]
		micros += p.clock()
	}
	if f == types.TimestampFamily {
		return types.NewTimestamp(micros), p.done()
	}
	if p.s != "" {
		micros -= p.zone() * types.MicrosPerSec
	} else if loc := fc.Location(); p.ok {
		micros = UTCFromLocal(micros, loc)
	}
	return types.NewTimestampTZ(micros), p.done() && types.ValidTimestamp(micros)
}

// isoScanner consumes fixed-width fields; ok turns false at the first misfit.
type isoScanner struct {
	s  string
	ok bool
}

func (p *isoScanner) done() bool { return p.ok && p.s == "" }

func (p *isoScanner) digits(n int) int {
	if len(p.s) < n {
		p.ok = false
		return 0
	}
	v := 0
	for i := range n {
		c := p.s[i]
		if !ascii.IsDigit(c) {
			p.ok = false
			return 0
		}
		v = v*10 + int(c-'0')
	}
	p.s = p.s[n:]
	return v
}

func (p *isoScanner) char(c byte) {
	if p.s == "" || p.s[0] != c {
		p.ok = false
		return
	}
	p.s = p.s[1:]
}

func (p *isoScanner) date() (int64, bool) {
	y := p.digits(4)
	p.char('-')
	m := p.digits(2)
	p.char('-')
	d := p.digits(2)
	if !p.ok || y == 0 || m < 1 || m > 12 || d < 1 || d > DaysInMonth(y, m) {
		return 0, false
	}
	return DaysFromCivil(y, m, d), true
}

func (p *isoScanner) clock() int64 {
	var c Civil
	c.Hour = p.digits(2)
	p.char(':')
	c.Min = p.digits(2)
	p.char(':')
	c.Sec = p.digits(2)
	if p.s != "" && p.s[0] == '.' {
		p.s = p.s[1:]
		scale := 100_000
		for p.s != "" && ascii.IsDigit(p.s[0]) && scale > 0 {
			c.Micros += int(p.s[0]-'0') * scale
			scale /= 10
			p.s = p.s[1:]
		}
	}
	if c.Hour > 23 || c.Min > 59 || c.Sec > 59 {
		p.ok = false
	}
	return c.TimeMicros()
}

// zone reads +hh or +hh:mm (either sign) in seconds east.
func (p *isoScanner) zone() int64 {
	if p.s != "Z" && p.s[0] != '+' && p.s[0] != '-' {
		p.ok = false
		return 0
	}
	sign := p.s[0]
	p.s = p.s[1:]
	if sign == 'Z' {
		return 0
	}
	h := p.digits(2)
	m := 0
	if p.s != "" {
		p.char(':')
		m = p.digits(2)
	}
	if h > 15 || m > 59 {
		p.ok = false
	}
	east := int64(h*3600 + m*60)
	if sign == '-' {
		east = -east
	}
	return east
}
