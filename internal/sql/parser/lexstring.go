package parser

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// quotedSegment returns the offset of the quote that ends the segment starting
// at i, and whether the segment has doubled quotes; -1 when it does not end, or the
// statement is cancelled.
func (l *lexer) quotedSegment(i int, quote byte) (end int, doubled bool) {
	s := l.sql
	for {
		if l.stopped(i) {
			return -1, doubled
		}
		n := strings.IndexByte(s[i:], quote)
		if n < 0 {
			return -1, doubled
		}
		i += n
		if i+1 < len(s) && s[i+1] == quote {
			doubled = true
			i += 2
			continue
		}
		return i, doubled
	}
}

// undoubled returns the text from one offset to another with one quote for each two; the statement
// may be cancelled meanwhile.
func (l *lexer) undoubled(from, to int, quote byte) string {
	b := make([]byte, 0, to-from)
	for l.due = from + stepBytes; from < to && !l.stopped(from); {
		n := strings.IndexByte(l.sql[from:to], quote)
		if n < 0 {
			b = append(b, l.sql[from:to]...)
			break
		}
		b = append(b, l.sql[from:from+n+1]...)
		from += n + 2
	}
	return string(b)
}

// continued returns the offset after the quote that continues a string closed
// before i: a string constant goes on after white space with a newline in it.
func (l *lexer) continued(i int) (int, bool) {
	s := l.sql
	newline := false
	for i < len(s) {
		switch c := s[i]; {
		case c == '\n' || c == '\r':
			newline = true
			i++
		case charClass[c]&charSpace != 0:
			i++
		case c == '-' && i+1 < len(s) && s[i+1] == '-':
			for i < len(s) && s[i] != '\n' && s[i] != '\r' {
				i++
			}
		case c == '\'' && newline:
			return i + 1, true
		default:
			return 0, false
		}
	}
	return 0, false
}

// plainString reads a string without escapes whose text begins at i; start is
// where its prefix is.
func (l *lexer) plainString(start, i int, k kind) token {
	var joined []byte // only when the value is not one piece of the text
	for {
		end, doubled := l.quotedSegment(i, '\'')
		if k != tokString { // in bits two quotes are an end and a beginning
			end, doubled = strings.IndexByte(l.sql[i:], '\''), false
			if end >= 0 {
				end += i
			}
		}
		if l.err != nil {
			return l.stop(start)
		}
		if end < 0 {
			return l.failNear(start, len(l.sql), unterminated(k))
		}
		seg := l.sql[i:end]
		if doubled {
			if seg = l.undoubled(i, end, '\''); l.err != nil {
				return l.stop(start)
			}
		}
		next, more := l.continued(end + 1)
		if !more {
			l.pos = end + 1
			t := token{kind: k, start: int32(start), end: int32(l.pos), str: seg}
			if joined != nil {
				t.str = string(append(joined, seg...))
			}
			return t
		}
		joined = append(joined, seg...)
		if joined == nil {
			joined = []byte{}
		}
		i = next
	}
}

// unterminated is the message for a string of kind k without its end.
func unterminated(k kind) string {
	switch k {
	case tokBit:
		return "unterminated bit string literal"
	case tokHex:
		return "unterminated hexadecimal string literal"
	default:
		return "unterminated quoted string"
	}
}

// quotedIdent reads "..." whose text begins at i.
func (l *lexer) quotedIdent(start, i int) token {
	end, doubled := l.quotedSegment(i, '"')
	if l.err != nil {
		return l.stop(start)
	}
	if end < 0 {
		return l.failNear(start, len(l.sql), "unterminated quoted identifier")
	}
	name := l.sql[i:end]
	if doubled {
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	if name == "" {
		return l.failNear(start, end+1, "zero-length delimited identifier")
	}
	l.pos = end + 1
	return token{kind: tokIdent, start: int32(start), end: int32(l.pos), str: l.truncateIdent(name)}
}

// escapeString reads a string with backslash escapes whose text begins at i; start is
// where its prefix is.
func (l *lexer) escapeString(start, i int) token {
	s := l.sql
	var b []byte
	raw := false // an escape produced a byte that needs checking
	l.escapeAt = -1
	for {
		if l.stopped(i) {
			return l.stop(start)
		}
		if i >= len(s) {
			return l.failNear(start, len(s), "unterminated quoted string")
		}
		c := s[i]
		switch {
		case c == '\\':
			if l.strings.RefuseQuotes && i+1 < len(s) && s[i+1] == '\'' {
				return l.fail(start, errUnsafeQuote())
			}
			if l.escapeAt < 0 {
				l.escapeAt = i
			}
			n, isRaw, ok := l.escape(&b, i)
			if !ok {
				return token{kind: tokError, start: int32(start), end: int32(len(s))}
			}
			if n < 0 {
				return l.failNear(start, len(s), "unterminated quoted string")
			}
			i, raw = n, raw || isRaw
		case c != '\'':
			b = append(b, c)
			i++
		case i+1 < len(s) && s[i+1] == '\'':
			b = append(b, '\'')
			i += 2
		default:
			if next, more := l.continued(i + 1); more {
				i = next
				continue
			}
			l.pos = i + 1
			if raw {
				if err := checkUTF8(string(b)); err != nil {
					t := l.fail(-1, err) // without a position
					t.start = int32(start)
					return t
				}
			}
			return token{kind: tokString, start: int32(start), end: int32(l.pos), str: string(b)}
		}
	}
}

// escape appends what the backslash escape at i stands for and returns the
// offset after it, -1 at the end of the text; raw says a byte was given by
// number. It returns false after an error.
func (l *lexer) escape(b *[]byte, i int) (next int, raw, ok bool) {
	s := l.sql
	if i+1 >= len(s) {
		return -1, false, true
	}
	c := s[i+1]
	switch c {
	case 'b':
		*b = append(*b, '\b')
	case 'f':
		*b = append(*b, '\f')
	case 'n':
		*b = append(*b, '\n')
	case 'r':
		*b = append(*b, '\r')
	case 't':
		*b = append(*b, '\t')
	case 'x':
		v, n := hexDigits(s[i+2:], 2)
		if n == 0 {
			*b = append(*b, 'x')
			return i + 2, false, true
		}
		*b = append(*b, byte(v))
		return i + 2 + n, true, true
	case 'u', 'U':
		n, ok := l.unicodeEscape(b, i)
		return n, false, ok
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v, j := 0, i+1
		for j < len(s) && j < i+4 && s[j] >= '0' && s[j] <= '7' {
			v = v*8 + int(s[j]-'0')
			j++
		}
		*b = append(*b, byte(v))
		return j, true, true
	default:
		*b = append(*b, c)
	}
	return i + 2, false, true
}

// escapeDigits returns the value of \uXXXX or \UXXXXXXXX at i and the offset
// after it, 0 when it is neither.
func (l *lexer) escapeDigits(i int) (v uint32, end int) {
	s := l.sql
	if i+1 >= len(s) || s[i] != '\\' || s[i+1] != 'u' && s[i+1] != 'U' {
		return 0, 0
	}
	width := 4
	if s[i+1] == 'U' {
		width = 8
	}
	v, n := hexDigits(s[i+2:], width)
	if n < width {
		return 0, 0
	}
	return v, i + 2 + width
}

// unicodeEscape appends the character of \uXXXX or \UXXXXXXXX at i, joining a
// pair of surrogates.
func (l *lexer) unicodeEscape(b *[]byte, i int) (next int, ok bool) {
	v, end := l.escapeDigits(i)
	if end == 0 {
		l.fail(i, pgerr.New(pgerr.InvalidEscapeSequence, "invalid Unicode escape").
			WithHint(`Unicode escapes must be \uXXXX or \UXXXXXXXX.`))
		return 0, false
	}
	if isHighSurrogate(v) {
		lo, pairEnd := l.escapeDigits(end)
		if pairEnd != 0 && isLowSurrogate(lo) {
			*b = utf8.AppendRune(*b, joinSurrogates(v, lo))
			return pairEnd, true
		}
		if pairEnd == 0 {
			_, n := utf8.DecodeRuneInString(l.sql[end:])
			pairEnd = end + n
		}
		l.failNear(end, pairEnd, "invalid Unicode surrogate pair")
		return 0, false
	}
	if err := checkCodePoint(v); err != nil {
		l.failNear(i, end, err.Message)
		return 0, false
	}
	*b = utf8.AppendRune(*b, rune(v))
	return end, true
}

// hexDigits reads up to max hexadecimal digits.
func hexDigits(s string, max int) (v uint32, n int) {
	for n < max && n < len(s) {
		d, ok := hexValue(s[n])
		if !ok {
			break
		}
		v = v<<4 | d
		n++
	}
	return v, n
}

func hexValue(c byte) (uint32, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint32(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint32(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return uint32(c-'A') + 10, true
	}
	return 0, false
}

func isHighSurrogate(v uint32) bool { return v >= 0xD800 && v <= 0xDBFF }
func isLowSurrogate(v uint32) bool  { return v >= 0xDC00 && v <= 0xDFFF }

func joinSurrogates(hi, lo uint32) rune {
	return rune((hi-0xD800)<<10 + (lo - 0xDC00) + 0x10000)
}

// checkCodePoint refuses what is no character: zero, a lone surrogate, values
// beyond Unicode.
func checkCodePoint(v uint32) *pgerr.Error {
	if v == 0 || v > utf8.MaxRune {
		return pgerr.New(pgerr.SyntaxError, "invalid Unicode escape value")
	}
	if isHighSurrogate(v) || isLowSurrogate(v) {
		return errSurrogatePair()
	}
	return nil
}

func errSurrogatePair() *pgerr.Error {
	return pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
}

// unicodeString reads U&'...' [UESCAPE 'c'].
func (l *lexer) unicodeString(start int) token {
	if l.strings.Escapes {
		return l.fail(start, pgerr.New(pgerr.FeatureNotSupported, "unsafe use of string constant with Unicode escapes").
			WithDetail("String constants with Unicode escapes cannot be used when standard_conforming_strings is off."))
	}
	t := l.plainString(start, start+3, tokString)
	return l.unescapeToken(t, start, start+3)
}

// unicodeIdent reads U&"..." [UESCAPE 'c'].
func (l *lexer) unicodeIdent(start int) token {
	end, doubled := l.quotedSegment(start+3, '"')
	if l.err != nil {
		return l.stop(start)
	}
	if end < 0 {
		return l.failNear(start, len(l.sql), "unterminated quoted identifier")
	}
	name := l.sql[start+3 : end]
	if doubled {
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	if name == "" {
		return l.failNear(start, end+1, "zero-length delimited identifier")
	}
	l.pos = end + 1
	t := token{kind: tokIdent, start: int32(start), end: int32(l.pos), str: name}
	t = l.unescapeToken(t, start, start+3)
	t.str = l.truncateIdent(t.str)
	return t
}

// unescapeToken resolves the Unicode escapes of t, whose text began at body.
func (l *lexer) unescapeToken(t token, start, body int) token {
	if t.kind == tokError {
		return t
	}
	esc := byte('\\')
	after := *l
	if after.skipUescape() {
		e := after.simpleString()
		if e.kind == tokError {
			*l = after
			return e
		}
		if e.kind != tokString {
			if e.kind == tokEOF {
				return l.fail(int(e.start), pgerr.New(pgerr.SyntaxError,
					"UESCAPE must be followed by a simple string literal at end of input"))
			}
			return l.failNear(int(e.start), int(e.end), "UESCAPE must be followed by a simple string literal")
		}
		if len(e.str) != 1 || !validUescape(e.str[0]) {
			return l.failNear(int(e.start), int(e.end), "invalid Unicode escape character")
		}
		esc = e.str[0]
		l.pos = after.pos
		t.end = e.end
	}
	if strings.IndexByte(t.str, esc) < 0 {
		return t
	}
	v, at, err := unescapeUnicode(t.str, esc)
	if err != nil {
		return l.fail(body+at, err)
	}
	t.str = v
	return t
}

// skipUescape passes over the word UESCAPE; false when something else comes.
func (l *lexer) skipUescape() bool {
	const word = "uescape"
	if !l.skipSpace() {
		return false
	}
	end := skipIdent(l.sql, l.pos)
	if end-l.pos != len(word) || !equalFold(l.sql[l.pos:end], word) {
		return false
	}
	l.pos = end
	return true
}

// simpleString returns the next token, without looking for escapes of its own:
// U&'...' comes as its first letter.
func (l *lexer) simpleString() token {
	if !l.skipSpace() {
		return token{kind: tokError}
	}
	if rest := l.sql[l.pos:]; len(rest) > 2 && rest[0]|0x20 == 'u' && rest[1] == '&' {
		return l.take(tokIdent, 1)
	}
	return l.next()
}

// validUescape reports whether c may introduce Unicode escapes.
func validUescape(c byte) bool {
	_, isHex := hexValue(c)
	return !isHex && c != '+' && c != '\'' && c != '"' && charClass[c]&charSpace == 0
}

// unescapeUnicode resolves \XXXX, \+XXXXXX and \\, with esc for the backslash.
// With an error it returns the offset of the escape in s.
func unescapeUnicode(s string, esc byte) (string, int, *pgerr.Error) {
	var b []byte
	var pair uint32 // a high surrogate that waits for the low one
	i := 0
	for i < len(s) {
		if s[i] != esc {
			if pair != 0 {
				return "", i, errSurrogatePair()
			}
			b = append(b, s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == esc {
			if pair != 0 {
				return "", i, errSurrogatePair()
			}
			b = append(b, esc)
			i += 2
			continue
		}
		skip, width := 1, 4
		if i+1 < len(s) && s[i+1] == '+' {
			skip, width = 2, 6
		}
		v, n := hexDigits(s[i+skip:], width)
		if n < width {
			return "", i, pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").
				WithHint(`Unicode escapes must be \XXXX or \+XXXXXX.`)
		}
		switch {
		case pair != 0 && isLowSurrogate(v):
			b = utf8.AppendRune(b, joinSurrogates(pair, v))
			pair = 0
		case pair != 0:
			return "", i, errSurrogatePair()
		case isHighSurrogate(v):
			pair = v
		default:
			if err := checkCodePoint(v); err != nil {
				return "", i, err
			}
			b = utf8.AppendRune(b, rune(v))
		}
		i += skip + width
	}
	if pair != 0 {
		return "", i, errSurrogatePair()
	}
	return string(b), 0, nil
}
