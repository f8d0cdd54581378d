package datetime

import (
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fieldSet is the set of date and time fields input has given so far: none may
// be given twice.
type fieldSet uint32

const (
	setYear fieldSet = 1 << iota
	setMonth
	setDay
	setHour
	setMinute
	setSecond
	setMillisecond
	setMicrosecond
	setWeek
	setDecade
	setCentury
	setMillennium
	setDOY
	setDOW
	setZone
	setDST
	setAMPM
	setADBC
	setReserved

	setDate    = setYear | setMonth | setDay
	setTime    = setHour | setMinute | setSecond
	setSeconds = setSecond | setMillisecond | setMicrosecond
)

// decodedKind is what input as a whole denotes.
type decodedKind uint8

const (
	decodedTime decodedKind = iota // the Civil fields
	decodedEpoch
	decodedLate
	decodedEarly
)

// dateDecoder makes sense of the fields a dateLexer found, for dates, times
// and timestamps. The rules for guessing an ambiguous number are PostgreSQL's.
type dateDecoder struct {
	fc    *types.FormatContext
	order types.DateOrder
	// timeOnly is set for time and timetz, which take dates only in passing.
	timeOnly bool

	fields    []lexField
	have      fieldSet
	c         Civil
	doy       int
	kind      decodedKind
	textMonth bool
	twoDigits bool // the year was written with one or two digits
	julian    bool
	bc        bool
	half      int  // halfAM, halfPM or 0
	prefix    unit // what the next number is, by the word before it
	west      int  // zone, seconds west of UTC
	zone      *time.Location
	abbrev    string // of the zone, whose offset goes by it; see ExprZone
	badZone   string
}

func (d *dateDecoder) decode() dateErr {
	for i, f := range d.fields {
		set, err := d.field(i, f)
		if err != dateOK {
			return err
		}
		if set&d.have != 0 {
			return dateBadFormat
		}
		d.have |= set
	}
	return d.finish()
}

func (d *dateDecoder) field(i int, f lexField) (fieldSet, dateErr) {
	switch f.kind {
	case lexDate:
		return d.dateField(i, f.text)
	case lexTime:
		return d.timeField(f.text)
	case lexZone:
		west, err := decodeZoneOffset(f.text)
		d.west = west
		return setZone, err
	case lexNumber:
		return d.numberField(i, f.text)
	}
	return d.wordField(i, f.text)
}

func (d *dateDecoder) timeField(s string) (fieldSet, dateErr) {
	if d.prefix != unitNone {
		if d.prefix != unitTime {
			return 0, dateBadFormat
		}
		d.prefix = unitNone
	}
	t, err := decodeClock(s, types.RangeFull)
	if err != dateOK {
		return 0, err
	}
	if t.hour > 24 {
		return 0, dateFieldOverflow
	}
	d.c.Hour, d.c.Min, d.c.Sec, d.c.Micros = int(t.hour), t.min, t.sec, t.micros
	if clockOverflows(d.c) {
		return 0, dateFieldOverflow
	}
	return setTime, dateOK
}

// dateField handles a field with separators: a date, a zone name, or a
// run-together time with a zone (040506-08).
func (d *dateDecoder) dateField(i int, s string) (fieldSet, dateErr) {
	switch {
	case d.timeOnly:
		last := len(d.fields) - 1
		if i == 0 && last >= 1 && (d.fields[last].kind == lexDate || d.fields[1].kind == lexTime) {
			return d.date(s)
		}
	case d.prefix == unitJulian:
		return d.julianZone(s)
	case d.prefix == unitNone && d.have&(setMonth|setDay) != setMonth|setDay:
		return d.date(s)
	}
	if ascii.IsDigit(s[0]) || d.prefix != unitNone {
		return d.timeWithZone(s)
	}
	return d.namedZone(s)
}

func (d *dateDecoder) namedZone(name string) (fieldSet, dateErr) {
	loc, ok := namedZone(name, d.fc)
	if !ok {
		d.badZone = name
		return 0, dateUnknownZone
	}
	d.zone = loc
	return setZone, dateOK
}

func (d *dateDecoder) timeWithZone(s string) (fieldSet, dateErr) {
	if d.prefix != unitNone {
		if d.prefix != unitTime {
			return 0, dateBadFormat
		}
		d.prefix = unitNone
	}
	if d.have&setTime == setTime {
		return 0, dateBadFormat
	}
	cut := strings.IndexByte(s, '-')
	if cut < 0 {
		return 0, dateBadFormat
	}
	west, err := decodeZoneOffset(s[cut:])
	if err != dateOK {
		return 0, err
	}
	d.west = west
	have := d.have
	if d.timeOnly {
		have |= setDate
	}
	set, err := d.runTogether(s[:cut], have)
	return set | setZone, err
}

func (d *dateDecoder) julianZone(s string) (fieldSet, dateErr) {
	n, rest, ok := leadingInt(s)
	if !ok {
		return 0, dateFieldOverflow
	}
	d.setJulian(n)
	d.prefix = unitNone
	set := setDate
	if rest != "" {
		west, err := decodeZoneOffset(rest)
		if err != dateOK {
			return 0, err
		}
		d.west = west
		set |= setZone | setTime
	}
	return set, dateOK
}

func (d *dateDecoder) setJulian(n int) {
	d.julian = true
	d.c.Year, d.c.Month, d.c.Day = CivilFromDays(DaysFromJulian(int64(n)))
}

// date decodes a date in one field: numbers and a month name between
// separators.
func (d *dateDecoder) date(s string) (fieldSet, dateErr) {
	var parts [maxDateFields]string
	n := 0
	for s != "" && n < maxDateFields {
		for s != "" && !ascii.IsLetter(s[0]) && !ascii.IsDigit(s[0]) {
			s = s[1:]
		}
		if s == "" {
			return 0, dateBadFormat
		}
		class := ascii.IsLetter
		if ascii.IsDigit(s[0]) {
			class = ascii.IsDigit
		}
		end := 0
		for end < len(s) && class(s[end]) {
			end++
		}
		parts[n] = s[:end]
		n++
		s = s[min(end+1, len(s)):] // the separator goes
	}
	have := d.have
	var set fieldSet
	for i, p := range parts[:n] {
		if !ascii.IsLetter(p[0]) {
			continue
		}
		w, ok := lookupDateWord(p)
		switch {
		case ok && w.kind == wordIgnore:
			parts[i] = ""
			continue
		case !ok || w.kind != wordMonth || (have|set)&setMonth != 0:
			return 0, dateBadFormat
		}
		d.c.Month = w.val
		d.textMonth = true
		set |= setMonth
		parts[i] = ""
	}
	for _, p := range parts[:n] {
		if p == "" {
			continue
		}
		one, err := d.number(p, have|set)
		if err != dateOK {
			return 0, err
		}
		if one&(have|set) != 0 {
			return 0, dateBadFormat
		}
		set |= one
	}
	if (have|set)&^(setDOY|setZone) != setDate {
		return 0, dateBadFormat
	}
	return set, dateOK
}

func (d *dateDecoder) wordField(i int, s string) (fieldSet, dateErr) {
	if upper := strings.ToUpper(s); zonesOfAbbrevs[upper] != "" {
		d.abbrev = upper
		return d.namedZone(zonesOfAbbrevs[upper])
	} else if east, ok := lookupAbbrev(upper); ok {
		d.west = -int(east)
		return setZone, dateOK
	}
	w, ok := lookupDateWord(s)
	if !ok {
		loc, found := namedZone(s, d.fc)
		if !found {
			return 0, dateBadFormat
		}
		d.zone = loc
		return setZone, dateOK
	}
	switch w.kind {
	case wordReserved:
		return d.reserved(w.val)
	case wordMonth:
		if d.timeOnly {
			return 0, dateBadFormat
		}
		return d.monthWord(w.val)
	case wordWeekday:
		if d.timeOnly {
			return 0, dateBadFormat
		}
		return setDOW, dateOK
	case wordDST:
		d.west -= 3600
		return setDST, dateOK
	case wordAMPM:
		d.half = w.val
		return setAMPM, dateOK
	case wordADBC:
		d.bc = w.val == eraBC
		return setADBC, dateOK
	case wordUnit:
		d.prefix = unit(w.val)
	case wordISOTime:
		return 0, d.isoTime(i)
	}
	return 0, dateOK
}

// isoTime checks that the t between date and time stands between them.
func (d *dateDecoder) isoTime(i int) dateErr {
	if !d.timeOnly && d.have&setDate != setDate || i+1 >= len(d.fields) {
		return dateBadFormat
	}
	switch d.fields[i+1].kind {
	case lexNumber, lexTime, lexDate:
		d.prefix = unitTime
		return dateOK
	}
	return dateBadFormat
}

// monthWord takes a month's name; a number before it that was taken for the
// month was the day.
func (d *dateDecoder) monthWord(m int) (fieldSet, dateErr) {
	set := setMonth
	if d.have&setMonth != 0 && !d.textMonth && d.have&setDay == 0 && d.c.Month >= 1 && d.c.Month <= 31 {
		d.c.Day = d.c.Month
		set = setDay
	}
	d.textMonth = true
	d.c.Month = m
	return set, dateOK
}

func (d *dateDecoder) reserved(val int) (fieldSet, dateErr) {
	if val == reservedZulu {
		d.west = 0
		return setTime | setZone, dateOK
	}
	if d.timeOnly {
		if val != reservedNow {
			return 0, dateBadFormat
		}
		now := d.now()
		d.c.Hour, d.c.Min, d.c.Sec, d.c.Micros = now.Hour, now.Min, now.Sec, now.Micros
		return setTime, dateOK
	}
	switch val {
	case reservedNow:
		d.c = d.now()
		east, _ := OffsetAt(d.fc.Location(), d.fc.NowMicros())
		d.west = -east
		return setDate | setTime | setZone, dateOK
	case reservedYesterday, reservedToday, reservedTomorrow:
		now := d.now()
		days := DaysFromCivil(now.Year, now.Month, now.Day) + int64(val-reservedToday)
		d.c.Year, d.c.Month, d.c.Day = CivilFromDays(days)
		d.julian = true // the year is final
		return setDate, dateOK
	case reservedEpoch:
		d.kind = decodedEpoch
	case reservedLate:
		d.kind = decodedLate
	case reservedEarly:
		d.kind = decodedEarly
	}
	return setReserved, dateOK // other fields are ignored
}

func (d *dateDecoder) now() Civil {
	return TimestampParts(LocalFromUTC(d.fc.NowMicros(), d.fc.Location()))
}

// finish validates what was collected and settles the zone.
func (d *dateDecoder) finish() dateErr {
	if d.kind != decodedTime {
		return dateOK
	}
	if err := d.validate(); err != dateOK {
		return err
	}
	if d.half != 0 && d.c.Hour > 12 {
		return dateFieldOverflow
	}
	if d.half == halfAM && d.c.Hour == 12 {
		d.c.Hour = 0
	} else if d.half == halfPM && d.c.Hour != 12 {
		d.c.Hour += 12
	}
	if d.timeOnly {
		return d.finishTime()
	}
	if d.have&setDate != setDate {
		return dateBadFormat
	}
	return d.settleZone(d.c)
}

// settleZone computes the offset of a named zone, or the session's.
func (d *dateDecoder) settleZone(at Civil) dateErr {
	loc := d.zone
	if loc == nil {
		if d.have&setZone != 0 {
			return dateOK
		}
		loc = d.fc.Location()
	}
	if d.have&setDST != 0 {
		return dateBadFormat
	}
	local := DaysFromCivil(at.Year, at.Month, at.Day)*types.MicrosPerDay + at.TimeMicros()
	if d.abbrev != "" {
		loc = ExprZone{loc: loc, abbrev: d.abbrev}.AtLocal(local)
	}
	d.west = int((UTCFromLocal(local, loc) - local) / types.MicrosPerSec)
	return dateOK
}

func (d *dateDecoder) finishTime() dateErr {
	if clockOverflows(d.c) {
		return dateFieldOverflow
	}
	if d.have&setTime != setTime {
		return dateBadFormat
	}
	switch d.have & setDate {
	case setDate:
		return d.settleZone(d.c)
	case 0:
	default:
		return dateBadFormat // a part of a date
	}
	if d.zone != nil && d.abbrev == "" && !fixedZone(d.zone, d.fc.NowMicros()) {
		return dateBadFormat // its offset depends on the date, which is missing
	}
	at := d.now()
	at.Hour, at.Min, at.Sec, at.Micros = d.c.Hour, d.c.Min, d.c.Sec, d.c.Micros
	return d.settleZone(at)
}

// fixedZone reports whether loc never changes its offset from some instant on.
func fixedZone(loc *time.Location, micros int64) bool {
	start, end := types.TimeFromMicros(micros).In(loc).ZoneBounds()
	return start.IsZero() && end.IsZero()
}

// validate settles the year and checks month and day.
func (d *dateDecoder) validate() dateErr {
	c := &d.c
	if d.have&setYear != 0 && !d.julian {
		switch {
		case d.bc:
			if c.Year <= 0 {
				return dateFieldOverflow
			}
			c.Year = 1 - c.Year
		case d.twoDigits && c.Year < 70:
			c.Year += 2000
		case d.twoDigits && c.Year < 100:
			c.Year += 1900
		case c.Year <= 0:
			return dateFieldOverflow
		}
	}
	if d.have&setDOY != 0 {
		c.Year, c.Month, c.Day = CivilFromDays(DaysFromCivil(c.Year, 1, 1) + int64(d.doy-1))
	}
	if d.have&setMonth != 0 && (c.Month < 1 || c.Month > 12) {
		return dateMDOverflow
	}
	if d.have&setDay != 0 && (c.Day < 1 || c.Day > 31) {
		return dateMDOverflow
	}
	if d.have&setDate == setDate && c.Day > DaysInMonth(c.Year, c.Month) {
		return dateFieldOverflow
	}
	return dateOK
}

// clockOverflows reports a time of day beyond 24:00:00.
func clockOverflows(c Civil) bool {
	return c.Hour < 0 || c.Hour > 24 || c.Min < 0 || c.Min > 59 || c.Sec < 0 || c.Sec > 60 ||
		c.TimeMicros() > types.MicrosPerDay
}
