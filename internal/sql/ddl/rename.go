package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
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
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := a.moveInViews(ctx, schema, c.NewName); err != nil {
		return err
	}
	old := a.t.Name
	a.t.Name = c.NewName
	if err := renameWholeRows(a.t, old); err != nil {
		return err
	}
	if err := a.moveRelationName(ctx, old, c.NewName, false); err != nil {
		return err
	}
	if err := a.put(ctx); err != nil {
		return err
	}
	return a.moveRowType(ctx, schema, old, schema)
}

// moveRowType makes stored texts call the type of the relation's rows by its name of now.
func (a *alteration) moveRowType(ctx context.Context, fromSchema, from, schema ast.Name) error {
	return a.e.renameInTexts(ctx, a.t.Database, from, renamed{types: func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		return schema, a.t.Name, s == fromSchema && n == from
	}})
}

func (a *alteration) moveRelationName(ctx context.Context, from, to string, index bool) error {
	key := func(n string) catalog.NameKey {
		return catalog.NameKey{Database: a.t.Database, Schema: a.t.Schema, Name: n}
	}
	err := a.e.moveName(ctx, key(from), key(to), catalog.NameEntry{ID: a.t.ID, Index: index}, errRelationExists(to))
	if err != nil || index || !a.t.HasRows() {
		return err
	}
	return a.e.typeNameFree(ctx, key(to))
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
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", c.Name, a.t.Name)
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
		var err error
		if k.Expr, err = renameInExpr(k.Expr, c.Name, c.NewName); err != nil {
			return err
		}
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
	s, err := a.e.schemaNamed(ctx, c.NewName, 0)
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
	from, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := a.moveInViews(ctx, s.Name, a.t.Name); err != nil {
		return err
	}
	if err := a.move(ctx, s); err != nil {
		return err
	}
	if err := a.moveRowType(ctx, from, a.t.Name, s.Name); err != nil {
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
		if err := owned.move(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// move changes the schema of one relation.
func (a *alteration) move(ctx context.Context, schema *catalog.Schema) error {
	names := []string{a.t.Name}
	for i := range a.t.Indexes {
		if namedIndex(a.t, i) {
			names = append(names, a.t.Indexes[i].Name)
		}
	}
	from := a.t.Schema
	a.t.Schema = schema.ID
	for i, n := range names {
		key := func(s catalog.ID) catalog.NameKey { return catalog.NameKey{Database: a.t.Database, Schema: s, Name: n} }
		err := a.e.moveName(ctx, key(from), key(schema.ID), catalog.NameEntry{ID: a.t.ID, Index: i > 0},
			pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists in schema \"%s\"", n, schema.Name))
		if err == nil && i == 0 && a.t.HasRows() {
			err = inSchema(a.e.typeNameFree(ctx, key(schema.ID)), schema)
		}
		if err != nil {
			return err
		}
	}
	return a.put(ctx)
}

// inSchema makes the error of a name that is taken tell the schema.
func inSchema(err error, s *catalog.Schema) error {
	if pgerr.CodeOf(err) != pgerr.DuplicateObject {
		return err
	}
	return pgerr.New(pgerr.DuplicateObject, "%s in schema \"%s\"", pgerr.From(err).Message, s.Name)
}

// viewsOf returns the views that use the relation.
func (a *alteration) viewsOf(ctx context.Context) ([]*catalog.Table, error) {
	all, err := a.e.tablesOf(ctx, a.t.Database)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v *catalog.Table) bool {
		return v.View == nil || !slices.Contains(v.View.Uses, a.t.ID)
	}), nil
}

// moveInViews makes the views that use the relation find it under another name, or in
// another schema.
func (a *alteration) moveInViews(ctx context.Context, schema, name ast.Name) error {
	views, err := a.rewriteViews(ctx, func(_ *catalog.Table, q *ast.Select, notes *planner.Notes) bool {
		ast.Walk(q, func(n ast.Node) bool {
			ref, _ := n.(*ast.TableRef)
			if r := notes.Relations[ref]; ref != nil && r != nil && r.View != nil && r.View.ID == a.t.ID {
				ref.Name.Schema, ref.Name.Table = schema, name
				if r.Alias != name && ref.Alias.Name == "" && !callBy(name, r, notes) {
					ref.Alias.Name = r.Alias
				}
			}
			return true
		})
		return true
	})
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := a.e.Coll.Put(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// callBy makes the references to relation r's columns name it by another name, and reports
// whether that is possible: other relations may have that name, or columns, and a row as a
// whole has its relation's.
func callBy(name ast.Name, r *planner.Relation, notes *planner.Notes) bool {
	for _, o := range notes.Relations {
		if o != r && (o.Alias == name || o.Alias == r.Alias) {
			return false
		}
	}
	for ref, c := range notes.Columns {
		if ref.Column == name || c.Relation == r && c.Name == "" {
			return false
		}
	}
	for ref, c := range notes.Columns {
		if c.Relation == r && ref.Table != "" {
			ref.Table = name
		}
	}
	for ref, cols := range notes.Stars {
		if cols[0].Relation == r && ref.Table != "" {
			ref.Table = name
		}
	}
	return true
}
