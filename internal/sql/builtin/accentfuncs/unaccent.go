package accentfuncs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// plain are letters that Unicode does not decompose, and what they are without what makes them special.
var plain = map[rune]string{
	'Æ': "AE", 'æ': "ae", 'Œ': "OE", 'œ': "oe", 'ß': "ss", 'ẞ': "SS", 'Ø': "O", 'ø': "o", 'Đ': "D", 'đ': "d", 'Ð': "D", 'ð': "d",
	'Ł': "L", 'ł': "l", 'Þ': "TH", 'þ': "th", 'Ħ': "H", 'ħ': "h", 'ı': "i", 'ĸ': "q", 'Ŋ': "N", 'ŋ': "n", 'Ŧ': "T", 'ŧ': "t",
	'ŉ': "'n", 'Ĳ': "IJ", 'ĳ': "ij", 'Ŀ': "L", 'ŀ': "l", 'ſ': "s", 'Ё': "Е", 'ё': "е",
}

// Overloads declares the function.
func Overloads() []*call.Overload {
	o := call.Fn("unaccent(text) text", unaccent).Stable()
	o.Extension = "unaccent"
	return []*call.Overload{o}
}

func unaccent(c *call.Context, a []types.Datum) (types.Datum, error) {
	s := a[0].Str()
	if err := c.Reserve(len(s)); err != nil {
		return types.Null, err
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
			continue
		}
		if p, ok := plain[r]; ok {
			b.WriteString(p)
			continue
		}
		b.WriteString(bare(r))
	}
	return types.NewString(b.String()), nil
}

// bare returns a Latin or Greek letter without its marks, other characters as they are.
func bare(r rune) string {
	base, size := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
	if base == r && size == utf8.RuneLen(r) || !unicode.In(base, unicode.Latin, unicode.Greek) {
		return string(r)
	}
	return string(base)
}
