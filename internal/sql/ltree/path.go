package ltree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The limits of paths and patterns.
const (
	MaxLevels = 65535
	MaxLabel  = 255 // characters
)

// isLabel reports whether a character may be part of a label.
func isLabel(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Check returns an error if a text is not a path. step is called with the number of bytes of each label.
func Check(s string, step func(int) error) error {
	if n := strings.Count(s, ".") + 1; n > MaxLevels {
		return pgerr.New(pgerr.ProgramLimitExceeded, "number of ltree labels (%d) exceeds the maximum allowed (%d)", n, MaxLevels)
	}
	at, chars := 1, 0 // the next character, and how many the label has
	for _, r := range s {
		switch {
		case isLabel(r):
			chars++
		case r == '.' && chars > 0:
			if err := checkLabel(chars, at); err != nil {
				return err
			}
			if err := step(chars); err != nil {
				return err
			}
			chars = 0
		default:
			return pgerr.New(pgerr.SyntaxError, "ltree syntax error at character %d", at)
		}
		at++
	}
	if chars == 0 && s != "" {
		return pgerr.New(pgerr.SyntaxError, "ltree syntax error").WithDetail("Unexpected end of input.")
	}
	return checkLabel(chars, at)
}

func checkLabel(chars, at int) error {
	if chars > MaxLabel {
		return pgerr.New(pgerr.NameTooLong, "label string is too long").
			WithDetail("Label length is %d, must be at most %d, at character %d.", chars, MaxLabel, at)
	}
	return nil
}

// Levels returns how many labels a path has.
func Levels(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s, ".") + 1
}

// Labels returns the labels of a path.
func Labels(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

// Compare orders paths; the result is PostgreSQL's, which tells how far apart they are: in the first byte that differs, in the length of
// the first label that does, or in how many labels there are.
func Compare(a, b string) int {
	x, y := Labels(a), Labels(b)
	for i := 0; i < len(x) && i < len(y); i++ {
		p, q := x[i], y[i]
		for j := 0; j < len(p) && j < len(q); j++ {
			if p[j] != q[j] {
				return int(p[j]) - int(q[j])
			}
		}
		if len(p) != len(q) {
			return len(p) - len(q)
		}
	}
	return len(x) - len(y)
}

// Ancestor reports whether a is b, or above it.
func Ancestor(a, b string) bool {
	return a == "" || strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '.')
}

// Concat returns a path within another.
func Concat(a, b string) (string, error) {
	if n := Levels(a) + Levels(b); n > MaxLevels {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "number of ltree levels (%d) exceeds the maximum allowed (%d)", n, MaxLevels)
	}
	if a == "" || b == "" {
		return a + b, nil
	}
	return a + "." + b, nil
}

// Between returns the labels from one, the first of which is 0, to before another.
func Between(s string, from, to int) (string, error) {
	labels := Labels(s)
	if from < 0 || to < 0 || from >= len(labels) || from > to {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid positions")
	}
	return strings.Join(labels[from:min(to, len(labels))], "."), nil
}

// Subpath returns labels from one on: those before the end if n is negative, all that follow if it isn't given.
func Subpath(s string, from int, n int, given bool) (string, error) {
	levels := Levels(s)
	for range 2 { // a place beyond the beginning counts from the end once more
		if from < 0 {
			from += levels
		}
	}
	to := from + n
	switch {
	case n < 0:
		to = levels + n
	case n == 0 && !given:
		to = MaxLevels
	}
	return Between(s, from, to)
}

// Index returns where b is in a, from a place on that counts from the end if it is negative; -1 if it isn't there.
func Index(a, b string, from int) int {
	x, y := Labels(a), Labels(b)
	if from < 0 {
		from = max(len(x)+from, 0)
	}
	if len(x) == 0 || len(y) == 0 {
		return -1
	}
	for at := from; at <= len(x)-len(y); at++ {
		same := true
		for i := range y {
			if same = x[at+i] == y[i]; !same {
				break
			}
		}
		if same {
			return at
		}
	}
	return -1
}

// Common returns the longest path that is above all, and whether there is one: not for no paths, or an empty one.
func Common(paths []string) (string, bool) {
	if len(paths) == 0 || paths[0] == "" {
		return "", false
	}
	first := Labels(paths[0])
	n := len(first) - 1
	for _, p := range paths[1:] {
		if p == "" {
			return "", false
		}
		labels := Labels(p)
		n = min(n, len(labels)-1)
		for i := range n {
			if first[i] != labels[i] {
				n = i
				break
			}
		}
	}
	return strings.Join(first[:n], "."), true
}
