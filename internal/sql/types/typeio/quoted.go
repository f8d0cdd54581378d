package typeio

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/types"
)

// appendQuoted appends the text of a part of a record or range, in quotes if it is empty
// or holds white space or one of the special characters.
func appendQuoted(dst []byte, t *types.T, d types.Datum, special string, fc *types.FormatContext) []byte {
	start := len(dst)
	dst = AppendText(dst, t, d, fc)
	quote := len(dst) == start
	for _, c := range dst[start:] {
		quote = quote || strings.IndexByte(special, c) >= 0 || ascii.IsSpace(c)
	}
	if !quote {
		return dst
	}
	text := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := 0; i < len(text); i++ {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, text[i])
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

// readQuoted reads the text of such a part up to the first of the stop characters that no
// quotes protect, and returns what begins there; false if s ends before.
func readQuoted(s, stops string) (text, rest string, ok bool) {
	var b []byte
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case !quoted && strings.IndexByte(stops, c) >= 0:
			return string(b), s[i:], true
		case c == '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			b = append(b, s[i])
		case c == '"' && quoted && strings.HasPrefix(s[i+1:], `"`):
			b = append(b, '"')
			i++
		case c == '"':
			quoted = !quoted
		default:
			b = append(b, c)
		}
	}
	return "", "", false
}
