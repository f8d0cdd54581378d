package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// goFiles are the names of files in a text, such as format*.go.
	goFiles = regexp.MustCompile(`[\w*]+\.go\b`)
	// word is what may be the name of a type.
	word = regexp.MustCompile(`\w+`)
)

// TestReadingOrdersAreWhole requires that a doc.go that gives an order to read the files of its
// package names each, by itself or by a type that it declares, or says which files it
// leaves out: "a file per kind of statement", "one file per area".
func TestReadingOrdersAreWhole(t *testing.T) {
	walk(t, filepath.Join(repository, "internal"), "doc.go", func(doc string) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		named := goFiles.FindAllString(text, -1)
		if len(named) < 2 || strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "//", "")), " "), " file per ") {
			return
		}
		words := word.FindAllString(text, -1)
		for _, file := range sources(t, filepath.Dir(doc)) {
			isNamed := func(pattern string) bool {
				ok, err := path.Match(pattern, filepath.Base(file))
				return ok && err == nil
			}
			if !slices.ContainsFunc(named, isNamed) && !slices.ContainsFunc(typesOf(t, file), func(s string) bool { return slices.Contains(words, s) }) {
				t.Errorf("%s does not name %s", doc, filepath.Base(file))
			}
		}
	})
}

// sources returns the Go files of a folder but for doc.go and tests.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool {
		return filepath.Base(f) == "doc.go" || strings.HasSuffix(f, "_test.go")
	})
}

// typesOf returns the names of the types that a file declares.
func typesOf(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok {
					names = append(names, ts.Name.Name)
				}
			}
		}
	}
	return names
}
