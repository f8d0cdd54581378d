package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newName tells by which name stored texts call an object from now on; ok is false for
// one whose name stays.
type newName func(schema, name ast.Name) (newSchema, newName ast.Name, ok bool)

// renamed are the new names of types, collations and relations, nil where those stay.
type renamed struct{ types, collations, relations newName }

// renameInTexts makes the expressions and queries stored in a database call types and
// collations by new names: texts name them as pinNames has left them. Texts without the
// word old have nothing to change.
func (e *Env) renameInTexts(ctx context.Context, db catalog.ID, old string, f renamed) error {
	all, err := e.tablesOf(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range all {
		if !mentions(t, old) {
			continue
		}
		if err := e.renameInTextsOf(ctx, t.ID, f); err != nil {
			return err
		}
	}
	return nil
}

// mentions reports whether a word is in a stored text of t.
func mentions(t *catalog.Table, word string) bool {
	for text := range t.StoredTexts() {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func (e *Env) renameInTextsOf(ctx context.Context, id catalog.ID, f renamed) error {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	t = t.Clone()
	changed := false
	err = eachText(t, func(s string) (string, error) {
		text, err := renameIn(s, f)
		changed = changed || text != s
		return text, err
	})
	if err != nil || !changed {
		return err
	}
	if t.Kind == catalog.KindType { // others hold copies of its expressions
		return e.redefineType(ctx, t, t.UserType.Def)
	}
	return e.Coll.Put(ctx, t)
}

// storedText is an expression or the query of a view, with what planning it takes: see
// planner.Annotate.
type storedText struct {
	text        string
	table       *catalog.Table
	value, want *types.T
	view        *catalog.View // whose query it is
}

// eachText replaces each stored expression and query of t by f of it.
func eachText(t *catalog.Table, f func(string) (string, error)) error {
	return eachStored(t, func(s storedText) (string, error) { return f(s.text) })
}

// eachStored is eachText with what planning the texts takes.
func eachStored(t *catalog.Table, f func(storedText) (string, error)) error {
	var err error
	one := func(s *string, as storedText) {
		if as.text = *s; *s != "" && err == nil {
			*s, err = f(as)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		one(&c.Default, storedText{want: c.Type})
		one(&c.OnUpdate, storedText{want: c.Type})
		if !c.IndexExpression() {
			one(&c.Generated, storedText{table: t, want: c.Type})
			continue
		}
		one(&c.Generated, storedText{table: t})
		c.Name = expressionName(c.Generated)
	}
	for i := range t.Checks {
		one(&t.Checks[i].Expr, storedText{table: t})
	}
	for i := range t.Indexes {
		one(&t.Indexes[i].Where, storedText{table: t})
	}
	if t.View != nil {
		v := *t.View
		one(&v.Query, storedText{view: t.View})
		t.View = &v
	}
	if t.UserType == nil || !t.UserType.IsDomain() {
		return err
	}
	def := *t.UserType.Def
	def.Checks = slices.Clone(def.Checks)
	one(&def.Default, storedText{want: def.Base})
	for i := range def.Checks {
		one(&def.Checks[i].Expr, storedText{value: def.Base.BaseType()})
	}
	t.UserType = types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, &def)
	return err
}

// renameIn renames types and collations in an expression or a query.
func renameIn(text string, f renamed) (string, error) {
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
			changed = f.types.rename(&n.Names) || changed
		case *ast.Collate:
			changed = f.collations.rename(&n.Name) || changed
		case *ast.TableRef:
			if f.relations == nil {
				break
			}
			if schema, name, ok := f.relations(n.Name.Schema, n.Name.Table); ok {
				n.Name.Schema, n.Name.Table, changed = schema, name, true
			}
		case *ast.FuncCall: // that makes values of a range type
			if f.types == nil {
				break
			}
			if schema, name, ok := f.types(n.Name.Schema, n.Name.Name); ok {
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
