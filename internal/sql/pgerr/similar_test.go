package pgerr

import (
	"slices"
	"testing"
)

func TestClosest(t *testing.T) {
	list := slices.Values([]string{"customers", "orders", "lower", "upper", "ab", "orders"})
	for name, want := range map[string]string{
		"customer": "customers", "custmoers": "customers", "lowr": "lower", "ordres": "orders", "xyzzy": "", "a": "", "abc": "ab",
		"ower": "lower", "lupper": "upper", "": "",
	} {
		if got := Closest(name, list); got != want {
			t.Errorf("Closest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Closest("uower", slices.Values([]string{"lower", "tower"})); got != "" {
		t.Errorf("two names as close give %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{{"kitten", "sitting", 3, 3}, {"", "abc", 5, 3}, {"abc", "abc", 1, 0}, {"abcdefgh", "a", 3, 4}, {"ab", "ba", 3, 2}} {
		if got := EditDistance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", c.a, c.b, c.limit, got, c.want)
		}
	}
}
