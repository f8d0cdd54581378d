package storedtext

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newName tells by which name stored texts call an object from now on; ok is false for
// one whose name stays.
type newName func(schema, name ast.Name) (newSchema, newName ast.Name, ok bool)

// Renamed are the new names of types, collations and relations, nil where those stay. Calls are those of functions that are
// called as a type is: which make values of a range type.
type Renamed struct{ Types, Collations, Relations, Calls newName }

// Mentions reports whether a word is in a stored text of t.
func Mentions(t *catalog.Table, word string) bool {
	for text := range t.StoredTexts() {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// Text is an expression or the query of a view, with what planning it takes: see
// planner.Annotate.
type Text struct {
	Text        string
	Table       *catalog.Table
	Value, Want *types.T
	View        *catalog.View // whose query it is
	// Triggered is the table of the trigger whose condition it is.
	Triggered *catalog.Table
}

// EachText replaces each stored expression and query of t by f of it.
func EachText(t *catalog.Table, f func(string) (string, error)) error {
	return EachStored(t, func(s Text) (string, error) { return f(s.Text) })
}

// EachStored is EachText with what planning the texts takes.
func EachStored(t *catalog.Table, f func(Text) (string, error)) error {
	var err error
	one := func(s *string, as Text) {
		if as.Text = *s; *s != "" && err == nil {
			*s, err = f(as)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		one(&c.Default, Text{Want: c.Type})
		one(&c.OnUpdate, Text{Want: c.Type})
		if !c.IndexExpression() {
			one(&c.Generated, Text{Table: t, Want: c.Type})
			continue
		}
		one(&c.Generated, Text{Table: t})
		c.Name = ExpressionName(c.Generated)
	}
	for i := range t.Checks {
		one(&t.Checks[i].Expr, Text{Table: t})
	}
	for i := range t.Triggers {
		one(&t.Triggers[i].When, Text{Triggered: t})
	}
	for i := range t.Indexes {
		one(&t.Indexes[i].Where, Text{Table: t})
	}
	for i := range t.Policies {
		for _, v := range t.Policies[i].Queries() {
			c := **v
			one(&c.Query, Text{View: *v})
			*v = &c
		}
	}
	if t.View != nil {
		v := *t.View
		one(&v.Query, Text{View: t.View})
		t.View = &v
	}
	if t.UserType == nil || !t.UserType.IsDomain() {
		return err
	}
	def := *t.UserType.Def
	def.Checks = slices.Clone(def.Checks)
	one(&def.Default, Text{Want: def.Base})
	for i := range def.Checks {
		one(&def.Checks[i].Expr, Text{Value: def.Base.BaseType()})
	}
	t.UserType = types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, &def)
	return err
}

// RenameIn renames types and collations in an expression or a query.
func RenameIn(text string, f Renamed) (string, error) {
	var root ast.Node
	root, err := parser.ParseExpr(text)
	if err != nil {
		st, err := parser.ParseStored(text)
		if err != nil {
			return "", err
		}
		root = st.AST
	}
	changed := false
	ast.Walk(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeName:
			changed = f.Types.rename(&n.Names) || changed
		case *ast.Collate:
			changed = f.Collations.rename(&n.Name) || changed
		case *ast.TableRef:
			if f.Relations == nil {
				break
			}
			if schema, name, ok := f.Relations(n.Name.Schema, n.Name.Table); ok {
				n.Name.Schema, n.Name.Table, changed = schema, name, true
			}
		case *ast.FuncCall:
			if f.Calls == nil {
				break
			}
			if schema, name, ok := f.Calls(n.Name.Schema, n.Name.Name); ok {
				n.Name.Schema, n.Name.Name, changed = schema, name, true
			}
		}
		return true
	})
	if !changed {
		return text, nil
	}
	return ast.Format(root), nil
}

// rename replaces a name of two parts and reports whether there is a new one.
func (f newName) rename(names *[]ast.Name) bool {
	if f == nil || len(*names) != 2 {
		return false
	}
	schema, name, ok := f((*names)[0], (*names)[1])
	if ok {
		*names = []ast.Name{schema, name}
	}
	return ok
}

// FieldNames are the new names of fields of a composite type, by the old ones.
type FieldNames map[ast.Name]ast.Name

// Mentioned reports whether one of the old names is in a stored text of t.
func (f FieldNames) Mentioned(t *catalog.Table) bool {
	for name := range f {
		if Mentions(t, ast.QuoteIdent(name)) {
			return true
		}
	}
	return false
}

// Rename gives the fields that a text selects from values of the type with an oid their new names,
// and reports whether there are any. Outputs of queries keep the names that they had by them.
func (f FieldNames) Rename(root ast.Node, notes *planner.Notes, oid uint32) bool {
	var found []*ast.FieldSelect
	ast.Walk(root, func(n ast.Node) bool {
		s, ok := n.(*ast.FieldSelect)
		if !ok || s.Star || f[s.Field] == "" {
			return true
		}
		_, column := notes.FieldColumns[s] // which an alias list may have named
		if t := notes.Types[s.X]; !column && t != nil && t.BaseType().Oid == oid {
			found = append(found, s)
		}
		return true
	})
	if len(found) == 0 {
		return false
	}
	ast.Walk(root, func(n ast.Node) bool {
		q, ok := n.(*ast.Select)
		for i := 0; ok && i < len(q.Items); i++ {
			it := &q.Items[i]
			if name := planner.ColumnName(it.X); it.Alias == "" && f[name] != "" {
				it.Alias = name
			}
		}
		return true
	})
	for _, s := range found {
		s.Field = f[s.Field]
	}
	return true
}
