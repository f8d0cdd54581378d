package layers_test

import (
	"fmt"
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

var invariantLabel = regexp.MustCompile(`^[A-Z]\d+$`)

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
			found++
			holders, missing := n.holders(folder(path), text)
			if len(holders) == 0 {
				t.Errorf("%s: invariant %s names nothing that holds it", path, label)
			}
			for _, name := range missing {
				t.Errorf("%s: invariant %s names %s, which does not exist", path, label, name)
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

// holders returns the functions, tests, types and scripts that an invariant's text names in parentheses, or
// as what asserts it, and the names of code among them that nothing has. A name without a dot before it
// is one of the invariant's own package, but for tests.
func (n *names) holders(pkg, text string) (exist, missing []string) {
	named := inParentheses.FindAllString(text, -1)
	if _, after, ok := strings.Cut(text, ": "); ok && strings.HasSuffix(text, " asserts it.") {
		named = append(named, after)
	}
	for _, in := range named {
		for _, m := range n.mentioned(in) {
			switch visible := n.visible(pkg, m); {
			case n.funcs[lastOf(m.name)] && visible || visible && testName.MatchString(m.name) || n.isScript(m.name):
				exist = append(exist, m.name)
			case visible || n.packages[m.name] || n.elsewhere(m.name):
			case m.alone && len(m.name) > 1 || m.code:
				missing = append(missing, m.name)
			}
		}
	}
	return exist, missing
}

// isScript reports whether a name is that of a file of testdata.
func (n *names) isScript(name string) bool {
	return n.testdata[strings.TrimSuffix(name, ".slt")]
}

// lastOf returns what follows the last dot of a name.
func lastOf(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// folder returns the folder of a file below internal.
func folder(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../internal/")
}

// TestHolders gives holders an invariant whose second name is stale, and one that names prose alone.
func TestHolders(t *testing.T) {
	log, store := newDeclarations(), newDeclarations()
	log.add(parse(t, "package log\nvar by int\nfunc Append() {}"))
	store.add(parse(t, "package store\nfunc open() {}\nfunc TestAppend() {}\nfunc TestOpen() {}"))
	n := &names{
		byPackage: map[string]*declarations{"log": log, "store": store},
		funcs:     map[string]bool{"Append": true, "open": true, "TestAppend": true},
		testdata:  map[string]bool{"torn_tail": true}, packages: map[string]bool{"log": true, "store": true},
	}
	for text, want := range map[string]string{
		"1. (Append, truncateTail; TestAppend in store)":        "[Append TestAppend] [truncateTail]",
		"2. (checked by TestGone on logs)":                      "[] [TestGone]",
		"3. (open)":                                             "[] [open]",
		"6. (Append; open, TestApp in store)":                   "[Append open TestApp] []",
		"7. (store's TestAppend; TestOpen)":                     "[TestAppend] [TestOpen]",
		"4. (store.open; testdata/torn_tail)":                   "[store.open torn_tail] []",
		"5. Nothing is lost (as PostgreSQL says by A5, log.go)": "[] []",
	} {
		exist, missing := n.holders("log", text)
		if got := fmt.Sprint(exist, missing); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
