package stringfuncs

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/proptest"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

func TestMain(m *testing.M) { proptest.Main(m) }

// TestCompiledLike compares patterns that become string searches with the walk along both strings.
func TestCompiledLike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringOfN(rapid.SampledFrom([]rune(`ab%%%\é`)), 0, 8, -1).Draw(t, "pattern")
		s := rapid.StringOfN(rapid.SampledFrom([]rune(`aab%\é`)), 0, 10, -1).Draw(t, "value")
		match := compileLike(p)
		if match == nil {
			t.Skip("it ends with a backslash")
		}
		c := &call.Context{Ctx: context.Background()}
		want, err := likeMatch(c, s, p, false)
		if err != nil {
			t.Skip("the walk meets a backslash at the end")
		}
		if got := match(c, s); got != want {
			t.Fatalf("%q LIKE %q: %v", s, p, got)
		}
	})
}
