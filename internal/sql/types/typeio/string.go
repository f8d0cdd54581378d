package typeio

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func parseString(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if t.Oid == types.Char.Oid {
		return types.NewString(CharByte(s)), nil
	}
	if t.Oid == types.PgNodeTree.Oid {
		return types.Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
	}
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	if t.Oid == types.Name.Oid {
		s = types.TruncateName(s)
	}
	return types.NewString(s), nil
}

// ParseVerifies reports whether ParseText verifies by itself that a value of type t is text
// in UTF8.
func ParseVerifies(t *types.T) bool { return t.Family == types.StringFamily && t.Oid != types.Char.Oid }

// CharByte returns the byte of the "char" type that s denotes, as a string; a
// zero byte is the empty string.
func CharByte(s string) string {
	if len(s) == 4 && s[0] == '\\' && isOctal(s[1]) && isOctal(s[2]) && isOctal(s[3]) {
		s = string([]byte{octal(s[1:])})
	}
	if s == "" || s[0] == 0 {
		return ""
	}
	return s[:1]
}

// AppendChar appends the text form of a "char".
func AppendChar(dst []byte, s string) []byte {
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
func parseBool(t *types.T, s string) (types.Datum, error) {
	u := ascii.TrimSpace(s)
	if u == "" || len(u) > 5 {
		return types.Null, types.InvalidText(t, s)
	}
	prefix := func(word string) bool { return len(u) <= len(word) && strings.EqualFold(u, word[:len(u)]) }
	switch {
	case prefix("true"), prefix("yes"), u == "1", len(u) == 2 && prefix("on"):
		return types.True, nil
	case prefix("false"), prefix("no"), u == "0", len(u) >= 2 && prefix("off"):
		return types.False, nil
	}
	return types.Null, types.InvalidText(t, s)
}

func parseBytea(s string, fc *types.FormatContext) (types.Datum, error) {
	if strings.HasPrefix(s, `\x`) {
		return parseByteaHex(s[2:], fc)
	}
	if strings.IndexByte(s, '\\') < 0 {
		return types.NewBytes(s), nil
	}
	b, pace := make([]byte, 0, len(s)), fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); i++ {
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
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return types.NewBytes(types.Owned(b)), nil
}

// parseByteaHex reads pairs of digits, between which white space may stand.
func parseByteaHex(s string, fc *types.FormatContext) (types.Datum, error) {
	b, pace := make([]byte, 0, len(s)/2), fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); {
		if strings.IndexByte(" \n\t\r", s[i]) >= 0 {
			i++
			continue
		}
		hi, ok := ascii.HexDigit(s[i])
		if !ok {
			return types.Null, errHexDigit(s[i:])
		}
		if i++; i == len(s) {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, ok := ascii.HexDigit(s[i])
		if !ok {
			return types.Null, errHexDigit(s[i:])
		}
		b = append(b, hi<<4|lo)
		i++
	}
	return types.NewBytes(types.Owned(b)), nil
}

func errHexDigit(s string) error {
	_, n := utf8.DecodeRuneInString(s)
	return pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", s[:n])
}

const hexDigits = "0123456789abcdef"

func appendBytea(dst []byte, s string, fc *types.FormatContext) []byte {
	if fc != nil && fc.ByteaOutput == types.ByteaEscape {
		return appendByteaEscape(dst, s, fc)
	}
	dst = append(dst, '\\', 'x')
	pace := fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); i++ {
		dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return dst
}

func appendByteaEscape(dst []byte, s string, fc *types.FormatContext) []byte {
	pace := fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); i++ {
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
func parseUUID(s string) (types.Datum, error) {
	u := s
	if strings.HasPrefix(u, "{") {
		if !strings.HasSuffix(u, "}") {
			return types.Null, types.InvalidText(types.UUID, s)
		}
		u = u[1 : len(u)-1]
	}
	var b [16]byte
	for i := range b {
		if len(u) < 2 {
			return types.Null, types.InvalidText(types.UUID, s)
		}
		hi, ok1 := ascii.HexDigit(u[0])
		lo, ok2 := ascii.HexDigit(u[1])
		if !ok1 || !ok2 {
			return types.Null, types.InvalidText(types.UUID, s)
		}
		b[i] = hi<<4 | lo
		u = u[2:]
		if i%2 == 1 && i < 15 && u != "" && u[0] == '-' {
			u = u[1:]
		}
	}
	if u != "" {
		return types.Null, types.InvalidText(types.UUID, s)
	}
	return types.NewUUID(string(b[:])), nil
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
