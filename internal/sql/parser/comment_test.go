package parser

import (
	"strings"
	"testing"
)

// Comments end where their beginnings and ends balance, wherever these lie to the pieces in which they are read.
func TestBlockComments(t *testing.T) {
	for _, lead := range []int{0, 1, stepBytes - 3, stepBytes - 2, stepBytes - 1, stepBytes, 2*stepBytes - 3, 2*stepBytes - 2} {
		for comment, open := range map[string]bool{
			"*/":         false,
			"/**/*/":     false,
			"/*/**/*/*/": false,
			"/*/*/":      true,
			"**/":        false,
			"/":          true,
			"*":          true,
			"/*":         true,
			"/**/":       true,
			"* /":        true,
			"//*/*/*/":   true,
			"/ *//":      false,
		} {
			text := "/*" + strings.Repeat("x", lead) + comment
			l := lexer{sql: text, due: stepBytes}
			ok := l.skipBlockComment()
			want := !open
			if ok != want || ok && l.pos > len(text) {
				t.Errorf("%d bytes and %q: %v at %d of %d", lead, comment, ok, l.pos, len(text))
			}
		}
	}
}
