package formatfuncs

import (
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// dateField is what a template pattern of to_char and to_timestamp stands for.
type dateField uint8

// The fields; fieldNone marks literal text.
const (
	fieldNone dateField = iota
	fieldMeridiem
	fieldEra
	fieldHour12
	fieldHour24
	fieldMinute
	fieldSecond
	fieldFraction // n digits
	fieldMillis
	fieldMicros
	fieldDaySeconds
	fieldYear // last n digits
	fieldYearComma
	fieldISOYear // last n digits
	fieldMonthName
	fieldMonthAbbrev
	fieldMonth
	fieldDayName
	fieldDayAbbrev
	fieldDayOfYear
	fieldISODayOfYear
	fieldDay
	fieldDayOfWeek
	fieldISODayOfWeek
	fieldWeekOfMonth
	fieldWeek
	fieldISOWeek
	fieldCentury
	fieldJulian
	fieldQuarter
	fieldRoman
	fieldZone
	fieldZoneHour
	fieldZoneMinute
	fieldOffset
	fieldExact // FX
)

// letterCase is how a pattern is written, which names follow.
type letterCase uint8

const (
	caseUpper letterCase = iota
	caseTitle
	caseLower
)

// datePattern is one entry of the pattern table.
type datePattern struct {
	text  string // in upper case, or as written where the case is fixed
	field dateField
	n     int
	// titled: a form with a leading capital exists (Month, Day).
	titled bool
}

// datePatterns lists the patterns; where one begins another it comes first.
var datePatterns = []datePattern{
	{text: "A.D.", field: fieldEra, n: 1}, {text: "A.M.", field: fieldMeridiem, n: 1}, {text: "AD", field: fieldEra}, {text: "AM", field: fieldMeridiem},
	{text: "B.C.", field: fieldEra, n: 1}, {text: "BC", field: fieldEra}, {text: "CC", field: fieldCentury},
	{text: "DAY", field: fieldDayName, titled: true}, {text: "DDD", field: fieldDayOfYear}, {text: "DD", field: fieldDay},
	{text: "DY", field: fieldDayAbbrev, titled: true}, {text: "D", field: fieldDayOfWeek},
	{text: "FF1", field: fieldFraction, n: 1}, {text: "FF2", field: fieldFraction, n: 2}, {text: "FF3", field: fieldFraction, n: 3},
	{text: "FF4", field: fieldFraction, n: 4}, {text: "FF5", field: fieldFraction, n: 5}, {text: "FF6", field: fieldFraction, n: 6},
	{text: "FX", field: fieldExact},
	{text: "HH24", field: fieldHour24}, {text: "HH12", field: fieldHour12}, {text: "HH", field: fieldHour12},
	{text: "IDDD", field: fieldISODayOfYear}, {text: "ID", field: fieldISODayOfWeek}, {text: "IW", field: fieldISOWeek},
	{text: "IYYY", field: fieldISOYear, n: 4}, {text: "IYY", field: fieldISOYear, n: 3}, {text: "IY", field: fieldISOYear, n: 2}, {text: "I", field: fieldISOYear, n: 1},
	{text: "J", field: fieldJulian}, {text: "MI", field: fieldMinute}, {text: "MM", field: fieldMonth},
	{text: "MONTH", field: fieldMonthName, titled: true}, {text: "MON", field: fieldMonthAbbrev, titled: true}, {text: "MS", field: fieldMillis},
	{text: "OF", field: fieldOffset}, {text: "P.M.", field: fieldMeridiem, n: 1}, {text: "PM", field: fieldMeridiem},
	{text: "Q", field: fieldQuarter}, {text: "RM", field: fieldRoman},
	{text: "SSSSS", field: fieldDaySeconds}, {text: "SSSS", field: fieldDaySeconds}, {text: "SS", field: fieldSecond},
	{text: "TZH", field: fieldZoneHour}, {text: "TZM", field: fieldZoneMinute}, {text: "TZ", field: fieldZone},
	{text: "US", field: fieldMicros}, {text: "WW", field: fieldWeek}, {text: "W", field: fieldWeekOfMonth},
	{text: "Y,YYY", field: fieldYearComma}, {text: "YYYY", field: fieldYear, n: 4}, {text: "YYY", field: fieldYear, n: 3},
	{text: "YY", field: fieldYear, n: 2}, {text: "Y", field: fieldYear, n: 1},
}

// dateToken is a piece of a format: a field with its modifiers or one literal
// character.
type dateToken struct {
	datePattern
	letters letterCase
	fill    bool // FM: no padding
	local   bool // TM
	ordinal byte // 'T' for TH, 't' for th, 0 for none
	literal string
	quoted  bool // the literal stood in quotes
}

// matchDatePattern finds the pattern at the start of s, written all in upper,
// all in lower or in title case.
func matchDatePattern(s string) (datePattern, letterCase, bool) {
	for _, p := range datePatterns {
		if len(s) < len(p.text) {
			continue
		}
		switch head := s[:len(p.text)]; {
		case head == p.text:
			return p, caseUpper, true
		case head == strings.ToLower(p.text):
			return p, caseLower, true
		case p.titled && head == p.text[:1]+strings.ToLower(p.text[1:]):
			return p, caseTitle, true
		}
	}
	return datePattern{}, 0, false
}

// tokenSteps is how many steps it takes to find the pattern at one place of a format.
const tokenSteps = 8

// parseDateFormat splits a format of to_char or to_timestamp: 53200 for one whose tokens take
// more memory than there is.
func parseDateFormat(c *call.Context, s string) ([]dateToken, error) {
	if err := c.Reserve(len(s) * int(unsafe.Sizeof(dateToken{}))); err != nil {
		return nil, err
	}
	var tokens []dateToken
	for s != "" {
		if err := c.Step(tokenSteps); err != nil {
			return nil, err
		}
		var t dateToken
		rest := s
		for {
			if strings.HasPrefix(rest, "FM") || strings.HasPrefix(rest, "fm") {
				t.fill, rest = true, rest[2:]
			} else if strings.HasPrefix(rest, "TM") || strings.HasPrefix(rest, "tm") {
				t.local, rest = true, rest[2:]
			} else {
				break
			}
		}
		p, letters, ok := matchDatePattern(rest)
		if !ok {
			var lits []dateToken
			lits, s = literalTokens(c, rest)
			tokens = append(tokens, lits...)
			continue
		}
		t.datePattern, t.letters = p, letters
		t.text, s = rest[:len(p.text)], rest[len(p.text):]
		switch {
		case strings.HasPrefix(s, "TH"):
			t.ordinal, s = 'T', s[2:]
		case strings.HasPrefix(s, "th"):
			t.ordinal, s = 't', s[2:]
		case strings.HasPrefix(s, "SP"):
			s = s[2:]
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// literalTokens reads a quoted string or one character that is no pattern.
func literalTokens(c *call.Context, s string) (tokens []dateToken, rest string) {
	if s == "" {
		return nil, ""
	}
	if s[0] != '"' {
		if strings.HasPrefix(s, `\"`) {
			s = s[1:]
		}
		n := stringfuncs.CharLen(s, false)
		return []dateToken{{literal: s[:n]}}, s[n:]
	}
	s = s[1:]
	for s != "" && s[0] != '"' && c.Step(1) == nil {
		if s[0] == '\\' && len(s) > 1 {
			s = s[1:]
		}
		n := stringfuncs.CharLen(s, false)
		tokens = append(tokens, dateToken{literal: s[:n], quoted: true})
		s = s[n:]
	}
	return tokens, strings.TrimPrefix(s, `"`)
}

var (
	monthNames = []string{"January", "February", "March", "April", "May", "June", "July", "August",
		"September", "October", "November", "December"}
	dayNames    = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	romanMonths = []string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}
)

// inCase writes a name as its pattern is written.
func inCase(name string, c letterCase) string {
	switch c {
	case caseUpper:
		return strings.ToUpper(name)
	case caseLower:
		return strings.ToLower(name)
	}
	return name
}

// ordinalSuffix returns st, nd, rd or th for a printed number.
func ordinalSuffix(num string, upper bool) string {
	s := "th"
	n := len(num)
	if n > 0 && (n < 2 || num[n-2] != '1') {
		switch num[n-1] {
		case '1':
			s = "st"
		case '2':
			s = "nd"
		case '3':
			s = "rd"
		}
	}
	if upper {
		return strings.ToUpper(s)
	}
	return s
}

func errOnlyToChar(pattern string) error {
	return pgerr.New(pgerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", pattern)
}
