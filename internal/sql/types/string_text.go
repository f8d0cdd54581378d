package types

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MaxNameLength is the longest identifier, in bytes.
const MaxNameLength = 63

// VerifyUTF8 returns 22021 when s is not text PostgreSQL can hold: invalid
// UTF-8, or a zero byte.
func VerifyUTF8(s string) error {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return nil
	}
	i := 0
	for i < len(s) && s[i] != 0 {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	n := 1
	switch c := s[i]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	var b strings.Builder
	for j := i; j < min(i+n, len(s)); j++ {
		fmt.Fprintf(&b, " 0x%02x", s[j])
	}
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\":%s", b.String())
}

func parseString(t *T, s string) (Datum, error) {
	if t.Oid == Char.Oid {
		return NewString(charByte(s)), nil
	}
	if t.Oid == PgNodeTree.Oid {
		return Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
	}
	if err := VerifyUTF8(s); err != nil {
		return Null, err
	}
	if t.Oid == Name.Oid {
		s = TruncateName(s)
	}
	return NewString(s), nil
}

// ParseVerifies reports whether ParseText verifies by itself that a value of type t is text
// in UTF8.
func ParseVerifies(t *T) bool { return t.Family == StringFamily && t.Oid != Char.Oid }

// TruncateName cuts an identifier to MaxNameLength bytes, never within a
// character.
func TruncateName(s string) string { return clipBytes(s, MaxNameLength) }

func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// charByte returns the byte of the "char" type that s denotes, as a string; a
// zero byte is the empty string.
func charByte(s string) string {
	if len(s) == 4 && s[0] == '\\' && isOctal(s[1]) && isOctal(s[2]) && isOctal(s[3]) {
		s = string([]byte{octal(s[1:])})
	}
	if s == "" || s[0] == 0 {
		return ""
	}
	return s[:1]
}

func appendChar(dst []byte, s string) []byte {
	if s == "" {
		return dst
	}
	if c := s[0]; c >= 0x80 {
		return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
	}
	return append(dst, s[0])
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func octal(s string) byte { return (s[0]-'0')<<6 | (s[1]-'0')<<3 | (s[2] - '0') }

// parseBool reads a boolean: any unambiguous prefix of true, false, yes, no,
// or on, off, 1, 0.
func parseBool(t *T, s string) (Datum, error) {
	u := trimSpace(s)
	if u == "" || len(u) > 5 {
		return Null, errSyntax(t, s)
	}
	prefix := func(word string) bool { return len(u) <= len(word) && strings.EqualFold(u, word[:len(u)]) }
	switch {
	case prefix("true"), prefix("yes"), u == "1", len(u) == 2 && prefix("on"):
		return True, nil
	case prefix("false"), prefix("no"), u == "0", len(u) >= 2 && prefix("off"):
		return False, nil
	}
	return Null, errSyntax(t, s)
}

func parseBytea(s string) (Datum, error) {
	if strings.HasPrefix(s, `\x`) {
		return parseByteaHex(s[2:])
	}
	if strings.IndexByte(s, '\\') < 0 {
		return NewBytes(s), nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b = append(b, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			b = append(b, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			b = append(b, octal(s[i+1:]))
			i += 3
		default:
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return NewBytes(string(b)), nil
}

// parseByteaHex reads pairs of digits, between which white space may stand.
func parseByteaHex(s string) (Datum, error) {
	b := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); {
		if strings.IndexByte(" \n\t\r", s[i]) >= 0 {
			i++
			continue
		}
		hi, ok := hexDigit(s[i])
		if !ok {
			return Null, errHexDigit(s[i:])
		}
		if i++; i == len(s) {
			return Null, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, ok := hexDigit(s[i])
		if !ok {
			return Null, errHexDigit(s[i:])
		}
		b = append(b, hi<<4|lo)
		i++
	}
	return NewBytes(string(b)), nil
}

func errHexDigit(s string) error {
	_, n := utf8.DecodeRuneInString(s)
	return pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", s[:n])
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

const hexDigits = "0123456789abcdef"

func appendBytea(dst []byte, s string, fc *FormatContext) []byte {
	if fc != nil && fc.ByteaOutput == ByteaEscape {
		return appendByteaEscape(dst, s)
	}
	dst = append(dst, '\\', 'x')
	for i := 0; i < len(s); i++ {
		dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return dst
}

func appendByteaEscape(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// parseUUID reads 32 hexadecimal digits, in braces or not, with hyphens
// allowed after every four.
func parseUUID(s string) (Datum, error) {
	u := s
	if strings.HasPrefix(u, "{") {
		if !strings.HasSuffix(u, "}") {
			return Null, errSyntax(UUID, s)
		}
		u = u[1 : len(u)-1]
	}
	var b [16]byte
	for i := range b {
		if len(u) < 2 {
			return Null, errSyntax(UUID, s)
		}
		hi, ok1 := hexDigit(u[0])
		lo, ok2 := hexDigit(u[1])
		if !ok1 || !ok2 {
			return Null, errSyntax(UUID, s)
		}
		b[i] = hi<<4 | lo
		u = u[2:]
		if i%2 == 1 && i < 15 && u != "" && u[0] == '-' {
			u = u[1:]
		}
	}
	if u != "" {
		return Null, errSyntax(UUID, s)
	}
	return NewUUID(string(b[:])), nil
}

func appendUUID(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return dst
}
