package optimizer

import "testing"

func TestRegexpPrefix(t *testing.T) {
	for p, want := range map[string]struct {
		prefix string
		whole  bool
	}{
		"^(t101)$": {"t101", true}, "^t101$": {"t101", true}, "^t101": {"t101", false}, "^(t1.*)$": {"t1", false},
		"^(ab*)$": {"a", false}, "^aé?": {"a", false}, "^a{2}": {"", false}, "^ab+c": {"a", false}, "t101": {}, "^(a)(b)$": {},
		"^(a|b)$": {}, "^a|b": {}, "^(a)?$": {}, "^(?:a)$": {}, "^a(b)?": {}, `^a\.b`: {"a", false}, "^[ab]c": {}, "^": {}, "^$": {"", true},
		"^(a": {}, "^a.$": {"a", false}, "(?i)^a": {}, "***=^a": {}, "^a$b": {"a", false},
	} {
		if prefix, whole := regexpPrefix(p); prefix != want.prefix || whole != want.whole {
			t.Errorf("%q: %q, %v; want %q, %v", p, prefix, whole, want.prefix, want.whole)
		}
	}
}
