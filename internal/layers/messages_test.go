package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestMessagesQuoteAsPostgreSQL requires what clients read to put a name between quotes as it is: Go's %q
// escapes backslashes, quotes and what does not print.
func TestMessagesQuoteAsPostgreSQL(t *testing.T) {
	sourceFiles(t, parser.SkipObjectResolution, func(fset *token.FileSet, path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || !tellsClient(c.Fun) {
				return true
			}
			for _, arg := range c.Args {
				if lit, ok := arg.(*ast.BasicLit); ok && strings.Contains(lit.Value, "%q") {
					t.Errorf(`%s: a message with %%q: write \"%%s\"`, fset.Position(lit.Pos()))
				}
			}
			return true
		})
	})
}

// tellsClient reports whether a function makes a part of a message for clients.
func tellsClient(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if slices.Contains([]string{"WithDetail", "WithHint"}, s.Sel.Name) {
		return true
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "pgerr" && slices.Contains([]string{"New", "Unsupported"}, s.Sel.Name)
}
