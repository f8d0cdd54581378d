package fuzzyfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// soundexDigits are the digits of the letters from A; 0 stands for none.
const soundexDigits = "01230120022455012623010202"

// soundexLength is how long a code is.
const soundexLength = 4

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func isLetter(c byte) bool { return upper(c) >= 'A' && upper(c) <= 'Z' }

// digit returns what stands for a byte: of others than letters, the byte itself.
func digit(c byte) byte {
	if !isLetter(c) {
		return c
	}
	return soundexDigits[upper(c)-'A']
}

// soundex returns the first letter of a text and the digits of those that follow, where they change.
func soundex(c *call.Context, s string) (string, error) {
	if err := c.Step(len(s)); err != nil {
		return "", err
	}
	first := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && isLetter(byte(r)) })
	if first < 0 {
		return "", nil
	}
	out := []byte{upper(s[first])}
	for i := first + 1; i < len(s) && len(out) < soundexLength; i++ {
		if d := digit(s[i]); isLetter(s[i]) && d != digit(s[i-1]) && d != '0' {
			out = append(out, d)
		}
	}
	for len(out) < soundexLength {
		out = append(out, '0')
	}
	return string(out), nil
}

// difference is how many places of two codes are the same.
func difference(c *call.Context, a []types.Datum) (types.Datum, error) {
	var codes [2][soundexLength]byte
	for i := range codes {
		s, err := soundex(c, a[i].Str())
		if err != nil {
			return types.Null, err
		}
		copy(codes[i][:], s)
	}
	same := int64(0)
	for i := range soundexLength {
		if codes[0][i] == codes[1][i] {
			same++
		}
	}
	return types.NewInt(same), nil
}
