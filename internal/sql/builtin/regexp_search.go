package builtin

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// bigText is the length from which on a text is searched such that the search can be
	// cancelled. Package regexp has its fast ways for shorter ones only.
	bigText = 256 << 10
	// regexpBytesPerStep is how much text a search passes over in a step.
	regexpBytesPerStep = 16
)

// search returns the submatch offsets of the first match that package regexp finds.
func (re *compiledRegexp) search(c *Context, s string) ([]int, error) {
	if len(s) <= bigText {
		return re.re.FindStringSubmatchIndex(s), nil
	}
	skip := 0
	if prefix, _ := re.re.LiteralPrefix(); !re.context {
		if skip = strings.Index(s, prefix); skip < 0 {
			return nil, nil
		}
	}
	t := cancellableText{c: c, s: s[skip:]}
	m := re.re.FindReaderSubmatchIndex(&t)
	if t.err != nil {
		return nil, t.err
	}
	for i := range m {
		if m[i] >= 0 {
			m[i] += skip
		}
	}
	return m, nil
}

// cancellableText reads a text, which ends early once the statement is cancelled.
type cancellableText struct {
	c   *Context
	s   string
	at  int
	err error
}

// ReadRune implements io.RuneReader.
func (t *cancellableText) ReadRune() (rune, int, error) {
	if t.at >= len(t.s) {
		return 0, 0, io.EOF
	}
	if t.err = t.c.Step(1); t.err != nil {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(t.s[t.at:])
	t.at += n
	return r, n, nil
}
