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
// UTF-8, or a zero byte. Its pieces count as steps of fc.
func VerifyUTF8(s string, fc *FormatContext) error {
	for s != "" {
		n := len(s)
		if n > StepBytes {
			n = pieceOfText(s)
		}
		if !utf8.ValidString(s[:n]) || strings.IndexByte(s[:n], 0) >= 0 {
			return errNoText(s)
		}
		if s = s[n:]; s == "" {
			return nil
		}
		if err := fc.CountSteps(n); err != nil {
			return err
		}
	}
	return nil
}

// pieceOfText returns how many bytes of s are worked on between two steps, which end with a character if s is text.
func pieceOfText(s string) int {
	n := StepBytes
	for n > StepBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// errNoText names the bytes of the first character of s that is none.
func errNoText(s string) error {
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
