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

// inParentheses is what an invariant names in parentheses, and identifier a name therein.
var (
	inParentheses = regexp.MustCompile(`\(([^()]+)\)`)
	identifier    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// TestInvariantsAreHeld requires that each invariant names in parentheses, or as what asserts it, a
// function or test that holds it.
func TestInvariantsAreHeld(t *testing.T) {
	n := declared(t)
	found := 0
	walk(t, filepath.Join(repository, "internal"), "doc.go", func(path string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for label, text := range invariants(string(src)) {
			if found++; !n.holds(text) {
				t.Errorf("%s: invariant %s names nothing that holds it", path, label)
			}
		}
	})
	if found < 300 {
		t.Errorf("only %d invariants are found", found)
	}
}

// invariants returns the texts of a doc.go's invariants by their labels.
func invariants(src string) map[string]string {
	texts, label, within := map[string]string{}, "", false
	for line := range strings.Lines(src) {
		m := numbered.FindStringSubmatch(line)
		switch {
		case heading.MatchString(line):
			within = true
		case strings.HasPrefix(line, "// # "):
			within, label = false, ""
		case m != nil && (within || m[1][0] > '9'):
			label = m[1]
		case strings.TrimSpace(line) == "//":
			label = ""
		}
		if label != "" {
			texts[label] += " " + strings.TrimPrefix(strings.TrimSpace(line), "//")
		}
	}
	return texts
}

// holds reports whether an invariant's text names a function, test or type.
func (n *names) holds(text string) bool {
	named := inParentheses.FindAllString(text, -1)
	if _, after, ok := strings.Cut(text, ": "); ok && strings.HasSuffix(text, " asserts it.") {
		named = append(named, after)
	}
	for _, in := range named {
		for _, w := range identifier.FindAllString(in, -1) {
			if n.funcs[w] {
				return true
			}
		}
	}
	return false
}
