package parser

import (
	"encoding/hex"

	"github.com/lichendb/lichen/internal/sql/ast"
)

// escapedBytes decodes the text of CockroachDB's b'\x01\n', which PostgreSQL reads as a bit
// string and refuses afterwards. It takes nothing without a backslash, so that what is a bit
// string remains one.
func escapedBytes(text string) (out []byte, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		b, n := byteEscape(text[i+1:])
		if n == 0 {
			return nil, false
		}
		out, ok = append(out, b), true
		i += n
	}
	return out, ok
}

// escapedBits reads b'...' with an escaped quote in it: PostgreSQL ends the constant there,
// and refuses it for its backslash. All of it must be bytes, so that nothing else is met.
func (l *lexer) escapedBits(start int) (token, bool) {
	s, quoted := l.sql, false
	if l.strict {
		return token{}, false
	}
	for i := start + 2; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			quoted = quoted || s[i] == '\''
		case s[i] == '\'':
			if _, ok := escapedBytes(s[start+2 : i]); !ok || !quoted {
				return token{}, false
			}
			l.pos = i + 1
			return token{kind: tokBit, start: int32(start), end: int32(l.pos), str: s[start+2 : i]}, true
		}
	}
	return token{}, false
}

// byteEscape returns the byte that stands behind a backslash, and the length of what says so;
// 0 if that is no escape.
func byteEscape(s string) (b byte, n int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case 'a':
		return '\a', 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'v':
		return '\v', 1
	case '\\', '"', '\'':
		return s[0], 1
	case 'x':
		if v, digits := hexDigits(s[1:], 2); digits == 2 {
			return byte(v), 3
		}
	case '0', '1', '2', '3':
		if len(s) >= 3 && isOctal(s[1]) && isOctal(s[2]) {
			return (s[0]-'0')<<6 | (s[1]-'0')<<3 | (s[2] - '0'), 3
		}
	}
	return 0, 0
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// bytesLiteral is a constant of type bytea.
func bytesLiteral(loc ast.Loc, b []byte) ast.Expr {
	return &ast.Cast{
		Loc: loc, Style: ast.CastColons, X: &ast.StrLit{Loc: loc, Val: `\x` + hex.EncodeToString(b)},
		Type: &ast.TypeName{Loc: loc, Names: []ast.Name{"bytea"}},
	}
}
