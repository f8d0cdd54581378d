package trigram

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func words(t *rapid.T, name string) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("aabcäÄ1 -")), 0, 40, -1).Draw(t, name)
}

// TestManyTrigrams: the trigrams of a long text are found as those of a short one.
func TestManyTrigrams(t *testing.T) {
	all := ""
	rapid.Check(t, func(t *rapid.T) { all += words(t, "text") + " " })
	few, err := Of(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	many, err := ofMany(all, nil)
	if err != nil || !slices.Equal(few, many) {
		t.Errorf("%v and %v, %v", few, many, err)
	}
}

// TestWordSimilarity compares with a stretch that is counted anew for each of its beginnings.
func TestWordSimilarity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, strict := words(t, "a"), words(t, "b"), rapid.Bool().Draw(t, "strict")
		got, err := WordSimilarity(a, b, strict, nil)
		if want := plainWordSimilarity(a, b, strict); err != nil || got != want {
			t.Fatalf("%v instead of %v, %v", got, want, err)
		}
	})
}

func plainWordSimilarity(a, b string, strict bool) (best float32) {
	set, _ := Of(a, nil)
	var all []Trigram
	var first []bool
	from, begins := -1, true
	_ = each(b, nil, func(t Trigram, ends bool) {
		all, first, begins = append(all, t), append(first, begins), ends
		wanted := slices.Contains(set, t)
		if from < 0 && (strict || wanted) {
			from = len(all) - 1
		}
		if strict && !ends || !strict && !wanted {
			return
		}
		most := float32(-1)
		for i := from; i < len(all); i++ {
			s, _ := Similarity(set, normal(slices.Clone(all[i:])), nil)
			if s > most && (!strict || first[i]) {
				most, from = s, i
			}
		}
		best = max(best, most)
	})
	return best
}

// TestWordSimilaritySteps: words that come again and again take no longer than others.
func TestWordSimilaritySteps(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, b := range []string{"abc foo ", "abc ", "xyz "} {
			const n = 10_000
			steps := 0
			_, err := WordSimilarity("abc and more", strings.Repeat(b, n), strict, func(n int) error {
				steps += n
				return nil
			})
			if most := 20 * len(b) * n; err != nil || steps > most {
				t.Errorf("%q: %d steps, more than %d, %v", b, steps, most, err)
			}
		}
	}
}
