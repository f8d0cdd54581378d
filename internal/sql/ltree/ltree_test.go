package ltree

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func free(int) error { return nil }

// drawPath draws paths of few labels, so that equal ones and ancestors come up.
func drawPath(t *rapid.T, name string) string {
	label := rapid.SampledFrom([]string{"a", "b", "ab", "A", "a_b", "é"})
	return strings.Join(rapid.SliceOfN(label, 0, 4).Draw(t, name), ".")
}

// TestOrder: the bytes of paths order as their labels (2).
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPath(t, "a"), drawPath(t, "b")
		if err := Check(a, free); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Compare(a, b), cmp.Compare(Compare(a, b), 0); got != want {
			t.Fatalf("%q and %q: bytes compare as %d, labels as %d", a, b, got, want)
		}
		if c, ok := Common([]string{a, b}); ok && (!Ancestor(c, a) || !Ancestor(c, b) || c == a) {
			t.Fatalf("%q is above %q and %q", c, a, b)
		}
	})
}

// TestRoundTrip: what is printed is read as the same (1).
func TestRoundTrip(t *testing.T) {
	pattern := rapid.StringMatching(`!?(a|b@|ab%\*|\*)(\|b\*)?(\{(0|1|2)?,?(2|3)?\})?(\.(\*|a|!b|c\{,2\}))*`)
	text := rapid.StringMatching(`!?\(?a(@|%|\*)? ?[&|] ?!?(b|\(c ?[&|] ?d\))\)?( ?[&|] ?e)*`)
	rapid.Check(t, func(t *rapid.T) {
		if p, err := ParsePattern(pattern.Draw(t, "pattern"), free); err == nil {
			printed := string(p.AppendText(nil))
			if q, err := ParsePattern(printed, free); err != nil || string(q.AppendText(nil)) != printed {
				t.Fatalf("%s: %v, %v", printed, q, err)
			}
		}
		if p, err := ParseTextQuery(text.Draw(t, "text"), free); err == nil {
			printed := string(p.AppendText(nil))
			if q, err := ParseTextQuery(printed, free); err != nil || string(q.AppendText(nil)) != printed {
				t.Fatalf("%s: %v, %v", printed, q, err)
			}
		}
	})
}

// TestMatches compares patterns with regular expressions that say the same.
func TestMatches(t *testing.T) {
	level := rapid.SampledFrom([][2]string{
		{"a", `a\.`}, {"a|b", `(?:a|b)\.`}, {"a*", `a[^.]*\.`}, {"*", `(?:[^.]+\.)*`}, {"*{1,2}", `(?:[^.]+\.){1,2}`}, {"*{0}", ""},
		{"a{,2}", `(?:a\.){0,2}`}, {"!a", `(?:[^.]{2,}|[^a.])\.`}, {"!a{2,}", `(?:(?:[^.]{2,}|[^a.])\.){2,}`},
	})
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(level, 1, 4).Draw(t, "levels")
		var pattern, expr []string
		for _, l := range levels {
			pattern, expr = append(pattern, l[0]), append(expr, l[1])
		}
		path := drawPath(t, "path")
		p, err := ParsePattern(strings.Join(pattern, "."), free)
		if err != nil {
			t.Fatal(err)
		}
		terminated := path
		if path != "" {
			terminated += "."
		}
		if got, want := p.Matches(path), regexp.MustCompile("^"+strings.Join(expr, "")+"$").MatchString(terminated); got != want {
			t.Fatalf("%q matches %s: %v", path, strings.Join(pattern, "."), got)
		}
	})
}

// TestPatternErrors: where errors are found, as PostgreSQL says.
func TestPatternErrors(t *testing.T) {
	for text, want := range map[string]string{
		"!": "2", "!.a": "2", "!@a": "3", "!@": "2", "!{1}": "2", "!|a": "2", "!!a": "2", "a|@": "3", "a||b": "3", "@": "1", "!a.@": "4", "!*": "2", "a.!": "4", "!%|a": "2",
		"a|*": "3", "a@b": "3", "a{x}": "3", "a{1,2}b": "7", "*a": "2",
	} {
		_, err := ParsePattern(text, free)
		if err == nil || err.Error() != "lquery syntax error at character "+want {
			t.Errorf("%s: %v, not at character %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a.b|c@.*{1,}")
	f.Add("a & !(b* | c%)")
	f.Fuzz(func(t *testing.T, s string) {
		_ = Check(s, free)
		if p, err := ParsePattern(s, free); err == nil {
			p.Matches("a.b")
		}
		if q, err := ParseTextQuery(s, free); err == nil {
			q.Matches("a.b")
		}
	})
}
