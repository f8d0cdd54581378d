package plpgsql

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// kind is the kind of a token.
type kind uint8

const (
	end    kind = iota
	word        // a name or a keyword
	quoted      // a name in quotes
	text        // a string constant
	number
	symbol
)

// token is a token of a body.
type token struct {
	kind       kind
	s          string // a name folded, a symbol, the value of a string
	start, end int    // in the source
	line       int
}

// lexer takes a body apart.
type lexer struct {
	src  string
	pos  int
	line int
	out  []token
}

// scan returns the tokens of a body.
func scan(src string) ([]token, error) {
	l := &lexer{src: src, line: 1}
	for {
		l.space()
		if l.pos >= len(src) {
			l.out = append(l.out, token{kind: end, start: len(src), end: len(src), line: l.line})
			return l.out, nil
		}
		start, line := l.pos, l.line
		t, err := l.next()
		if err != nil {
			return nil, err.At(utf8.RuneCountInString(src[:start]) + 1)
		}
		t.start, t.end, t.line = start, l.pos, line
		l.line += strings.Count(src[start:l.pos], "\n")
		l.out = append(l.out, t)
	}
}

// space skips white space and comments.
func (l *lexer) space() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		n := 0
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			n = 1
		case strings.HasPrefix(rest, "--"):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			n = comment(rest)
		default:
			return
		}
		l.line += strings.Count(rest[:n], "\n")
		l.pos += n
	}
}

// comment returns how long a comment is, which may have others in it.
func comment(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(s[i:], "*/"):
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return len(s)
}

func isStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isPart(c byte) bool { return isStart(c) || isDigit(c) || c == '$' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// next reads a token.
func (l *lexer) next() (token, *pgerr.Error) {
	rest := l.src[l.pos:]
	c := rest[0]
	switch {
	case c == '\'':
		return l.str(1, false)
	case (c == 'e' || c == 'E') && len(rest) > 1 && rest[1] == '\'':
		return l.str(2, true)
	case strings.IndexByte("bBxXnN", c) >= 0 && len(rest) > 1 && rest[1] == '\'':
		return l.str(2, false)
	case c == '"':
		return l.name()
	case isStart(c):
		n := 1
		for n < len(rest) && isPart(rest[n]) {
			n++
		}
		l.pos += n
		return token{kind: word, s: strings.ToLower(rest[:n])}, nil
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number(), nil
	case c == '$':
		return l.dollar()
	}
	n := 1
	for _, s := range [...]string{":=", "<<", ">>", "..", "::", "<=", ">=", "<>", "!=", "=>"} {
		if strings.HasPrefix(rest, s) {
			n = len(s)
		}
	}
	l.pos += n
	return token{kind: symbol, s: rest[:n]}, nil
}

// number reads a number; two dots behind one are a symbol.
func (l *lexer) number() token {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		dot := c == '.' && !strings.HasPrefix(l.src[l.pos:], "..")
		exponent := (c == '+' || c == '-') && (l.src[l.pos-1] == 'e' || l.src[l.pos-1] == 'E')
		if !isPart(c) && !dot && !(exponent && l.pos > start) {
			break
		}
		l.pos++
	}
	return token{kind: number, s: l.src[start:l.pos]}
}

// str reads a string constant; skip is how long its beginning is.
func (l *lexer) str(skip int, escapes bool) (token, *pgerr.Error) {
	rest := l.src[l.pos:]
	var b strings.Builder
	for i := skip; i < len(rest); i++ {
		switch {
		case escapes && rest[i] == '\\' && i+1 < len(rest):
			i++
			b.WriteByte(unescape(rest[i]))
		case rest[i] != '\'':
			b.WriteByte(rest[i])
		case i+1 < len(rest) && rest[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			l.pos += i + 1
			return token{kind: text, s: b.String()}, nil
		}
	}
	return token{}, pgerr.New(pgerr.SyntaxError, "unterminated quoted string")
}

func unescape(c byte) byte {
	if i := strings.IndexByte("ntrbf", c); i >= 0 {
		return "\n\t\r\b\f"[i]
	}
	return c
}

// name reads a name in quotes.
func (l *lexer) name() (token, *pgerr.Error) {
	rest := l.src[l.pos:]
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] != '"':
			b.WriteByte(rest[i])
		case i+1 < len(rest) && rest[i+1] == '"':
			b.WriteByte('"')
			i++
		default:
			l.pos += i + 1
			return token{kind: quoted, s: b.String()}, nil
		}
	}
	return token{}, pgerr.New(pgerr.SyntaxError, "unterminated quoted identifier")
}

// dollar reads a parameter, $1, or a string between dollars.
func (l *lexer) dollar() (token, *pgerr.Error) {
	rest := l.src[l.pos:]
	n := 1
	if n < len(rest) && isDigit(rest[n]) {
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		l.pos += n
		return token{kind: word, s: rest[:n]}, nil
	}
	for n < len(rest) && isPart(rest[n]) && rest[n] != '$' {
		n++
	}
	if n >= len(rest) || rest[n] != '$' {
		l.pos++
		return token{kind: symbol, s: "$"}, nil
	}
	tag := rest[:n+1]
	i := strings.Index(rest[n+1:], tag)
	if i < 0 {
		return token{}, pgerr.New(pgerr.SyntaxError, "unterminated dollar-quoted string")
	}
	l.pos += n + 1 + i + len(tag)
	return token{kind: text, s: rest[n+1 : n+1+i]}, nil
}
