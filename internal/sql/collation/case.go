package collation

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// Upper returns s in upper case. A long text is changed in pieces: step is called with the length of
// each, and its error ends the work.
func (r *Rules) Upper(s string, step func(n int) error) (string, error) {
	if r == ascii {
		return mapped(s, asciiCase('a', 'A'), step)
	}
	return recased(&r.upper, s, step)
}

// Lower returns s in lower case, in pieces as Upper.
func (r *Rules) Lower(s string, step func(n int) error) (string, error) {
	if r == ascii {
		return mapped(s, asciiCase('A', 'a'), step)
	}
	return recased(&r.lower, s, step)
}

// Title returns s with words that begin in upper case and go on in lower case, in pieces as Upper.
func (r *Rules) Title(s string, step func(n int) error) (string, error) {
	if r == ascii {
		return mapped(s, asciiTitle(), step)
	}
	return recased(&r.title, s, step)
}

const (
	// casePiece is how long the pieces are in which the case of a long text is changed.
	casePiece = 4 << 10
	// caseGrowth is how many times longer a piece may become: the longest is ΐ in upper case, 3.
	caseGrowth = 4
)

// caser changes the case of texts, with its buffers.
type caser struct {
	c       cases.Caser
	in, out []byte
}

// recased has a caser of a pool change s. x/text forgets between two calls whether it is within a word,
// and cuts texts wherever its buffers end, so that it takes a final Σ for one by itself: here a piece
// is one call.
func recased(p *sync.Pool, s string, step func(n int) error) (string, error) {
	c := p.Get().(*caser)
	defer p.Put(c)
	c.c.Reset()
	var out strings.Builder
	for rest := s; ; {
		n := caseCut(rest)
		piece, err := c.change(rest[:n])
		switch {
		case err != nil:
			return "", err
		case n == len(s):
			return string(piece), nil
		}
		out.Write(piece)
		if rest = rest[n:]; rest == "" {
			return out.String(), nil
		}
		if err := step(n); err != nil {
			return "", err
		}
	}
}

// change returns a piece in the other case, valid until the next call.
func (c *caser) change(piece string) ([]byte, error) {
	c.in = append(c.in[:0], piece...)
	c.out = slices.Grow(c.out[:0], caseGrowth*len(piece))
	n, _, err := c.c.Transform(c.out[:cap(c.out)], c.in, true)
	return c.out[:n], err
}

// caseCut returns the length of the first piece of s, which is all of it where no cut is found.
func caseCut(s string) int {
	for at := casePiece; at < len(s); at += casePiece {
		end := at
		for range cutTries {
			for end < len(s) && !utf8.RuneStart(s[end]) {
				end++
			}
			if end >= len(s) {
				return len(s)
			}
			if cutsCase(s, end) {
				return end
			}
			end++
		}
	}
	return len(s)
}

// cutsCase reports whether the letters on both sides of a place change case by themselves: behind
// white space, or among letters, of which a Σ looks at those around it.
func cutsCase(s string, at int) bool {
	if c, _ := utf8.DecodeLastRuneInString(s[:at]); unicode.IsSpace(c) {
		return true
	}
	for _, c := range around(s, at) {
		if c == 'Σ' || !unicode.IsLetter(c) {
			return false
		}
	}
	return true
}

// ascii are the rules of the locale C, as far as they are about case.
var ascii = &Rules{}

// mapped has f change each character of s, in order.
func mapped(s string, f func(rune) rune, step func(n int) error) (string, error) {
	if len(s) <= pieceBytes {
		return strings.Map(f, s), nil
	}
	var out strings.Builder
	out.Grow(len(s))
	for s != "" {
		n := min(len(s), pieceBytes)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out.WriteString(strings.Map(f, s[:n]))
		if err := step(n); err != nil {
			return "", err
		}
		s = s[n:]
	}
	return out.String(), nil
}

// asciiCase brings letters from a case into another.
func asciiCase(from, to rune) func(rune) rune {
	return func(c rune) rune {
		if c >= from && c <= from+'z'-'a' {
			return c - from + to
		}
		return c
	}
}

// asciiTitle has words of ASCII letters and digits begin in upper case.
func asciiTitle() func(rune) rune {
	in := false
	return func(c rune) rune {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case letter && in:
			c |= 0x20
		case letter:
			c &^= 0x20
		}
		in = letter || c >= '0' && c <= '9'
		return c
	}
}
