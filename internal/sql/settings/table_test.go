package settings

import (
	"strings"
	"testing"
)

// TestLookup finds every parameter by its name: they must be in the order of their names.
func TestLookup(t *testing.T) {
	for _, p := range registry {
		if lookup(strings.ToLower(p.Name)) != p {
			t.Errorf("%s is not found", p.Name)
		}
	}
}
