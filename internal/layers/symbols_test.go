package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declarations are what the Go files of one package declare, tests included, but for what is local to a
// function.
type declarations struct {
	values  map[string]ast.Expr // functions, constants and variables; the types of those that have one
	types   map[string]ast.Expr
	methods map[string]map[string]bool // by type
	members map[string][]ast.Expr      // fields and methods of all types, with the types of the fields
}

func newDeclarations() *declarations {
	return &declarations{map[string]ast.Expr{}, map[string]ast.Expr{}, map[string]map[string]bool{}, map[string][]ast.Expr{}}
}

// add notes what a file declares, and returns the names.
func (d *declarations) add(f *ast.File) (names []string) {
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.addFunc(decl)
			names = append(names, decl.Name.Name)
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					d.types[s.Name.Name] = s.Type
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						d.values[id.Name] = s.Type
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	ast.Inspect(f, func(x ast.Node) bool {
		var fields *ast.FieldList
		switch x := x.(type) {
		case *ast.StructType:
			fields = x.Fields
		case *ast.InterfaceType:
			fields = x.Methods
		default:
			return true
		}
		for _, field := range fields.List {
			for _, id := range field.Names {
				d.members[id.Name] = append(d.members[id.Name], field.Type)
				names = append(names, id.Name)
			}
		}
		return true
	})
	return names
}

func (d *declarations) addFunc(f *ast.FuncDecl) {
	if f.Recv == nil {
		d.values[f.Name.Name] = nil
		return
	}
	of := typeName(f.Recv.List[0].Type)
	if d.methods[of] == nil {
		d.methods[of] = map[string]bool{}
	}
	d.methods[of][f.Name.Name] = true
	d.members[f.Name.Name] = append(d.members[f.Name.Name], nil)
}

// typeName returns the last name of a type that is named, or of what it points to or holds.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.MapType:
		return typeName(e.Value)
	}
	return ""
}

// has reports whether the package declares a name, at its top or in a type.
func (d *declarations) has(name string) bool {
	_, value := d.values[name]
	return value || d.types[name] != nil || d.members[name] != nil
}

// hasPrefix reports whether a function's name begins as a pattern of -run does.
func (d *declarations) hasPrefix(prefix string) bool {
	for name := range d.values {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// named returns the packages of a name.
func (n *names) named(name string) (ds []*declarations) {
	for dir, d := range n.byPackage {
		if path.Base(dir) == name {
			ds = append(ds, d)
		}
	}
	return ds
}

// resolves reports whether a name, such as Type.method, value.field or package.Type.field, is that of
// something in a package, or behind the name of another one.
func (n *names) resolves(d *declarations, name string) bool {
	first, rest, dotted := strings.Cut(name, ".")
	if d == nil {
		return false
	}
	if !dotted {
		return d.has(name)
	}
	if n.hasMember(d, &ast.Ident{Name: first}, rest) || n.hasMember(d, d.values[first], rest) {
		return true
	}
	for _, field := range d.members[first] {
		if n.hasMember(d, field, rest) {
			return true
		}
	}
	return slices.ContainsFunc(n.named(first), func(of *declarations) bool { return n.resolves(of, rest) })
}

// hasMember reports whether a type as package d writes it has a field or method, and that one, if the name has
// a dot, what follows.
func (n *names) hasMember(d *declarations, typ ast.Expr, name string) bool {
	first, rest, dotted := strings.Cut(name, ".")
	switch t := typ.(type) {
	case *ast.StarExpr:
		return n.hasMember(d, t.X, name)
	case *ast.ArrayType:
		return n.hasMember(d, t.Elt, name)
	case *ast.MapType:
		return n.hasMember(d, t.Value, name)
	case *ast.IndexExpr:
		return n.hasMember(d, t.X, name)
	case *ast.SelectorExpr:
		pkg, ok := t.X.(*ast.Ident)
		return ok && slices.ContainsFunc(n.named(pkg.Name), func(of *declarations) bool { return n.hasMember(of, t.Sel, name) })
	case *ast.Ident:
		if d.methods[t.Name][first] {
			return !dotted
		}
		under := d.types[t.Name]
		return under != nil && n.hasMember(d, under, name)
	case *ast.StructType:
		return n.hasField(d, t.Fields, first, rest)
	case *ast.InterfaceType:
		return n.hasField(d, t.Methods, first, rest)
	}
	return false
}

// hasField looks for a field or an interface's method, in what is embedded as well.
func (n *names) hasField(d *declarations, fields *ast.FieldList, name, rest string) bool {
	for _, f := range fields.List {
		isField := slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name }) ||
			f.Names == nil && typeName(f.Type) == name
		if isField && (rest == "" || n.hasMember(d, f.Type, rest)) {
			return true
		}
		if f.Names == nil && n.hasMember(d, f.Type, strings.TrimSuffix(name+"."+rest, ".")) {
			return true
		}
	}
	return false
}

// parse parses a source.
func parse(t *testing.T, src string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// mention is a name of code that a doc.go has, and the package that it says the name is in.
type mention struct {
	name, in string
	code     bool // the name is no word of prose
	alone    bool // only names are there
}

func (m mention) String() string {
	if m.in != "" {
		return m.name + " in " + m.in
	}
	return m.name
}

var (
	// inParentheses is what a doc.go has in parentheses, and qualified a name therein.
	inParentheses = regexp.MustCompile(`\(([^()]+)\)`)
	qualified     = regexp.MustCompile(`[A-Za-z_]\w*(?:\.\w+)*`)
	// listOfNames is what holds nothing but names, so that even a word of prose is one.
	listOfNames = regexp.MustCompile(`^\([\w.]+(?:[,;:]\s+[\w.]+)*\)$`)
	inPackage   = regexp.MustCompile(`\s+(?:in|of)\s+(?:package\s+)?([a-z]\w*)|\b([a-z]\w*)'s?\s`)
	// codeName is a name that is no word of prose: after a small letter it has a capital, or it has
	// a dot or an underscore inside. A name such as PostgreSQL has several capitals at its end.
	codeName = regexp.MustCompile(`[a-z][A-Z][a-z]|^[a-z]\w*[A-Z]|\w\.\w|_`)
)

// mentioned returns the names in a text in parentheses. The words "in store", "of store" or "store's" give the package of
// the names up to the next semicolon.
func (n *names) mentioned(text string) (ms []mention) {
	parts := strings.Split(text, ";")
	plain := make([]string, len(parts))
	in := make([]string, len(parts))
	for i, part := range parts {
		plain[i] = inPackage.ReplaceAllStringFunc(part, func(s string) string {
			m := inPackage.FindStringSubmatch(s)
			if pkg := m[1] + m[2]; n.packages[pkg] {
				in[i] = pkg
				return ""
			}
			return s
		})
	}
	onlyNames := listOfNames.MatchString(strings.Join(plain, ";"))
	for i, part := range plain {
		for _, name := range qualified.FindAllString(part, -1) {
			if lastOf(name) != "go" && !invariantLabel.MatchString(name) {
				ms = append(ms, mention{name, in[i], codeName.MatchString(name) && !n.packages[name], onlyNames})
			}
		}
	}
	return ms
}

// visible reports whether the doc.go of a package may mention a name so: it is one of that package, of the one
// that is said, or it stands behind a package or a type and a dot. Of several tests it may be
// what their names begin with.
func (n *names) visible(pkg string, m mention) bool {
	for _, d := range append(n.named(m.in), n.byPackage[pkg]) {
		if n.resolves(d, m.name) || testName.MatchString(m.name) && d.hasPrefix(m.name) {
			return true
		}
	}
	return false
}

// TestResolves resolves names as doc.go may write them.
func TestResolves(t *testing.T) {
	log := newDeclarations()
	log.add(parse(t, `package log
import "store"
type Log struct { base; mu struct { tail *Entry }; set store.Set }
type Entry struct { Index int }
type base struct{}
func (b *base) close() { local := 1; _ = local }
func (l *Log) Append(entry int) {}
var std *Log`))
	store := newDeclarations()
	store.add(parse(t, `package store
type Set struct{}
func (Set) Add() {}`))
	n := &names{byPackage: map[string]*declarations{"log": log, "kv/store": store}}
	for name, want := range map[string]bool{
		"Log": true, "Append": true, "tail": true, "local": false, "entry": false, "Add": false,
		"Log.Append": true, "Log.close": true, "Log.mu.tail.Index": true, "mu.tail": true, "Log.set.Add": true, "std.Append": true,
		"Log.Index": false, "Entry.Append": false, "Append.entry": false, "log.Log": true,
		"store.Set.Add": true, "store.Append": false, "store.Set.Append": false, "Set.Add": false,
	} {
		if n.resolves(log, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
