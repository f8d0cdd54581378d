package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// rename is RENAME TO of a relation or an index.
func (a *alteration) rename(ctx context.Context, c *ast.AlterCmd) error {
	if a.index {
		ix := a.t.IndexByName(a.name)
		if err := a.renameIndex(ctx, ix, c.NewName); err != nil {
			return err
		}
		return a.put(ctx)
	}
	if err := a.renameInViews(ctx, c.NewName); err != nil {
		return err
	}
	old := a.t.Name
	a.t.Name = c.NewName
	if err := a.moveRelationName(ctx, old, c.NewName, false); err != nil {
		return err
	}
	if err := a.put(ctx); err != nil {
		return err
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	return a.e.renameInTexts(ctx, a.t.Database, old, renamed{types: func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		return schema, c.NewName, s == schema && n == old
	}})
}

func (a *alteration) moveRelationName(ctx context.Context, from, to string, index bool) error {
	key := func(n string) catalog.NameKey {
		return catalog.NameKey{Database: a.t.Database, Schema: a.t.Schema, Name: n}
	}
	return a.e.moveName(ctx, key(from), key(to), catalog.NameEntry{ID: a.t.ID, Index: index},
		pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", to))
}

// renameIndex renames an index and the constraint behind it.
func (a *alteration) renameIndex(ctx context.Context, ix *catalog.Index, name string) error {
	if err := a.moveRelationName(ctx, ix.Name, name, true); err != nil {
		return err
	}
	if ix.Constraint && ix.ConstraintName == ix.Name {
		if constraintExists(a.t, name) {
			return duplicateConstraint(a.t, name)
		}
		ix.ConstraintName = name
	}
	ix.Name = name
	return nil
}

// renameConstraint is RENAME CONSTRAINT.
func (a *alteration) renameConstraint(ctx context.Context, c *ast.AlterCmd) error {
	if constraintExists(a.t, c.NewName) {
		return duplicateConstraint(a.t, c.NewName)
	}
	for i := range a.t.Checks {
		if a.t.Checks[i].Name == c.Name {
			a.t.Checks[i].Name = c.NewName
			return a.put(ctx)
		}
	}
	if i := a.t.ForeignKeyByName(c.Name); i >= 0 {
		a.t.ForeignKeys[i].Name = c.NewName
		return a.put(ctx)
	}
	for i := range a.t.Indexes {
		ix := &a.t.Indexes[i]
		if !ix.Constraint || ix.ConstraintName != c.Name {
			continue
		}
		if ix.Name == ix.ConstraintName {
			if err := a.renameIndex(ctx, ix, c.NewName); err != nil {
				return err
			}
		}
		ix.ConstraintName = c.NewName
		return a.put(ctx)
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", c.Name, a.t.Name).At(c.Pos)
}

// renameColumn is RENAME COLUMN; the CHECK constraints follow.
func (a *alteration) renameColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := visibleColumn(a.t, c.Name)
	if !ok {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	}
	if _, taken := a.t.ColumnByName(c.NewName); taken {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", c.NewName, a.t.Name)
	}
	col := &a.t.Columns[ord]
	return a.renameUsedColumn(ctx, col, c.NewName, func() error { return a.renameOwnColumn(ctx, col, c) })
}

func (a *alteration) renameOwnColumn(ctx context.Context, col *catalog.Column, c *ast.AlterCmd) error {
	for i := range a.t.Checks {
		k := &a.t.Checks[i]
		if !slices.Contains(k.Columns, col.ID) {
			continue
		}
		x, err := parser.ParseExpr(k.Expr)
		if err != nil {
			return err
		}
		ast.Walk(x, func(n ast.Node) bool {
			if ref, ok := n.(*ast.ColumnRef); ok && ref.Column == c.Name {
				ref.Column = c.NewName
			}
			return true
		})
		k.Expr = ast.Format(x)
	}
	if err := renameInDerived(a.t, col.ID, c.Name, c.NewName); err != nil {
		return err
	}
	col.Name = c.NewName
	return a.put(ctx)
}

// setSchema is SET SCHEMA: the relation, its indexes and the sequences that its
// columns own move.
func (a *alteration) setSchema(ctx context.Context, c *ast.AlterCmd) error {
	if a.t.Kind == catalog.KindSequence && a.t.Sequence.OwnerTable != 0 {
		return pgerr.Unsupported("cannot move an owned sequence into another schema").At(c.Pos)
	}
	s, err := a.e.schemaNamed(ctx, c.NewName, c.Pos)
	if err != nil {
		return err
	}
	if err := notBuiltIn(s, a.t.Name); err != nil {
		return err
	}
	if s.ID == a.t.Schema {
		return nil
	}
	if s.Temp != nil || a.e.Coll.Temporary(a.t) {
		return pgerr.Unsupported("cannot move objects into or out of temporary schemas").At(c.Pos)
	}
	if err := a.unviewed(ctx); err != nil {
		return err
	}
	if err := a.move(ctx, s.ID); err != nil {
		return err
	}
	all, err := a.e.tablesOf(ctx, a.t.Database)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Kind != catalog.KindSequence || q.Sequence.OwnerTable != a.t.ID {
			continue
		}
		if err := a.e.Coll.LockExclusive(ctx, q.ID); err != nil {
			return err
		}
		owned := &alteration{e: a.e, old: q, t: q.Clone()}
		if err := owned.move(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// move changes the schema of one relation.
func (a *alteration) move(ctx context.Context, schema catalog.ID) error {
	names := []string{a.t.Name}
	for i := range a.t.Indexes {
		if namedIndex(a.t, i) {
			names = append(names, a.t.Indexes[i].Name)
		}
	}
	from := a.t.Schema
	a.t.Schema = schema
	for i, n := range names {
		key := func(s catalog.ID) catalog.NameKey { return catalog.NameKey{Database: a.t.Database, Schema: s, Name: n} }
		err := a.e.moveName(ctx, key(from), key(schema), catalog.NameEntry{ID: a.t.ID, Index: i > 0},
			pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists in the target schema", n))
		if err != nil {
			return err
		}
	}
	return a.put(ctx)
}

// unviewed refuses to move a relation that views refer to by name.
func (a *alteration) unviewed(ctx context.Context) error {
	views, err := a.viewsOf(ctx)
	if err != nil || len(views) == 0 {
		return err
	}
	return pgerr.Unsupported("moving a relation used by a view is not supported").
		WithDetail("%s uses it.", a.e.describe(ctx, views[0]))
}

func (a *alteration) viewsOf(ctx context.Context) ([]*catalog.Table, error) {
	all, err := a.e.tablesOf(ctx, a.t.Database)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v *catalog.Table) bool {
		return v.View == nil || !slices.Contains(v.View.Uses, a.t.ID)
	}), nil
}

// renameInViews makes the views that use the relation refer to it by its new
// name, under the old one as alias.
func (a *alteration) renameInViews(ctx context.Context, name string) error {
	views, err := a.viewsOf(ctx)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := a.e.Coll.LockExclusive(ctx, v.ID); err != nil {
			return err
		}
		cur, err := a.e.Coll.TableByID(ctx, v.ID)
		if err != nil {
			return err
		}
		v = cur.Clone()
		if err := a.renameInView(ctx, v, name); err != nil {
			return err
		}
		if err := a.e.Coll.Put(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

func (a *alteration) renameInView(ctx context.Context, v *catalog.Table, name string) error {
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	st, err := parser.ParseStored(v.View.Query)
	if err != nil {
		return err
	}
	ast.Walk(st.AST, func(n ast.Node) bool {
		ref, ok := n.(*ast.TableRef)
		if ok && ref.Name.Schema == schema && ref.Name.Table == a.t.Name {
			if ref.Alias.Name == "" {
				ref.Alias.Name = a.t.Name
			}
			ref.Name.Table = name
		}
		return true
	})
	v.View.Query = ast.Format(st.AST)
	return nil
}
