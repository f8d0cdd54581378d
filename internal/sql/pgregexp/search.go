package pgregexp

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// BigText is the length from which on a text is searched such that the search can be
	// cancelled. Package regexp has its fast ways for shorter ones only.
	BigText = 256 << 10
	// BytesPerStep is how much text a search passes over in a step.
	BytesPerStep = 16
)

// stepper counts the steps of a search and fails once the statement is cancelled.
type stepper interface {
	Step(n int) error
}

// Search returns the submatch offsets of the first match that package regexp finds.
func (re *Regexp) Search(c stepper, s string) ([]int, error) {
	if len(s) <= BigText {
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
	c   stepper
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

// Each calls f with the submatch offsets of successive matches of s from byte
// offset start on, until f returns false. After an empty match the search goes
// on one character later.
func (re *Regexp) Each(c stepper, s string, start int, f func(m []int) bool) error {
	if b := re.By(s); b != nil {
		for start <= len(s) {
			m, err := b.Find(c, s, start)
			if err != nil || m == nil || !f(m) {
				return err
			}
			if start = m[1]; m[0] == m[1] {
				start += max(1, runeLen(s[start:]))
			}
		}
		return nil
	}
	if err := re.Check(s); err != nil {
		return err
	}
	if re.context {
		return re.EachInContext(c, s, start, f)
	}
	for start <= len(s) {
		m, err := re.Search(c, s[start:])
		if m == nil || err != nil {
			return err
		}
		if err := c.Step(m[1]/BytesPerStep + 1); err != nil {
			return err
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += start
			}
		}
		m, err = re.WithGroups(c, s, m)
		if err != nil || !f(m) {
			return err
		}
		start = m[1]
		if m[0] == m[1] {
			start += max(1, runeLen(s[start:]))
		}
	}
	return nil
}

// EachInContext is each for an expression whose matches depend on the text before
// them, which therefore is always searched as a whole. Package regexp leaves out an
// empty match right behind another one.
func (re *Regexp) EachInContext(c stepper, s string, start int, f func(m []int) bool) error {
	all := re.re.FindAllStringSubmatchIndex(s, -1)
	for i, found := range all {
		if found[0] < start {
			continue
		}
		m, err := re.WithGroups(c, s, found)
		if err != nil || !f(m) {
			return err
		}
		end := found[1]
		if end == found[0] || i+1 < len(all) && all[i+1][0] == end {
			continue
		}
		if m := re.EmptyAt(s, end); m != nil && !f(m) {
			return nil
		}
	}
	return nil
}

// EmptyAt returns the match that begins and ends at a byte offset behind the
// beginning of s, nil if there is none.
func (re *Regexp) EmptyAt(s string, at int) []int {
	_, n := utf8.DecodeLastRuneInString(s[:at])
	m := re.behind().FindStringSubmatchIndex(s[at-n:])
	if m == nil || m[1] != n {
		return nil
	}
	m[0] = n
	for i := range m {
		if m[i] >= 0 {
			m[i] += at - n
		}
	}
	return m
}

// Nth returns the nth match (from 1) at or after byte offset start.
func (re *Regexp) Nth(c stepper, s string, start, n int) ([]int, error) {
	var found []int
	err := re.Each(c, s, start, func(m []int) bool {
		if n--; n == 0 {
			found = m
		}
		return n > 0
	})
	return found, err
}

// runeLen returns how many bytes the first character of s has, 0 if s is empty.
func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
