package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maxFunctionLines is how long a function may be, so that it fits a screen.
const maxFunctionLines = 70

// maxPackageLines is how long a package may be without its tests, so that one can know it.
const maxPackageLines = 8000

// longFunctions are the exceptions to maxFunctionLines, each with the reason.
var longFunctions = map[string]string{
	"sql/ast.ddl":                   aCaseEach,
	"sql/ast.typeStmt":              aCaseEach,
	"sql/ddl.Exec":                  aCaseEach,
	"sql/plan.nodeType":             aCaseEach,
	"sql/types/typeio.AppendBinary": aCaseEach,
}

const (
	aCaseEach = "one short case for each kind"
)

// largePackages are the exceptions to maxPackageLines: how long they may be, and why they are whole.
var largePackages = map[string]struct {
	lines int
	why   string
}{
	"sql/catalog":   {9300, "one Collection resolves, pins, locks and publishes descriptors of all kinds, whose types stay beside it since each is one of its Descriptors"},
	"sql/parser":    {13100, "one grammar: expressions hold queries and statements hold both, so that all productions are methods of one parser; its lexer alone is too small a part to matter"},
	"sql/pgcatalog": {12500, "one snapshot: each relation is a generator over it, and refers to the others' oids; what is computed without it lies in catalogfuncs"},
	"sql/planner":   {15500, "expressions hold queries and queries expressions; see its doc.go"},
}

// sourceFiles calls fn with every Go file below internal and cmd that is no test, parsed.
func sourceFiles(t *testing.T, mode parser.Mode, fn func(fset *token.FileSet, path string, f *ast.File)) {
	t.Helper()
	for _, root := range []string{"..", filepath.Join("..", "..", "cmd")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, mode)
			if err != nil {
				return err
			}
			fn(fset, strings.TrimPrefix(filepath.ToSlash(path), "../"), f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSizes requires that functions fit a screen and that packages can be known.
func TestSizes(t *testing.T) {
	lines := map[string]int{}
	long, large := map[string]bool{}, map[string]bool{}
	sourceFiles(t, parser.SkipObjectResolution, func(fset *token.FileSet, path string, f *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		lines[dir] += fset.File(f.Pos()).LineCount()
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := fset.Position(fd.End()).Line - fset.Position(fd.Pos()).Line + 1
			if n <= maxFunctionLines {
				continue
			}
			name := dir + "." + fd.Name.Name
			if long[name] = true; longFunctions[name] == "" {
				t.Errorf("%s has %d lines, more than %d", name, n, maxFunctionLines)
			}
		}
	})
	for dir, n := range lines {
		if n <= maxPackageLines {
			continue
		}
		large[dir] = true
		if limit := max(maxPackageLines, largePackages[dir].lines); n > limit {
			t.Errorf("%s has %d lines, more than %d: split it by subject", dir, n, limit)
		}
	}
	unneeded(t, longFunctions, long)
	unneeded(t, largePackages, large)
}

// unneeded reports exceptions that nothing needs any more.
func unneeded[V any](t *testing.T, exceptions map[string]V, needed map[string]bool) {
	t.Helper()
	for name := range exceptions {
		if !needed[name] {
			t.Errorf("%s needs no exception any more", name)
		}
	}
}
