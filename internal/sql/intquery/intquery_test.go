package intquery

import (
	"testing"

	"pgregory.net/rapid"
)

func free(int) error { return nil }

// TestRoundTrip: what is printed is read as the same.
func TestRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`!?\(?1 ?[&|] ?!?(-2|\(3 ?[&|] ?04\))\)?( ?[&|] ?5)*`)
	rapid.Check(t, func(t *rapid.T) {
		q, err := Parse(text.Draw(t, "text"), free)
		if err != nil {
			return
		}
		printed := string(q.AppendText(nil))
		again, err := Parse(printed, free)
		if err != nil || string(again.AppendText(nil)) != printed {
			t.Fatalf("%s: %v, %v", printed, again, err)
		}
		for set := range 32 {
			has := func(n int32) bool { return n > 0 && set>>(n-1)&1 == 1 }
			if q.Matches(has) != again.Matches(has) {
				t.Fatalf("%s and what it was read from differ for %b", printed, set)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("1 & !(2 | -3)")
	f.Fuzz(func(t *testing.T, s string) {
		if q, err := Parse(s, free); err == nil {
			q.Matches(func(int32) bool { return true })
		}
	})
}
