package layers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// numbered is an invariant in a package's doc.go: a number under its heading, or a letter
	// of the package and a number.
	numbered  = regexp.MustCompile(`^//\s+([A-Z]?\d+)\. `)
	heading   = regexp.MustCompile(`(?i)^// (# )?invariants`)
	reference = regexp.MustCompile(`\binvariants? ([A-Z]\d+)`)
)

// TestInvariantNumbers requires that no two invariants of a package have the same number, and that those
// that code refers to by letter and number are there.
func TestInvariantNumbers(t *testing.T) {
	defined := map[string]bool{} // with a letter, which several packages may have
	referred := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range reference.FindAllStringSubmatch(string(src), -1) {
			referred[m[1]] = path
		}
		if filepath.Base(path) == "doc.go" {
			for label := range numbers(t, path, string(src)) {
				defined[label] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for label, path := range referred {
		if !defined[label] {
			t.Errorf("%s refers to invariant %s, which is in no doc.go", path, label)
		}
	}
	if len(defined) == 0 || len(referred) == 0 {
		t.Error("no invariants are found")
	}
}

// numbers returns the invariants of a package that have a letter, and complains of numbers that
// two have.
func numbers(t *testing.T, path, src string) map[string]bool {
	lettered, plain := map[string]bool{}, map[string]bool{}
	within := false
	for line := range strings.Lines(src) {
		switch {
		case heading.MatchString(line):
			within = true
		case strings.HasPrefix(line, "// # "):
			within = false
		}
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		label, seen := m[1], lettered
		if label[0] <= '9' {
			if seen = plain; !within {
				continue
			}
		}
		if seen[label] {
			t.Errorf("%s: two invariants have the number %s", path, label)
		}
		seen[label] = true
	}
	return lettered
}
