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

// TestDescribed: SHOW ALL and pg_settings say of each parameter what it is, or why it has no effect.
func TestDescribed(t *testing.T) {
	for _, p := range registry {
		if p.Doc == "" && p.Why == "" {
			t.Errorf("%s has no description", p.Name)
		}
	}
}
