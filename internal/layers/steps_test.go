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

// stepped are the packages that work on values of users, each of which may have millions of
// elements.
var stepped = []string{
	"builtin", "builtin/*", "copyfmt", "exec", "exec/*", "inverted", "jsonpath", "pgregexp", "rowcodec", "textsearch", "types", "types/casts",
	"types/datetime", "types/typeio",
}

// unstepped are the functions of these packages whose loops over the elements of a value need
// not count their steps, each with the reason.
var unstepped = map[string]string{
	"arrayfuncs.arrayFill":        "loops over dimensions",
	"catalogfuncs.aclContains":    "access control lists are short",
	"jsonfuncs.children":          "counts steps in pathExec.anyLevel",
	"jsonfuncs.jsonHasKey":        aPass,
	"jsonfuncs.jsonPath":          "paths are short",
	"rowcodec.appendArray":        "ends at the longest key",
	"rowcodec.appendComposed":     "ends at the longest key",
	"rowcodec.appendJSON":         aPass,
	"searchfuncs.jsonVectorOf":    "counts steps in walk",
	"stringfuncs.collatedExtreme": aPass,
}

// aPass is the reason for loops that take some nanoseconds for each element, once.
const aPass = "one pass of little work"

// TestElementLoopsStep requires that loops over the elements of an array or a multirange, or over
// rows that are kept, of which there may be millions, count their steps, or hand what counts them to what they
// call: else a cancelled statement goes on until they end.
func TestElementLoopsStep(t *testing.T) {
	var excepted []string
	for _, pkg := range stepped {
		eachFunction(t, pkg, func(fset *token.FileSet, name string, f *ast.FuncDecl) {
			for _, loop := range elementLoops(f.Body) {
				switch {
				case steps(loop.Body):
				case unstepped[name] != "":
					excepted = append(excepted, name)
				default:
					t.Errorf("%s: %s loops over elements and counts no steps", fset.Position(loop.Pos()), name)
				}
			}
		})
	}
	for name := range unstepped {
		if !slices.Contains(excepted, name) {
			t.Errorf("%s needs no exception any more", name)
		}
	}
}

// eachFunction calls visit for the functions of a package below sql, with their names behind
// that of the package.
func eachFunction(t *testing.T, pkg string, visit func(fset *token.FileSet, name string, f *ast.FuncDecl)) {
	names, err := filepath.Glob(filepath.Join("..", "sql", pkg, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(pkg, names, err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				visit(fset, file.Name.Name+"."+f.Name.Name, f)
			}
		}
	}
}

// steps reports whether a block counts steps, or hands what counts them to a function.
func steps(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		switch f := c.Fun.(type) {
		case *ast.SelectorExpr:
			found = slices.Contains([]string{"Step", "CountSteps", "Stopped", "Tick", "Ticks"}, f.Sel.Name)
		case *ast.Ident:
			found = f.Name == "out" // windowOp.compute's, which counts rows
		}
		found = found || slices.ContainsFunc(c.Args, counter)
		return !found
	})
	return found
}

// counter reports whether an argument is what counts steps: a builtin.Context, which is called c,
// or a types.FormatContext.
func counter(arg ast.Expr) bool {
	switch arg := arg.(type) {
	case *ast.Ident:
		return arg.Name == "c" || arg.Name == "fc"
	case *ast.SelectorExpr:
		return arg.Sel.Name == "fc" || arg.Sel.Name == "Format"
	}
	return false
}

// elementLoops returns the loops of a function over the elements of a value: x.ArrayElems(),
// x.Elems, x.Elems.All(), x.Multirange(), or a variable that one of these was assigned to; and those
// over rows that an operator keeps: x.Rows.
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
		return ok && (s.Sel.Name == "ArrayElems" || s.Sel.Name == "Multirange" || s.Sel.Name == "All" && isElements(s.X, lists))
	case *ast.SelectorExpr:
		return x.Sel.Name == "Elems" || x.Sel.Name == "Rows"
	case *ast.Ident:
		return lists[x.Name]
	}
	return false
}
