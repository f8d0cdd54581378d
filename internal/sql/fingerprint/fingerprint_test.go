package fingerprint

import "testing"

// TestKeys requires that texts share a fingerprint only if they differ in the values of integers.
func TestKeys(t *testing.T) {
	key := func(text string) string {
		var x Session
		if !x.read(text) {
			t.Fatalf("%s has no fingerprint", text)
		}
		return string(x.key)
	}
	texts := []string{
		"SELECT * FROM t WHERE a = 5", "SELECT * FROM t WHERE a = -5", "SELECT * FROM t WHERE a = 5-3", "SELECT * FROM t WHERE a = 5 -3",
		"SELECT * FROM t WHERE a = 5000000000", "SELECT * FROM t WHERE a = -5000000000",
	}
	seen := map[string]string{}
	for _, text := range texts {
		if other := seen[key(text)]; other != "" {
			t.Errorf("%s and %s have one fingerprint", text, other)
		}
		seen[key(text)] = text
	}
	if key(texts[0]) != key("SELECT * FROM t WHERE a = 40000") {
		t.Error("texts that differ in the value of an integer have two fingerprints")
	}
}
