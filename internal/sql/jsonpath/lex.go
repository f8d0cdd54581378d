package jsonpath

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

type token uint8

const (
	tokEnd   token = iota
	tokPunct       // text is the punctuation
	tokIdent       // an unquoted word
	tokString
	tokVariable
	tokInt
	tokNumber
)

// lexer splits a path into tokens.
type lexer struct {
	s    string
	pos  int // after the token
	kind token
	text string // the token's value
	at   int    // where it begins
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSpecial(c byte) bool { return strings.IndexByte(`?%$.[]{}()|&!=<>@#,*:-+/`, c) >= 0 }

func isWordByte(c byte) bool { return !isBlank(c) && !isSpecial(c) && c != '"' && c != '\\' }

func (l *lexer) errSyntax() error {
	if l.kind == tokEnd {
		return pgerr.New(pgerr.SyntaxError, "syntax error at end of jsonpath input")
	}
	return l.errAt("syntax error", l.at)
}

func (l *lexer) errAt(what string, at int) error {
	end := max(l.pos, at+1)
	if at >= len(l.s) {
		return pgerr.New(pgerr.SyntaxError, "%s at end of jsonpath input", what)
	}
	for end < len(l.s) && !utf8.RuneStart(l.s[end]) {
		end++
	}
	return pgerr.New(pgerr.SyntaxError, "%s at or near \"%s\" of jsonpath input", what, l.s[at:min(end, len(l.s))])
}

// skipBlanks passes over white space and comments.
func (l *lexer) skipBlanks() error {
	for l.pos < len(l.s) {
		switch {
		case isBlank(l.s[l.pos]):
			l.pos++
		case strings.HasPrefix(l.s[l.pos:], "/*"):
			end := strings.Index(l.s[l.pos+2:], "*/")
			if end < 0 {
				l.at, l.pos = len(l.s), len(l.s)
				return pgerr.New(pgerr.SyntaxError, "unexpected end of comment at end of jsonpath input")
			}
			l.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

var twoBytes = []string{"&&", "||", "==", "<>", "!=", "<=", ">=", "**"}

func (l *lexer) next() error {
	if err := l.skipBlanks(); err != nil {
		return err
	}
	l.at = l.pos
	if l.pos == len(l.s) {
		l.kind, l.text = tokEnd, ""
		return nil
	}
	switch c := l.s[l.pos]; {
	case c == '"':
		return l.quoted(tokString)
	case c == '$' && l.pos+1 < len(l.s) && l.s[l.pos+1] == '"':
		l.pos++
		return l.quoted(tokVariable)
	case c == '$' && l.pos+1 < len(l.s) && (isWordByte(l.s[l.pos+1]) || l.s[l.pos+1] == '\\'):
		l.pos++
		return l.word(tokVariable)
	case isDigit(c) || c == '.' && l.pos+1 < len(l.s) && isDigit(l.s[l.pos+1]):
		return l.number()
	case isSpecial(c):
		l.kind, l.text = tokPunct, l.s[l.pos:l.pos+1]
		for _, p := range twoBytes {
			if strings.HasPrefix(l.s[l.pos:], p) {
				l.text = p
			}
		}
		l.pos += len(l.text)
		if l.text == "<>" {
			l.text = "!="
		}
		return nil
	}
	return l.word(tokIdent)
}

// wordBytes are those that isWordByte knows: names may be long, and nothing cancels the reading of one.
var wordBytes = func() (set [256]bool) {
	for c := range set {
		set[c] = isWordByte(byte(c))
	}
	return set
}()

// word reads an unquoted name, in which escapes may stand.
func (l *lexer) word(kind token) error {
	return l.name(kind, func(s string) int {
		i := 0
		for i < len(s) && wordBytes[s[i]] {
			i++
		}
		return i
	})
}

// name reads what goes on as long as run, the length of a run of plain bytes, or an escape does.
func (l *lexer) name(kind token, run func(string) int) error {
	var b []byte
	for {
		plain := l.s[l.pos : l.pos+run(l.s[l.pos:])]
		l.pos += len(plain)
		escaped := l.pos < len(l.s) && l.s[l.pos] == '\\'
		if b == nil && !escaped {
			l.kind, l.text = kind, plain
			return nil
		}
		if b = append(b, plain...); !escaped {
			l.kind, l.text = kind, string(b)
			return nil
		}
		var err error
		if b, err = l.escape(b); err != nil {
			return err
		}
	}
}

func (l *lexer) quoted(kind token) error {
	l.pos++
	err := l.name(kind, func(s string) int {
		if i := strings.IndexAny(s, `"\`); i >= 0 {
			return i
		}
		return len(s)
	})
	switch {
	case err != nil:
		return err
	case l.pos == len(l.s):
		l.at = len(l.s)
		return pgerr.New(pgerr.SyntaxError, "unterminated quoted string at end of jsonpath input")
	}
	l.pos++
	return nil
}

// escape reads an escape sequence and appends what it stands for.
func (l *lexer) escape(b []byte) ([]byte, error) {
	start := l.pos
	l.pos++
	if l.pos == len(l.s) {
		return nil, pgerr.New(pgerr.SyntaxError, "unexpected end after backslash at end of jsonpath input")
	}
	c := l.s[l.pos]
	l.pos++
	switch c {
	case 'b':
		return append(b, '\b'), nil
	case 'f':
		return append(b, '\f'), nil
	case 'n':
		return append(b, '\n'), nil
	case 'r':
		return append(b, '\r'), nil
	case 't':
		return append(b, '\t'), nil
	case 'v':
		return append(b, '\v'), nil
	case 'x':
		r, ok := l.hex(2)
		if !ok {
			return nil, l.errAt("invalid hex character sequence", start)
		}
		return appendRune(b, r)
	case 'u':
		r, ok := l.unicode()
		if !ok {
			return nil, l.errAt("invalid Unicode escape sequence", start)
		}
		if r >= 0xd800 && r <= 0xdbff && strings.HasPrefix(l.s[l.pos:], `\u`) {
			l.pos += 2
			low, ok := l.unicode()
			if !ok || low < 0xdc00 || low > 0xdfff {
				return nil, errSurrogate("Unicode high surrogate must not follow a high surrogate.")
			}
			return appendRune(b, 0x10000+(r-0xd800)<<10+(low-0xdc00))
		}
		return appendRune(b, r)
	}
	_, n := utf8.DecodeRuneInString(l.s[l.pos-1:])
	b = append(b, l.s[l.pos-1:l.pos-1+n]...)
	l.pos += n - 1
	return b, nil
}

func errSurrogate(detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath").WithDetail("%s", detail)
}

func appendRune(b []byte, r rune) ([]byte, error) {
	switch {
	case r == 0:
		return nil, pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail(`\u0000 cannot be converted to text.`)
	case r >= 0xd800 && r <= 0xdbff:
		return nil, errSurrogate("Unicode low surrogate must follow a high surrogate.")
	case r >= 0xdc00 && r <= 0xdfff:
		return nil, errSurrogate("Unicode low surrogate must follow a high surrogate.")
	case r > utf8.MaxRune:
		return nil, pgerr.New(pgerr.SyntaxError, "could not convert Unicode to server encoding")
	}
	return utf8.AppendRune(b, r), nil
}

// hex reads n hexadecimal digits.
func (l *lexer) hex(n int) (rune, bool) {
	var r rune
	for range n {
		if l.pos == len(l.s) {
			return 0, false
		}
		c := l.s[l.pos]
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
		l.pos++
	}
	return r, true
}

// unicode reads XXXX or {X...}.
func (l *lexer) unicode() (rune, bool) {
	if l.pos < len(l.s) && l.s[l.pos] == '{' {
		end := strings.IndexByte(l.s[l.pos:], '}')
		if end < 2 || end > 7 {
			return 0, false
		}
		l.pos++
		r, ok := l.hex(end - 1)
		l.pos++
		return r, ok
	}
	return l.hex(4)
}

func (l *lexer) digits() int {
	start := l.pos
	for l.pos < len(l.s) && isDigit(l.s[l.pos]) {
		l.pos++
	}
	return l.pos - start
}

func (l *lexer) number() error {
	start := l.pos
	l.kind = tokInt
	if n := l.digits(); n > 1 && l.s[start] == '0' {
		return l.errAt("trailing junk after numeric literal", start)
	}
	if l.pos < len(l.s) && l.s[l.pos] == '.' {
		l.kind = tokNumber
		l.pos++
		l.digits()
	}
	if l.pos < len(l.s) && l.s[l.pos]|0x20 == 'e' {
		l.kind = tokNumber
		l.pos++
		if l.pos < len(l.s) && (l.s[l.pos] == '+' || l.s[l.pos] == '-') {
			l.pos++
		}
		if l.digits() == 0 {
			return l.errAt("invalid numeric literal", start)
		}
	}
	if l.pos < len(l.s) && isWordByte(l.s[l.pos]) {
		l.pos++
		return l.errAt("trailing junk after numeric literal", start)
	}
	l.text = l.s[start:l.pos]
	return nil
}
