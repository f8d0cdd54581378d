package jsonpath

import (
	"strings"
	"testing"
)

func same(s string) (string, error) { return s, nil }

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`$`, `strict $.a[*] ? (@.b > 1 && !(exists (@.c)))`, `$.**{2 to last}.size()`, `lax $[0, last - 1 to 3]."x y"`,
		`($.a + 1) * -2 == $"v"`, `$ ? (@ like_regex "^a\u00e4" flag "iq")`, `($ starts with "a") is unknown`, `1.5e3 .type()`, `$.datetime("HH24")`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s, same)
		if err != nil {
			return
		}
		text := p.String()
		q, err := Parse(text, same)
		if err != nil || q.String() != text {
			t.Fatalf("%q prints as %q, which gives %v, %v", s, text, q, err)
		}
	})
}

func TestPrint(t *testing.T) {
	for in, want := range map[string]string{
		`$`:                         `$`,
		`lax $.a.b [ * ]`:           `$."a"."b"[*]`,
		`strict $ ? (@.x>1||@.y<2)`: `strict $?(@."x" > 1 || @."y" < 2)`,
		`$.a + 1`:                   `($."a" + 1)`,
		`-$.a * (2 + 3)`:            `(-$."a" * (2 + 3))`,
		`$.**{2}.size()`:            `$.**{2}.size()`,
		`$[0, 2 to last]`:           `$[0,2 to last]`,
		`exists($.a) && ($.b == 1)`: `(exists ($."a") && $."b" == 1)`,
		`- -+1`:                     `1`, `-0`: `0`, `-(1 + 2)`: `(-(1 + 2))`, `-1 .type()`: `(-(1).type())`, `(-1).type()`: `(-1).type()`,
		`$.a like_regex "x" flag "q"`: `($."a" like_regex "x" flag "q")`,
		`($.a * $.b).c + 2`:           `(($."a" * $."b")."c" + 2)`,
		`(!($.a == 1)).b + 3`:         `((!($."a" == 1))."b" + 3)`,
		`(exists ($.a)).type()`:       `(exists ($."a")).type()`,
		`(($.a > 1) is unknown).b`:    `(($."a" > 1) is unknown)."b"`,
	} {
		p, err := Parse(in, same)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := p.String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestDepth checks that the limit holds for the tree: what is within it prints as a text
// that can be read again, however that is nested.
func TestDepth(t *testing.T) {
	nested := func(open, in, shut string) func(int) string {
		return func(n int) string { return strings.Repeat(open, n) + in + strings.Repeat(shut, n) }
	}
	for _, build := range []func(int) string{
		nested("+", "$", ""), nested("-", "$", ""), nested("1 + ", "1", ""), nested("(1 * ", "2", ")"),
		nested("!(", "$ == 1", ")"), nested("exists ($ ? (", "$ == 1", "))"), nested("$[", "0", "]"), nested("", "$", ".a"),
		nested("(", "$", ".a)"), nested("(", "1 == 1", ") is unknown"), nested("", "1 == 1", " && 1 == 1"),
	} {
		longest := 0
		for _, n := range []int{1, 10, MaxDepth / 3, MaxDepth/3 + 1, MaxDepth / 2, MaxDepth - 2, MaxDepth - 1, MaxDepth, MaxDepth + 1, MaxDepth + 5, 4 * MaxDepth} {
			p, err := Parse(build(n), same)
			if err != nil {
				continue
			}
			longest = n
			text := p.String()
			if q, err := Parse(text, same); err != nil || q.String() != text {
				t.Errorf("%.30q... of depth %d prints as what gives %v", build(n), n, err)
			}
		}
		if longest < MaxDepth/3 || longest > MaxDepth+1 {
			t.Errorf("%.30q...: nests up to %d", build(longest), longest)
		}
	}
}
