package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// rename is RENAME TO of a relation or an index.
func (a *Alteration) rename(ctx context.Context, c *ast.AlterCmd) error {
	if a.index {
		ix := a.T.IndexByName(a.name)
		if err := a.renameIndex(ctx, ix, c.NewName); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := a.moveInViews(ctx, schema, c.NewName); err != nil {
		return err
	}
	old := a.T.Name
	a.T.Name = c.NewName
	if err := storedtext.RenameWholeRows(a.T, old); err != nil {
		return err
	}
	if err := a.moveRelationName(ctx, old, c.NewName, false); err != nil {
		return err
	}
	if err := a.Put(ctx); err != nil {
		return err
	}
	return a.moveRowType(ctx, schema, old, schema)
}

// moveRowType makes stored texts call the type of the relation's rows by its name of now.
func (a *Alteration) moveRowType(ctx context.Context, fromSchema, from, schema ast.Name) error {
	return RenameInTexts(ctx, a.E, a.T.Database, from, storedtext.Renamed{Types: func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		return schema, a.T.Name, s == fromSchema && n == from
	}})
}

func (a *Alteration) moveRelationName(ctx context.Context, from, to string, index bool) error {
	key := func(n string) catalog.NameKey {
		return catalog.NameKey{Database: a.T.Database, Schema: a.T.Schema, Name: n}
	}
	err := a.E.MoveName(ctx, key(from), key(to), catalog.NameEntry{ID: a.T.ID, Index: index}, statement.ErrRelationExists(to))
	if err != nil || index || !a.T.HasRows() {
		return err
	}
	return a.E.TypeNameFree(ctx, key(to))
}

// renameIndex renames an index and the constraint behind it.
func (a *Alteration) renameIndex(ctx context.Context, ix *catalog.Index, name string) error {
	if err := a.moveRelationName(ctx, ix.Name, name, true); err != nil {
		return err
	}
	if ix.Constraint && ix.ConstraintName == ix.Name {
		if relations.ConstraintExists(a.T, name) {
			return relations.DuplicateConstraint(a.T, name)
		}
		ix.ConstraintName = name
	}
	ix.Name = name
	return nil
}

// renameConstraint is RENAME CONSTRAINT.
func (a *Alteration) renameConstraint(ctx context.Context, c *ast.AlterCmd) error {
	if relations.ConstraintExists(a.T, c.NewName) {
		return relations.DuplicateConstraint(a.T, c.NewName)
	}
	for i := range a.T.Checks {
		if a.T.Checks[i].Name == c.Name {
			a.T.Checks[i].Name = c.NewName
			return a.Put(ctx)
		}
	}
	if i := a.T.ForeignKeyByName(c.Name); i >= 0 {
		a.T.ForeignKeys[i].Name = c.NewName
		return a.Put(ctx)
	}
	for i := range a.T.Indexes {
		ix := &a.T.Indexes[i]
		if !ix.Constraint || ix.ConstraintName != c.Name {
			continue
		}
		if ix.Name == ix.ConstraintName {
			if err := a.renameIndex(ctx, ix, c.NewName); err != nil {
				return err
			}
		}
		ix.ConstraintName = c.NewName
		return a.Put(ctx)
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", c.Name, a.T.Name)
}

// renameColumn is RENAME COLUMN; the CHECK constraints follow.
func (a *Alteration) renameColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := relations.VisibleColumn(a.T, c.Name)
	if !ok {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	}
	if _, taken := a.T.ColumnByName(c.NewName); taken {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", c.NewName, a.T.Name)
	}
	col := &a.T.Columns[ord]
	return a.renameUsedColumn(ctx, col, c.NewName, func() error { return a.renameOwnColumn(ctx, col, c) })
}

func (a *Alteration) renameOwnColumn(ctx context.Context, col *catalog.Column, c *ast.AlterCmd) error {
	for i := range a.T.Checks {
		k := &a.T.Checks[i]
		if !slices.Contains(k.Columns, col.ID) {
			continue
		}
		var err error
		if k.Expr, err = storedtext.RenameInExpr(k.Expr, c.Name, c.NewName); err != nil {
			return err
		}
	}
	for i := range a.T.Triggers {
		g := &a.T.Triggers[i]
		if !slices.Contains(g.WhenColumns, col.ID) {
			continue
		}
		var err error
		if g.When, err = storedtext.RenameInExpr(g.When, c.Name, c.NewName); err != nil {
			return err
		}
	}
	if err := relations.RenameInDerived(a.T, col.ID, c.Name, c.NewName); err != nil {
		return err
	}
	col.Name = c.NewName
	return a.Put(ctx)
}

// setSchema is SET SCHEMA: the relation, its indexes and the sequences that its
// columns own move.
func (a *Alteration) setSchema(ctx context.Context, c *ast.AlterCmd) error {
	if a.T.Kind == catalog.KindSequence && a.T.Sequence.OwnerTable != 0 {
		return pgerr.Unsupported("cannot move an owned sequence into another schema").At(c.Pos)
	}
	s, err := a.E.SchemaNamed(ctx, c.NewName, 0)
	if err != nil {
		return err
	}
	if err := statement.NotBuiltIn(s, a.T.Name); err != nil {
		return err
	}
	if s.ID == a.T.Schema {
		return nil
	}
	if err := a.E.MayCreateIn(s); err != nil {
		return err
	}
	if s.Temp != nil || a.E.Coll.Temporary(a.T) {
		return pgerr.Unsupported("cannot move objects into or out of temporary schemas").At(c.Pos)
	}
	from, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := a.moveInViews(ctx, s.Name, a.T.Name); err != nil {
		return err
	}
	if err := a.move(ctx, s); err != nil {
		return err
	}
	if err := a.moveRowType(ctx, from, a.T.Name, s.Name); err != nil {
		return err
	}
	all, err := a.E.TablesOf(ctx, a.T.Database)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Kind != catalog.KindSequence || q.Sequence.OwnerTable != a.T.ID {
			continue
		}
		if err := a.E.Coll.LockExclusive(ctx, q.ID); err != nil {
			return err
		}
		owned := &Alteration{E: a.E, Old: q, T: q.Clone()}
		if err := owned.move(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// move changes the schema of one relation.
func (a *Alteration) move(ctx context.Context, schema *catalog.Schema) error {
	names := []string{a.T.Name}
	for i := range a.T.Indexes {
		if namedIndex(a.T, i) {
			names = append(names, a.T.Indexes[i].Name)
		}
	}
	from := a.T.Schema
	a.T.Schema = schema.ID
	for i, n := range names {
		key := func(s catalog.ID) catalog.NameKey { return catalog.NameKey{Database: a.T.Database, Schema: s, Name: n} }
		err := a.E.MoveName(ctx, key(from), key(schema.ID), catalog.NameEntry{ID: a.T.ID, Index: i > 0},
			pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists in schema \"%s\"", n, schema.Name))
		if err == nil && i == 0 && a.T.HasRows() {
			err = statement.InSchema(a.E.TypeNameFree(ctx, key(schema.ID)), schema)
		}
		if err != nil {
			return err
		}
	}
	return a.Put(ctx)
}

// viewsOf returns the views that use the relation.
func (a *Alteration) viewsOf(ctx context.Context) ([]*catalog.Table, error) {
	all, err := a.E.TablesOf(ctx, a.T.Database)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v *catalog.Table) bool {
		return v.View == nil || !slices.Contains(v.View.Uses, a.T.ID)
	}), nil
}

// moveInViews makes the views that use the relation find it under another name, or in
// another schema.
func (a *Alteration) moveInViews(ctx context.Context, schema, name ast.Name) error {
	views, err := a.rewriteViews(ctx, func(_ *catalog.Table, q *ast.Select, notes *planner.Notes) bool {
		ast.Walk(q, func(n ast.Node) bool {
			ref, _ := n.(*ast.TableRef)
			if r := notes.Relations[ref]; ref != nil && r != nil && r.View != nil && r.View.ID == a.T.ID {
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
		if err := a.E.Coll.Put(ctx, v); err != nil {
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

// RenameInTexts makes the expressions and queries stored in a database call types and
// collations by new names: texts name them as storedtext.PinNames has left them. Texts without the
// word old have nothing to change.
func RenameInTexts(ctx context.Context, e *statement.Env, db catalog.ID, old string, f storedtext.Renamed) error {
	all, err := e.TablesOf(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range all {
		if !storedtext.Mentions(t, old) {
			continue
		}
		if err := renameInTextsOf(ctx, e, t.ID, f); err != nil {
			return err
		}
	}
	return nil
}

func renameInTextsOf(ctx context.Context, e *statement.Env, id catalog.ID, f storedtext.Renamed) error {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	t = t.Clone()
	changed := false
	err = storedtext.EachText(t, func(s string) (string, error) {
		text, err := storedtext.RenameIn(s, f)
		changed = changed || text != s
		return text, err
	})
	if err != nil || !changed {
		return err
	}
	if t.Kind == catalog.KindType { // others hold copies of its expressions
		return RedefineType(ctx, e, t, t.UserType.Def)
	}
	return e.Coll.Put(ctx, t)
}
