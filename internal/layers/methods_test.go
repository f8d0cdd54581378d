package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestMethodNumbers requires that packages take the numbers of their methods from rpc/methods.go,
// where two methods with one number do not compile.
func TestMethodNumbers(t *testing.T) {
	found := 0
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
			switch n := n.(type) {
			case *ast.ValueSpec:
				if isMethod(n.Type) {
					t.Errorf("%s: rpc/methods.go has no such method", fset.Position(n.Pos()))
				}
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "rpc" && strings.HasPrefix(n.Sel.Name, "Method") && n.Sel.Name != "Method" {
					found++
				}
			}
			return true
		})
	})
	if found < 20 {
		t.Errorf("found %d methods only", found)
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
