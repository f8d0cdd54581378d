package call

import (
	"strings"
	"unicode/utf8"
)

// Passes over big values are made in pieces, between which a call counts its steps: so it
// ends when its statement is cancelled.

// PieceBytes is how long the pieces of a big value are, about.
const PieceBytes = 64 << 10

// EachPiece calls f with one piece of s after the other.
func EachPiece(c *Context, s string, f func(piece string)) error {
	for s != "" {
		n := min(len(s), PieceBytes)
		f(s[:n])
		s = s[n:]
		if err := c.Step(n); err != nil {
			return err
		}
	}
	return nil
}

// EachTextPiece is EachPiece that cuts between characters.
func EachTextPiece(c *Context, s string, f func(piece string)) error {
	for s != "" {
		n := min(len(s), PieceBytes)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		f(s[:n])
		s = s[n:]
		if err := c.Step(n); err != nil {
			return err
		}
	}
	return nil
}

// CountRunes returns the number of characters in s.
func CountRunes(c *Context, s string) (n int, err error) {
	if len(s) <= PieceBytes {
		return utf8.RuneCountInString(s), nil
	}
	err = EachTextPiece(c, s, func(piece string) { n += utf8.RuneCountInString(piece) })
	return n, err
}

// windowBytes is how much of a big value is searched between two steps.
const windowBytes = 1 << 20

// Index is strings.Index.
func Index(c *Context, s, sub string) (int, error) {
	for from := 0; ; from += windowBytes {
		end := len(s)
		if end-from > windowBytes+len(sub) {
			end = from + windowBytes + len(sub) - 1
		}
		i, searched := strings.Index(s[from:end], sub), end-from
		if i >= 0 {
			searched = i + 1
		}
		if err := c.Step(searched); err != nil {
			return 0, err
		}
		if i >= 0 {
			return from + i, nil
		}
		if end == len(s) {
			return -1, nil
		}
	}
}

// TrimLeft and TrimRight remove the characters of set from one end of s.
func TrimLeft(c *Context, s, set string) (string, error) {
	in := func(r rune) bool { return strings.ContainsRune(set, r) }
	for s != "" {
		n := min(len(s), PieceBytes)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		kept := len(strings.TrimLeftFunc(s[:n], in))
		s = s[n-kept:]
		if kept > 0 {
			break
		}
		if err := c.Step(n); err != nil {
			return "", err
		}
	}
	return s, nil
}

// TrimRight removes the characters of set from the end of s.
func TrimRight(c *Context, s, set string) (string, error) {
	in := func(r rune) bool { return strings.ContainsRune(set, r) }
	for s != "" {
		from := max(0, len(s)-PieceBytes)
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		kept := len(strings.TrimRightFunc(s[from:], in))
		n := len(s) - from
		s = s[:from+kept]
		if kept > 0 {
			break
		}
		if err := c.Step(n); err != nil {
			return "", err
		}
	}
	return s, nil
}

// Concat returns the concatenation of parts.
func Concat(c *Context, parts ...string) (string, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n <= PieceBytes {
		return strings.Join(parts, ""), nil
	}
	var b strings.Builder
	b.Grow(n)
	for _, p := range parts {
		if err := EachPiece(c, p, func(piece string) { b.WriteString(piece) }); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// Repeat is strings.Repeat.
func Repeat(c *Context, s string, n int) (string, error) {
	if len(s)*n <= PieceBytes {
		return strings.Repeat(s, n), nil
	}
	var b strings.Builder
	b.Grow(len(s) * n)
	times := max(1, PieceBytes/len(s))
	piece := strings.Repeat(s, times)
	for ; n > 0; n -= times {
		if err := EachPiece(c, piece[:min(n, times)*len(s)], func(piece string) { b.WriteString(piece) }); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
