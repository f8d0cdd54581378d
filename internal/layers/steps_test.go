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
	"expr.rowCtor":                aRow,
	"ltreefuncs.elements":         "counts steps with an argument, which is its caller's Step",
	"jsonfuncs.children":          "counts steps in pathExec.anyLevel",
	"jsonfuncs.jsonHasKey":        aPass,
	"jsonfuncs.jsonPath":          "paths are short",
	"rowcodec.appendArray":        "ends at the longest key",
	"rowcodec.appendComposed":     "ends at the longest key",
	"rowcodec.appendJSON":         aPass,
	"searchfuncs.jsonVectorOf":    "counts steps in walk",
	"stringfuncs.collatedExtreme": aPass,
	"typeio.record":               aRow,
}

// aRow is the reason for loops over the fields of a row.
const aRow = "a row has some thousand fields at most"

// aPass is the reason for loops that take some nanoseconds for each element, once.
const aPass = "one pass of little work"

// TestElementLoopsStep requires that loops over the elements of an array or a multirange, or over
// rows that are kept, of which there may be millions, count their steps, or hand what counts them to what they
// call, and end by what that returns: else a cancelled statement goes on until they do.
func TestElementLoopsStep(t *testing.T) {
	var excepted []string
	for _, pkg := range stepped {
		eachFunction(t, pkg, func(fset *token.FileSet, name string, f *ast.FuncDecl) {
			for _, loop := range elementLoops(f.Body) {
				switch {
				case steps(loop.Body) && ends(loop.Body):
				case unstepped[name] != "":
					excepted = append(excepted, name)
				case steps(loop.Body):
					t.Errorf("%s: %s loops over elements and does not end once the statement is cancelled", fset.Position(loop.Pos()), name)
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

// ends reports whether a block leaves its loop, or the function, under a condition that depends on what a call
// returns that counts steps: on the call itself, or on a variable that was set from one, or from any error.
func ends(body ast.Node) (found bool) {
	told := map[string]bool{"err": true}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if slices.ContainsFunc(n.Rhs, func(x ast.Expr) bool { return steps(x) }) {
				for _, v := range n.Lhs {
					if id, ok := v.(*ast.Ident); ok {
						told[id.Name] = true
					}
				}
			}
		case *ast.IfStmt:
			found = found || dependsOn(n, told) && leaves(n.Body)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				c := c.(*ast.CaseClause)
				found = found || slices.ContainsFunc(c.List, func(x ast.Expr) bool { return mentions(x, told) }) && leaves(c)
			}
		case *ast.ReturnStmt:
			found = found || slices.ContainsFunc(n.Results, func(x ast.Expr) bool { return steps(x) })
		}
		return !found
	})
	return found
}

func dependsOn(n *ast.IfStmt, told map[string]bool) bool {
	return n.Init != nil && steps(n.Init) || mentions(n.Cond, told)
}

// mentions reports whether an expression calls what counts steps, or names one of told.
func mentions(x ast.Expr, told map[string]bool) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && told[id.Name]
		return !found
	})
	return found || steps(x)
}

// leaves reports whether a block returns or leaves a loop.
func leaves(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK || n.Tok == token.GOTO
		}
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
// x.Elems, x.Elems.All(), x.Multirange(), x.Fields (of a JSON object), or a variable that one of these was
// assigned to; and those over rows that an operator keeps: x.Rows.
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
		return x.Sel.Name == "Elems" || x.Sel.Name == "Rows" || x.Sel.Name == "Fields"
	case *ast.Ident:
		return lists[x.Name]
	}
	return false
}
