package datetime

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
)

// Limits of date and time input.
const (
	maxDateFields = 25
	maxDateLength = 128
)

// dateErr is why date or time input was refused; it becomes an error, with the
// input and type in it, in one place (dateError).
type dateErr uint8

const (
	dateOK dateErr = iota
	dateBadFormat
	dateFieldOverflow
	dateMDOverflow // month or day: perhaps DateStyle is to blame
	dateIntervalOverflow
	dateZoneOverflow
	dateUnknownZone
)

// lexKind is the kind of a field of date and time input, by its spelling only.
type lexKind uint8

const (
	lexNumber  lexKind = iota // digits, perhaps with a decimal point
	lexWord                   // letters
	lexDate                   // digits and letters with separators: a date or a zone name
	lexTime                   // digits with colons
	lexZone                   // signed digits
	lexSpecial                // signed letters: -infinity
)

type lexField struct {
	kind lexKind
	text string // in lower case
}

// dateLexer splits date, time and interval input into fields.
type dateLexer struct {
	s      string // in lower case
	pos    int
	fields [maxDateFields]lexField
	n      int
	size   int
}

// lexDateTime splits s into the fields of l.
func (l *dateLexer) lex(s string) dateErr {
	l.s = lowerASCII(s)
	for l.pos < len(l.s) {
		c := l.s[l.pos]
		if ascii.IsSpace(c) {
			l.pos++
			continue
		}
		var kind lexKind
		start, prefix := l.pos, ""
		switch {
		case ascii.IsDigit(c):
			kind = l.number()
		case c == '.':
			l.pos++
			l.run(ascii.IsDigit)
			kind = lexNumber
		case ascii.IsLetter(c):
			kind = l.word()
		case c == '+' || c == '-':
			l.pos++
			l.run(ascii.IsSpace)
			start, prefix = l.pos, l.s[start:start+1]
			switch next := l.peek(); {
			case ascii.IsDigit(next):
				kind = lexZone
				l.run(func(c byte) bool { return ascii.IsDigit(c) || c == ':' || c == '.' || c == '-' })
			case ascii.IsLetter(next):
				kind = lexSpecial
				l.run(ascii.IsLetter)
			default:
				return dateBadFormat
			}
		case isPunct(c):
			l.pos++
			continue
		default:
			return dateBadFormat
		}
		if !l.add(kind, prefix, start) {
			return dateBadFormat
		}
	}
	return dateOK
}

// add records s[start:pos] as a field.
func (l *dateLexer) add(kind lexKind, prefix string, start int) bool {
	l.size += l.pos - start + len(prefix) + 1
	if l.n == maxDateFields || l.size > maxDateLength+maxDateFields {
		return false
	}
	text := l.s[start:l.pos]
	if prefix != "" {
		if start > 0 && l.s[start-1] == prefix[0] {
			text = l.s[start-1 : l.pos]
		} else {
			text = prefix + text
		}
	}
	l.fields[l.n] = lexField{kind, text}
	l.n++
	return true
}

func (l *dateLexer) peek() byte {
	if l.pos < len(l.s) {
		return l.s[l.pos]
	}
	return 0
}

func (l *dateLexer) run(in func(byte) bool) {
	for l.pos < len(l.s) && in(l.s[l.pos]) {
		l.pos++
	}
}

// number reads a field that starts with a digit.
func (l *dateLexer) number() lexKind {
	l.run(ascii.IsDigit)
	switch c := l.peek(); c {
	case ':':
		l.run(func(c byte) bool { return ascii.IsDigit(c) || c == ':' || c == '.' })
		return lexTime
	case '-', '/', '.':
		l.pos++
		if !ascii.IsDigit(l.peek()) { // 8-jan-1999, or a bare point
			l.run(func(d byte) bool { return ascii.IsLetter(d) || ascii.IsDigit(d) || d == c })
			return lexDate
		}
		l.run(ascii.IsDigit)
		if l.peek() == c { // all separators must be the same
			l.run(func(d byte) bool { return ascii.IsDigit(d) || d == c })
			return lexDate
		}
		if c == '.' {
			return lexNumber
		}
		return lexDate
	}
	return lexNumber
}

// word reads a field that starts with a letter: a word, or when punctuation
// follows that a zone name or date may contain, all of that.
func (l *dateLexer) word() lexKind {
	start := l.pos
	l.run(ascii.IsLetter)
	long := false
	switch c := l.peek(); {
	case c == '-' || c == '/' || c == '.':
		long = true
	case c == '+' || ascii.IsDigit(c):
		_, known := lookupDateWord(l.s[start:l.pos])
		long = !known
	}
	if !long {
		return lexWord
	}
	l.run(func(c byte) bool { return ascii.IsLetter(c) || ascii.IsDigit(c) || strings.IndexByte("+-/_.:", c) >= 0 })
	return lexDate
}

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !ascii.IsLetter(c) && !ascii.IsDigit(c) }

// lowerASCII lowers A to Z only; it copies nothing when there is none.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
