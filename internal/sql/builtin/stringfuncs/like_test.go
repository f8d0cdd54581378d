package stringfuncs_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
)

func TestLikePrefix(t *testing.T) {
	for _, tc := range []struct {
		pattern, prefix string
		exact           bool
	}{
		{"abc", "abc", true}, {"abc%", "abc", false}, {"a_c", "a", false}, {`a\%b`, "a%b", true}, {`a\`, "a", false},
		{"%", "", false}, {"", "", true},
	} {
		if p, exact := stringfuncs.LikePrefix(tc.pattern); p != tc.prefix || exact != tc.exact {
			t.Errorf("%q: got %q, %v", tc.pattern, p, exact)
		}
	}
}
