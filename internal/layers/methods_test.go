package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestMethodsAreDistinct requires that every rpc.Method has a number of its own: packages that
// don't know one another declare them.
func TestMethodsAreDistinct(t *testing.T) {
	owner := map[string]string{}
	walk(t, filepath.Join(repository, "internal"), ".go", func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !isMethod(v.Type) {
				return true
			}
			number, ok := v.Values[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the number of a method stands beside its name", fset.Position(v.Pos()))
				return true
			}
			name := f.Name.Name + "." + v.Names[0].Name
			if other := owner[number.Value]; other != "" {
				t.Errorf("%s has number %s, which is that of %s", name, number.Value, other)
			}
			owner[number.Value] = name
			return true
		})
	})
	if len(owner) < 20 {
		t.Errorf("found %d methods only", len(owner))
	}
}

// isMethod reports whether a type is rpc.Method.
func isMethod(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Method" {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "rpc"
}
