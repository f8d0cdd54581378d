package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unstepped are the functions below package builtin whose loops over the elements of an array
// need not count their steps, each with the reason.
var unstepped = map[string]string{
	"aclContains":      "access control lists are short",
	"arrayFill":        "loops over dimensions",
	"bindCollationKey": aPass,
	"children":         "counts steps in pathExec.anyLevel",
	"collatedExtreme":  aPass,
	"collect":          aPass,
	"explodeACL":       "access control lists are short",
	"expandArray":      aPass,
	"getObjectAddress": "names have few parts",
	"jsonDeleteKeys":   aPass,
	"jsonHasKey":       aPass,
	"jsonPath":         "paths are short",
	"jsonVectorOf":     "counts steps in Config.ToVector",
	"members":          aPass,
	"optionsToTable":   "options are few",
	"pathKeys":         "paths are short",
	"deleteLexemes":    aPass,
	"Result":           "fractions are few",
	"appendPretty":     aPass,
	"stripNulls":       aPass,
	"vectorFunctions":  aPass,
}

// aPass is the reason for loops that take some nanoseconds for each element, once.
const aPass = "one pass of little work"

// TestElementLoopsStep requires that loops below package builtin over the elements of an array,
// of which a client may send millions, call Context.Step: else a cancelled statement goes on
// until they end.
func TestElementLoopsStep(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "sql", "builtin", "*", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	fset := token.NewFileSet()
	var excepted []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			for _, loop := range elementLoops(f.Body) {
				if calls(loop.Body, "Step") {
					continue
				}
				if unstepped[f.Name.Name] != "" {
					excepted = append(excepted, f.Name.Name)
					continue
				}
				t.Errorf("%s: %s loops over elements without Context.Step", fset.Position(loop.Pos()), f.Name.Name)
			}
		}
	}
	for name := range unstepped {
		if !slices.Contains(excepted, name) {
			t.Errorf("%s needs no exception any more", name)
		}
	}
}

// elementLoops returns the loops of a function over the elements of an array: x.ArrayElems(),
// x.Elems, x.Elems.All(), or a variable that one of these was assigned to.
func elementLoops(body ast.Node) (loops []*ast.RangeStmt) {
	lists := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, v := range n.Lhs {
				if id, ok := v.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && isElements(n.Rhs[i], lists) {
					lists[id.Name] = true
				}
			}
		case *ast.RangeStmt:
			if isElements(n.X, lists) {
				loops = append(loops, n)
			}
		}
		return true
	})
	return loops
}

// isElements reports whether an expression is the elements of an array; lists are the variables
// that are.
func isElements(x ast.Expr, lists map[string]bool) bool {
	switch x := x.(type) {
	case *ast.CallExpr:
		s, ok := x.Fun.(*ast.SelectorExpr)
		return ok && (s.Sel.Name == "ArrayElems" || s.Sel.Name == "All" && isElements(s.X, lists))
	case *ast.SelectorExpr:
		return x.Sel.Name == "Elems"
	case *ast.Ident:
		return lists[x.Name]
	}
	return false
}

// calls reports whether a method of a name is called in a block.
func calls(body ast.Node, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == name {
				found = true
			}
		}
		return !found
	})
	return found
}
