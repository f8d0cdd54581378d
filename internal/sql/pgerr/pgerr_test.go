package pgerr

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Messages quote no more of a long text than anybody reads, whatever its characters.
func TestLongTexts(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", maxQuoted+1), strings.Repeat("x", maxQuoted-1) + "éé"} {
		e := New(InvalidName, "%s %d %q", "a", 1, text).WithDetail("%s.", text).WithHint("%s!", text)
		for _, got := range []string{e.Message, e.Detail, e.Hint} {
			if len(got) > maxQuoted+20 || !utf8.ValidString(got) || !strings.Contains(got, "x…") {
				t.Errorf("%d bytes: %.20s … %s", len(got), got, got[len(got)-10:])
			}
		}
	}
	for _, n := range []int{maxQuoted, maxQuoted + 1} { // that of ASSERT, and the like
		if e := New(InvalidName, "%s", strings.Repeat("x", n)); len(e.Message) != n {
			t.Errorf("%d bytes of %d", len(e.Message), n)
		}
	}
}
