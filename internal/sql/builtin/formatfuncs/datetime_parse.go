package formatfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/datefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// toDate is to_date(text, format).
func toDate(c *call.Context, a []types.Datum) (types.Datum, error) {
	r, err := readDate(c, a[0].Str(), a[1].Str())
	if err != nil {
		return types.Null, err
	}
	if _, err := r.time(); err != nil {
		return types.Null, err
	}
	days, err := r.date()
	if err != nil {
		return types.Null, err
	}
	return types.NewDate(days), nil
}

// toTimestamp is to_timestamp(text, format).
func toTimestamp(c *call.Context, a []types.Datum) (types.Datum, error) {
	r, err := readDate(c, a[0].Str(), a[1].Str())
	if err != nil {
		return types.Null, err
	}
	micros, err := r.time()
	if err != nil {
		return types.Null, err
	}
	days, err := r.date()
	if err != nil {
		return types.Null, err
	}
	ts, err := datetime.TimestampFromDate(days)
	if err != nil {
		return types.Null, err
	}
	ts += micros
	if r.has[fieldZoneHour] || r.has[fieldZoneMinute] {
		east, err := r.zone()
		if err != nil {
			return types.Null, err
		}
		ts -= int64(east) * types.MicrosPerSec
	} else {
		ts = c.ToUTC(ts)
	}
	d, err := datefuncs.TimestampTZResult(datefuncs.ValidTimestamp(ts))
	if err != nil {
		return types.Null, err
	}
	return r.fitted(d, types.TimestampTZ)
}

// zone returns the time zone that was read, in seconds east.
func (r *dateReader) zone() (int, error) {
	h, m := r.val[fieldZoneHour], r.val[fieldZoneMinute]
	if h < 0 || h > maxZoneHour || m < 0 || m > 59 {
		return 0, pgerr.New(pgerr.InvalidTimeZoneDisplacementValue, "time zone displacement out of range: \"%s\"", r.whole)
	}
	if r.zoneNegative {
		h, m = -h, -m
	}
	return h*3600 + m*60, nil
}

// fitted rounds a time to the digits of FF1 to FF6 where the template has one.
func (r *dateReader) fitted(d types.Datum, t *types.T) (types.Datum, error) {
	if r.precision == 0 {
		return d, nil
	}
	return types.ApplyTypmod(d, t.WithTypmod(int32(r.precision)), true, nil)
}

// maxZoneHour is the last hour of a numeric time zone, either side of Greenwich.
const maxZoneHour = 15

// standardSeparators are what a template of the SQL standard has between its fields.
const standardSeparators = "-./,':; "

// readStandard reads a date by a template of the SQL standard: input and template agree
// character by character, and end together.
func readStandard(c *call.Context, s, format string) (*dateReader, error) {
	tokens, err := parseDateFormat(c, format)
	if err != nil {
		return nil, err
	}
	r := &dateReader{whole: s, in: s, tokens: tokens, exact: true}
	bad := func(format string, args ...any) (*dateReader, error) {
		return nil, pgerr.New(pgerr.InvalidDatetimeFormat, format, args...)
	}
	for i := range r.tokens {
		if t := &r.tokens[i]; t.field == fieldNone && !t.quoted && !strings.Contains(standardSeparators, t.literal) {
			return bad("invalid datetime format separator: \"%s\"", t.literal)
		}
	}
	for i := range r.tokens {
		t := &r.tokens[i]
		switch {
		case r.in == "":
			return bad("input string is too short for datetime format")
		case t.field != fieldNone:
			if err := r.field(i); err != nil {
				return nil, err
			}
		case !strings.HasPrefix(r.in, t.literal) && t.quoted:
			return bad("unmatched format character \"%s\"", t.literal)
		case !strings.HasPrefix(r.in, t.literal):
			return bad("unmatched format separator \"%s\"", t.literal)
		default:
			r.in = r.in[len(t.literal):]
		}
	}
	if strings.TrimLeft(r.in, " \t\n\r\v\f") != "" {
		return bad("trailing characters remain in input string after datetime format")
	}
	return r, nil
}

// kinds reports what a template has fields of.
func (r *dateReader) kinds() (dated, timed, zoned bool) {
	for i := range r.tokens {
		switch f := r.tokens[i].field; f {
		case fieldNone, fieldExact:
		case fieldZone, fieldOffset, fieldZoneHour, fieldZoneMinute:
			zoned = true
		case fieldMeridiem, fieldHour12, fieldHour24, fieldMinute, fieldSecond, fieldFraction, fieldMillis, fieldMicros, fieldDaySeconds:
			timed = true
		default:
			dated = true
		}
	}
	return dated, timed, zoned
}

// dateReader reads a date by a format.
type dateReader struct {
	whole  string
	in     string
	tokens []dateToken
	exact  bool // FX
	extra  int  // blanks skipped beyond what the format asked for
	val    [fieldExact + 1]int
	has    [fieldExact + 1]bool
	bc, pm bool
	half   bool // a 12-hour clock is in use
	yearN  int  // digits that the year was given with

	precision int // digits of FF1 to FF6, 0 for none

	gregorian, iso bool
	zoneNegative   bool
}

func readDate(c *call.Context, s, format string) (*dateReader, error) {
	tokens, err := parseDateFormat(c, format)
	if err != nil {
		return nil, err
	}
	r := &dateReader{whole: s, in: s, tokens: tokens}
	for i := range r.tokens {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if r.in == "" {
			break
		}
		t := &r.tokens[i]
		if !r.exact && t.field != fieldExact && (t.field != fieldNone || i == 0) {
			r.skipBlanks()
		}
		if t.field == fieldNone {
			r.skipLiteral(t)
			continue
		}
		if err := r.field(i); err != nil {
			return nil, err
		}
		if !r.exact {
			r.extra = 0
			r.skipBlanks()
		}
	}
	return r, nil
}

func (r *dateReader) skipBlanks() {
	for r.in != "" && (stringfuncs.IsBlank(r.in[0]) || r.in[0] == '\v' || r.in[0] == '\f') {
		r.in = r.in[1:]
		r.extra++
	}
}

// isSeparator reports whether a character separates fields.
func isSeparator(s string) bool {
	return s != "" && s[0] > ' ' && s[0] < 0x7f && (!stringfuncs.IsWordByte(s[0]) || s[0] == '_')
}

// skipLiteral skips what stands in the input for literal text of the format:
// a blank or separator matches one of any kind, or none; other text matches
// any character.
func (r *dateReader) skipLiteral(t *dateToken) {
	n := stringfuncs.CharLen(r.in, false)
	blank := stringfuncs.IsBlank(t.literal[0])
	switch {
	case r.exact:
		r.in = r.in[n:]
	case !t.quoted && (blank || isSeparator(t.literal)):
		r.extra--
		if r.in != "" && (stringfuncs.IsBlank(r.in[0]) || isSeparator(r.in)) {
			r.in = r.in[n:]
			r.extra++
		}
	case r.extra > 0:
		r.extra--
	default:
		r.in = r.in[n:]
	}
}

func (r *dateReader) outOfRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", r.whole)
}

// set stores a field; a second value must agree with the first.
func (r *dateReader) set(f dateField, v int, pattern string) error {
	if r.has[f] && r.val[f] != v && r.val[f] != 0 {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "conflicting values for \"%s\" field in formatting string", pattern).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	r.val[f], r.has[f] = v, true
	return nil
}

// digitsFollow reports whether what comes after token i in the format begins
// with digits, so that a field must not take more than its width.
func (r *dateReader) digitsFollow(i int) bool {
	if r.tokens[i].ordinal != 0 || i+1 >= len(r.tokens) {
		return false
	}
	next := r.tokens[i+1]
	if next.field == fieldNone {
		c := next.literal[0]
		return c >= '0' && c <= '9'
	}
	switch next.field {
	case fieldMeridiem, fieldEra, fieldMonthName, fieldMonthAbbrev, fieldDayName, fieldDayAbbrev, fieldRoman,
		fieldZone, fieldOffset, fieldZoneHour, fieldExact:
		return false
	}
	return true
}

// number reads an integer of at most width characters, or of any length where
// the format says where it ends. used is how many characters it took.
func (r *dateReader) number(i, width int) (v, used int, err error) {
	t := r.tokens[i]
	in := strings.TrimLeft(r.in, " \t\n\r\v\f")
	fixed := !t.fill && r.digitsFollow(i)
	limit := len(in)
	if fixed {
		if limit < width {
			return 0, 0, pgerr.New(pgerr.InvalidDatetimeFormat, "source string too short for \"%s\" formatting field", t.text).
				WithDetail("Field requires %d characters, but only %d remain.", width, limit).
				WithHint("If your source string is not fixed-width, try using the \"FM\" modifier.")
		}
		limit = width
	}
	n := 0
	if n < limit && (in[n] == '-' || in[n] == '+') {
		n++
	}
	first := n
	for n < limit && in[n] >= '0' && in[n] <= '9' {
		n++
	}
	if n == first {
		return 0, 0, r.badValue(in[:min(limit, max(width, 1))], t, "Value must be an integer.")
	}
	if fixed && n < width {
		return 0, 0, r.badValue(in[:limit], t, "Field requires "+strconv.Itoa(width)+" characters, but only "+strconv.Itoa(n)+" could be parsed.").
			WithHint("If your source string is not fixed-width, try using the \"FM\" modifier.")
	}
	v64, err := strconv.ParseInt(in[:n], 10, 32)
	if err != nil {
		return 0, 0, pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", t.text).
			WithDetail("Value must be in the range %d to %d.", -1<<31, 1<<31-1)
	}
	r.in = in[n:]
	r.skipOrdinal(t)
	return int(v64), n, nil
}

// skipOrdinal skips the st, nd, rd or th behind a number, whichever it is.
func (r *dateReader) skipOrdinal(t dateToken) {
	if t.ordinal != 0 {
		r.in = r.in[min(2, len(r.in)):]
	}
}

func (r *dateReader) badValue(s string, t dateToken, detail string) *pgerr.Error {
	if s == "" {
		s = r.in
	}
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"", s, t.text).WithDetail("%s", detail)
}

// choose reads one of several words, in any case, and returns its position.
func (r *dateReader) choose(t dateToken, words []string, length int) (int, error) {
	best, bestLen := -1, 0
	for i, w := range words {
		if length > 0 {
			w = w[:length]
		}
		if len(w) > bestLen && len(r.in) >= len(w) && strings.EqualFold(r.in[:len(w)], w) {
			best, bestLen = i, len(w)
		}
	}
	if best < 0 {
		word := r.in
		if n := strings.IndexAny(word, " \t\n"); n >= 0 {
			word = word[:n]
		}
		return 0, r.badValue(word, t, "The given value did not match any of the allowed values for this field.")
	}
	r.in = r.in[bestLen:]
	return best, nil
}

// markConvention notes which calendar convention a field belongs to.
func (r *dateReader) markConvention(f dateField) error {
	switch f {
	case fieldISOYear, fieldISOWeek, fieldISODayOfWeek, fieldISODayOfYear:
		r.iso = true
	case fieldYear, fieldYearComma, fieldMonth, fieldMonthName, fieldMonthAbbrev, fieldDay, fieldDayOfYear,
		fieldWeek, fieldWeekOfMonth, fieldCentury, fieldJulian, fieldRoman, fieldDayOfWeek, fieldQuarter:
		r.gregorian = true
	}
	if r.iso && r.gregorian {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid combination of date conventions").
			WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
	}
	return nil
}

// field reads the field of token i.
func (r *dateReader) field(i int) error {
	t := r.tokens[i]
	if err := r.markConvention(t.field); err != nil {
		return err
	}
	switch t.field {
	case fieldExact:
		r.exact = true
	case fieldMeridiem:
		n, err := r.choose(t, []string{"A.M.", "P.M.", "AM", "PM"}, 0)
		r.pm, r.half = n%2 == 1, true
		return err
	case fieldEra:
		n, err := r.choose(t, []string{"A.D.", "B.C.", "AD", "BC"}, 0)
		r.bc = n%2 == 1
		return err
	case fieldMonthName, fieldMonthAbbrev:
		n, err := r.choose(t, monthNames, pick(t.field == fieldMonthAbbrev, 3, 0))
		if err != nil {
			return err
		}
		return r.set(fieldMonth, n+1, t.text)
	case fieldDayName, fieldDayAbbrev:
		n, err := r.choose(t, dayNames, pick(t.field == fieldDayAbbrev, 3, 0))
		if err != nil {
			return err
		}
		return r.set(fieldDayOfWeek, n+1, t.text)
	case fieldRoman:
		n, err := r.choose(t, romanMonths, 0)
		if err != nil {
			return err
		}
		return r.set(fieldMonth, n+1, t.text)
	case fieldZone, fieldOffset:
		return errOnlyToChar(t.text)
	case fieldZoneHour:
		if r.in != "" && strings.IndexByte("+- ", r.in[0]) >= 0 {
			r.zoneNegative = r.in[0] == '-'
			r.in = r.in[1:]
		} else if at := len(r.whole) - len(r.in); r.extra > 0 && r.whole[at-1] == '-' {
			r.zoneNegative = true // it was taken for a separator
		}
		return r.numeric(i)
	case fieldYearComma:
		return r.yearComma(t)
	default:
		return r.numeric(i)
	}
	return nil
}

// yearComma reads 2,024.
func (r *dateReader) yearComma(t dateToken) error {
	n := 0
	for n < len(r.in) && (r.in[n] >= '0' && r.in[n] <= '9' || r.in[n] == ',') {
		n++
	}
	thousands, rest, ok := strings.Cut(r.in[:n], ",")
	a, err1 := strconv.Atoi(thousands)
	if len(rest) > 3 {
		n -= len(rest) - 3
		rest = rest[:3]
	}
	b, err2 := strconv.Atoi(rest)
	if !ok || err1 != nil || err2 != nil || a > 1<<20 {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
	}
	r.in = r.in[n:]
	r.skipOrdinal(t)
	r.yearN = 4
	return r.set(fieldYear, a*1000+b, t.text)
}

// numeric reads a field that is a number.
func (r *dateReader) numeric(i int) error {
	t := r.tokens[i]
	width := len(t.text)
	switch t.field {
	case fieldHour12, fieldHour24, fieldISODayOfYear:
		width = pick(t.field == fieldISODayOfYear, 3, 2)
	case fieldISODayOfWeek:
		width = 1
	case fieldMillis:
		width = 3
	case fieldMicros:
		width = 6
	case fieldFraction:
		width = t.n
	case fieldZoneHour, fieldZoneMinute:
		width = 2
	case fieldISOYear, fieldYear:
		width = t.n
	}
	v, used, err := r.number(i, width)
	if err != nil {
		return err
	}
	switch t.field {
	case fieldHour12:
		r.half = true
		return r.set(fieldHour24, v, t.text)
	case fieldMillis, fieldMicros, fieldFraction:
		digits := pick(t.field == fieldMillis, 3, 6)
		for ; used < digits; used++ {
			v *= 10
		}
		switch t.field {
		case fieldMillis:
			return r.set(fieldMillis, v, t.text)
		case fieldFraction:
			r.precision = t.n
		}
		return r.set(fieldMicros, v, t.text)
	case fieldYear, fieldISOYear:
		r.yearN = t.n
		if used < 4 && t.n < 4 {
			v = fullYear(v)
		}
		return r.set(t.field, v, t.text)
	case fieldDayOfWeek:
		v = (v + 6) % 7
		return r.set(fieldDayOfWeek, v+1, t.text)
	}
	return r.set(t.field, v, t.text)
}

// fullYear completes a year of fewer than four digits to the one nearest 2020.
func fullYear(y int) int {
	switch {
	case y < 70:
		return y + 2000
	case y < 100:
		return y + 1900
	case y < 520:
		return y + 2000
	case y < 1000:
		return y + 1000
	}
	return y
}

// date puts the date fields together.
func (r *dateReader) date() (int64, error) {
	year := r.yearValue()
	switch {
	case r.has[fieldJulian]:
		return r.valid(datetime.DaysFromJulian(int64(r.val[fieldJulian])))
	case r.iso:
		return r.isoDate()
	}
	month, day := 1, 1
	if r.has[fieldMonth] {
		month = r.val[fieldMonth]
	}
	if r.has[fieldWeekOfMonth] {
		day = (r.val[fieldWeekOfMonth]-1)*7 + 1
	}
	if r.has[fieldDay] {
		day = r.val[fieldDay]
	}
	yearDay := r.val[fieldDayOfYear]
	if r.has[fieldWeek] {
		yearDay = (r.val[fieldWeek]-1)*7 + 1
	}
	if yearDay != 0 && !r.has[fieldMonth] && !r.has[fieldDay] {
		if !r.has[fieldYear] && !r.has[fieldCentury] {
			return 0, pgerr.New(pgerr.InvalidDatetimeFormat, "cannot calculate day of year without year information")
		}
		if yearDay < 1 || yearDay > 366 || yearDay == 366 && datetime.DaysInMonth(year, 2) == 28 {
			return 0, r.outOfRange()
		}
		return r.valid(datetime.DaysFromCivil(year, 1, 1) + int64(yearDay) - 1)
	}
	if month < 1 || month > 12 || day < 1 || day > datetime.DaysInMonth(year, month) {
		return 0, r.outOfRange()
	}
	return r.valid(datetime.DaysFromCivil(year, month, day))
}

func (r *dateReader) valid(days int64) (int64, error) {
	if !types.ValidDate(days) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", r.whole)
	}
	return days, nil
}

// yearValue is the astronomical year: 0 is 1 BC.
func (r *dateReader) yearValue() int {
	y := r.val[fieldYear]
	if r.iso {
		y = r.val[fieldISOYear]
	}
	if cc := r.val[fieldCentury]; r.has[fieldCentury] {
		switch {
		case r.yearN > 0 && r.yearN <= 2:
			y %= 100
			if r.bc || cc < 0 {
				cc = -absOf(cc)
				return (cc+1)*100 - y + 1
			}
			if y != 0 {
				return (cc-1)*100 + y
			}
			return cc * 100
		case !r.has[fieldYear]:
			if r.bc || cc < 0 {
				return -absOf(cc)*100 + 1
			}
			return (cc-1)*100 + 1
		}
	}
	if r.bc {
		y = -y
	}
	if y < 0 {
		return y + 1
	}
	return y
}

// isoDate puts ISO year, week and day together.
func (r *dateReader) isoDate() (int64, error) {
	y := r.yearValue()
	if !r.has[fieldISOYear] {
		return 0, pgerr.New(pgerr.InvalidDatetimeFormat, "cannot calculate day of year without year information")
	}
	if r.has[fieldISODayOfYear] {
		return r.valid(datetime.DaysFromISOWeek(y, 1) + int64(r.val[fieldISODayOfYear]) - 1)
	}
	week, day := 1, 1
	if r.has[fieldISOWeek] {
		week = r.val[fieldISOWeek]
	}
	if r.has[fieldISODayOfWeek] {
		day = r.val[fieldISODayOfWeek]
	}
	if r.has[fieldDayOfWeek] {
		if day = r.val[fieldDayOfWeek] - 1; day == 0 {
			day = 7
		}
	}
	if week < 1 || week > 53 || day < 1 || day > 7 {
		return 0, r.outOfRange()
	}
	return r.valid(datetime.DaysFromISOWeek(y, week) + int64(day) - 1)
}

// time puts the fields of the time of day together.
func (r *dateReader) time() (int64, error) {
	h, m, s := r.val[fieldHour24], r.val[fieldMinute], r.val[fieldSecond]
	if r.has[fieldDaySeconds] {
		x := r.val[fieldDaySeconds]
		h, m, s = x/3600, x%3600/60, x%60
	}
	if r.half {
		if h < 1 || h > 12 {
			return 0, pgerr.New(pgerr.InvalidDatetimeFormat, "hour \"%d\" is invalid for the 12-hour clock", h).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		h %= 12
		if r.pm {
			h += 12
		}
	}
	if x := r.val[fieldDaySeconds]; x < 0 || x >= 86400 || h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		return 0, r.outOfRange()
	}
	micros := int64(r.val[fieldMillis])*1000 + int64(r.val[fieldMicros])
	if micros < 0 || micros >= types.MicrosPerSec {
		return 0, r.outOfRange()
	}
	return int64(h*3600+m*60+s)*types.MicrosPerSec + micros, nil
}
