package main

import (
	"os"
	"strings"
	"testing"
)

// TestKnownAreDocumented checks that each known difference is the first cell of a row in
// docs/differences.md.
func TestKnownAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			documented[strings.ReplaceAll(strings.TrimSpace(cells[1]), "`", "")] = true
		}
	}
	for _, k := range knownDifferences {
		if !documented[k.name] {
			t.Errorf("docs/differences.md does not explain %q", k.name)
		}
	}
}
