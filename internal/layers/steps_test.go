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

// unstepped are the functions of package builtin whose loops over the elements of an array
// need not count their steps, each with the reason.
var unstepped = map[string]string{
	"aclContains":      "access control lists are short",
	"arrayFill":        "loops over dimensions",
	"bindCollationKey": aPass,
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
	"otherFunctions":   aPass,
	"pathKeys":         "paths are short",
	"deleteLexemes":    aPass,
	"Result":           "fractions are few",
	"appendPretty":     aPass,
	"stripNulls":       aPass,
	"vectorFunctions":  aPass,
}

// aPass is the reason for loops that take some nanoseconds for each element, once.
const aPass = "one pass of little work"

// TestElementLoopsStep requires that loops of package builtin over the elements of an array,
// of which a client may send millions, call Context.Step: else a cancelled statement goes on
// until they end.
func TestElementLoopsStep(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "sql", "builtin", "*.go"))
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

// elementLoops returns the loops of a function over x.ArrayElems() or x.Elems.
func elementLoops(body ast.Node) (loops []*ast.RangeStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		r, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		x := r.X
		if c, ok := x.(*ast.CallExpr); ok {
			x = c.Fun
		}
		if s, ok := x.(*ast.SelectorExpr); ok && (s.Sel.Name == "ArrayElems" || s.Sel.Name == "Elems") {
			loops = append(loops, r)
		}
		return true
	})
	return loops
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
