package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// drops are statements that would leave fewer objects to dump.
var drops = regexp.MustCompile(`(?is)^\s*drop\s+(materialized\s+)?(table|view|sequence|schema|type|domain|index|collation)\b[^;]*$`)

// elsewhere are statements about more than one database.
var elsewhere = regexp.MustCompile(`(?i)\b(create|drop|alter)\s+(database|tablespace)\b|^\s*use\s|set\s+(database|cluster setting)|^\s*(split|scatter|restore|backup)\b|pg_sleep|tablespace`)

// readScript returns the statements of a logic script in their order, those of all its
// sessions as if they were one.
func readScript(path string) ([]string, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for record := range strings.SplitSeq(string(src), "\n\n") {
		lines := strings.Split(strings.Trim(record, "\n"), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		if len(lines) < 2 || !strings.HasPrefix(lines[0], "statement") && !strings.HasPrefix(lines[0], "query") {
			continue
		}
		lines = lines[1:]
		if i := slices.Index(lines, "----"); i >= 0 {
			lines = lines[:i]
		}
		if text := strings.Join(lines, "\n"); !elsewhere.MatchString(text) {
			out = append(out, text)
		}
	}
	return out, nil
}

// withoutDrops leaves out statements that only drop something.
func withoutDrops(statements []string) []string {
	return slices.DeleteFunc(slices.Clone(statements), drops.MatchString)
}

// withoutLastDrops leaves out those at the end.
func withoutLastDrops(statements []string) []string {
	n := len(statements)
	for n > 0 && drops.MatchString(statements[n-1]) {
		n--
	}
	return statements[:n]
}
