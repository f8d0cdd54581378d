package stringfuncs

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// normalize is normalize(text, form).
func normalize(c *call.Context, a []types.Datum) (types.Datum, error) {
	f, ok := normalFormOf(a[1].Str())
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", a[1].Str())
	}
	var out strings.Builder
	err := eachBoundary(c, f, a[0].Str(), func(piece string) bool {
		out.WriteString(f.String(piece))
		return true
	})
	if err != nil {
		return types.Null, err
	}
	return call.Text(out.String())
}

// eachBoundary calls f for pieces of a text that are normalized independently of each other,
// until it returns false.
func eachBoundary(c *call.Context, form norm.Form, s string, f func(piece string) bool) error {
	for s != "" {
		n := min(len(s), call.PieceBytes)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		if next := form.FirstBoundaryInString(s[n:]); next >= 0 {
			n += next
		} else {
			n = len(s)
		}
		if !f(s[:n]) {
			return nil
		}
		if err := c.Step(n); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// unistr replaces \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX.
func unistr(c *call.Context, a []types.Datum) (types.Datum, error) {
	s := a[0].Str()
	var b strings.Builder
	var high rune // first half of a surrogate pair
	pace := c.Format.Pace()
	for s != "" && !pace.Stopped(b.Len()) {
		if s[0] != '\\' || strings.HasPrefix(s, `\\`) {
			if high != 0 {
				return types.Null, errSurrogate()
			}
			n := 1
			b.WriteByte(s[0])
			if s[0] == '\\' {
				n = 2
			}
			s = s[n:]
			continue
		}
		r, n, ok := unicodeEscape(s)
		if !ok {
			return types.Null, pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").WithHint(
				`Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.`)
		}
		s = s[n:]
		switch {
		case high != 0:
			if r = utf16.DecodeRune(high, r); r == utf8.RuneError {
				return types.Null, errSurrogate()
			}
			high = 0
			b.WriteRune(r)
		case r >= 0xd800 && r < 0xdc00:
			high = r
		case !utf8.ValidRune(r) || r == 0:
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid Unicode code point: %04X", r)
		default:
			b.WriteRune(r)
		}
	}
	if high != 0 {
		return types.Null, errSurrogate()
	}
	return call.Text(b.String())
}

func errSurrogate() error { return pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair") }

// unicodeEscape reads the escape that s begins with and returns its length.
func unicodeEscape(s string) (r rune, n int, ok bool) {
	skip, digits := 1, 4
	if len(s) > 1 {
		switch s[1] {
		case 'u':
			skip = 2
		case 'U':
			skip, digits = 2, 8
		case '+':
			skip, digits = 2, 6
		}
	}
	if len(s) < skip+digits {
		return 0, 0, false
	}
	v, err := strconv.ParseUint(s[skip:skip+digits], 16, 32)
	if err != nil || v > 0x7fffffff || s[skip] == '+' || s[skip] == '-' {
		return 0, 0, false
	}
	return rune(v), skip + digits, true
}

// runeCount is call.CountRunes; once the statement is cancelled, nobody wants to know.
func runeCount(c *call.Context, s string) int {
	n, _ := call.CountRunes(c, s)
	return n
}

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// normalFormOf finds a form by its name.
func normalFormOf(name string) (form norm.Form, ok bool) {
	for n, f := range normalForms {
		if strings.EqualFold(n, name) {
			return f, true
		}
	}
	return 0, false
}

// isNormalized is is_normalized(text, form).
func isNormalized(c *call.Context, a []types.Datum) (types.Datum, error) {
	form, ok := normalFormOf(a[1].Str())
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", a[1].Str())
	}
	is := true
	err := eachBoundary(c, form, a[0].Str(), func(piece string) bool {
		is = form.IsNormalString(piece)
		return is
	})
	return types.NewBool(is), err
}
