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

// newTypeName tells by which name stored texts call a type from now on; ok is false
// for a type whose name stays.
type newTypeName func(schema, name ast.Name) (newSchema, newName ast.Name, ok bool)

// renameTypeTexts makes the expressions and queries stored in a database call types by
// new names: texts name types as pinNames has left them. Texts without the word old
// have nothing to change.
func (e *Env) renameTypeTexts(ctx context.Context, db catalog.ID, old string, f newTypeName) error {
	all, err := e.tablesOf(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range all {
		mentions := false
		_ = eachText(t.Clone(), func(s string) (string, error) {
			mentions = mentions || strings.Contains(s, old)
			return s, nil
		})
		if !mentions {
			continue
		}
		if err := e.renameTypeTextsOf(ctx, t.ID, f); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) renameTypeTextsOf(ctx context.Context, id catalog.ID, f newTypeName) error {
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
		text, err := renameTypesIn(s, f)
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

// eachText replaces each stored expression and query of t by f of it.
func eachText(t *catalog.Table, f func(string) (string, error)) error {
	var err error
	one := func(s *string) {
		if *s != "" && err == nil {
			*s, err = f(*s)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		one(&c.Default)
		one(&c.Generated)
		if c.IndexExpression() {
			c.Name = expressionName(c.Generated)
		}
	}
	for i := range t.Checks {
		one(&t.Checks[i].Expr)
	}
	for i := range t.Indexes {
		one(&t.Indexes[i].Where)
	}
	if t.View != nil {
		v := *t.View
		one(&v.Query)
		t.View = &v
	}
	if t.UserType == nil || !t.UserType.IsDomain() {
		return err
	}
	def := *t.UserType.Def
	def.Checks = slices.Clone(def.Checks)
	one(&def.Default)
	for i := range def.Checks {
		one(&def.Checks[i].Expr)
	}
	t.UserType = types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, &def)
	return err
}

// renameTypesIn renames the types in an expression or a query.
func renameTypesIn(text string, f newTypeName) (string, error) {
	var root ast.Node
	root, err := parser.ParseExpr(text)
	if err != nil {
		st, err := parser.ParseOne(text)
		if err != nil {
			return "", err
		}
		root = st.AST
	}
	changed := false
	ast.Walk(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeName:
			if len(n.Names) != 2 {
				break
			}
			if schema, name, ok := f(n.Names[0], n.Names[1]); ok {
				n.Names, changed = []ast.Name{schema, name}, true
			}
		case *ast.FuncCall: // that makes values of a range type
			if schema, name, ok := f(n.Name.Schema, n.Name.Name); ok {
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
