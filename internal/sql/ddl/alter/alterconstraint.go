package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// addConstraint is ADD CONSTRAINT.
func (a *Alteration) addConstraint(ctx context.Context, c relations.PendingConstraint) error {
	switch c.Kind {
	case ast.ConstrCheck:
		if err := relations.AddCheck(ctx, a.E, a.T, c); err != nil {
			return err
		}
		if err := storedtext.CheckExprs(ctx, a.E, a.T); err != nil {
			return err
		}
		k := &a.T.Checks[len(a.T.Checks)-1]
		if k.NotValid = c.NotValid; k.NotValid {
			return a.Put(ctx)
		}
		name := k.Name
		if err := backfill.Build(ctx, a.E, backfill.Spec{Old: a.Old, Table: a.T, Checks: []string{name}}); err != nil {
			return err
		}
		return a.Put(ctx)
	case ast.ConstrPrimaryKey:
		if c.UsingIndex != "" {
			if _, err := a.usingIndex(c); err != nil {
				return err
			}
		}
		if a.T.PrimaryKey() != nil {
			return a.secondPrimaryKey(ctx, c)
		}
		return a.addPrimaryKey(ctx, c)
	case ast.ConstrUnique, ast.ConstrExclude:
		return a.addUnique(ctx, c)
	case ast.ConstrForeignKey:
		return a.addForeignKey(ctx, c)
	}
	return relations.UnsupportedConstraint(c.Constraint)
}

// usingIndex turns ... USING INDEX into the constraint that the index implies.
func (a *Alteration) usingIndex(c relations.PendingConstraint) (*catalog.Index, error) {
	ix := a.T.IndexByName(c.UsingIndex)
	switch {
	case ix == nil:
		return nil, pgerr.New(pgerr.UndefinedObject, "index \"%s\" does not exist", c.UsingIndex).At(c.Pos)
	case ix.Constraint:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "index \"%s\" is already associated with a constraint", ix.Name).At(c.Pos)
	case !ix.Unique:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a unique index", ix.Name).
			WithDetail("Cannot create a primary key or unique constraint using such an index.").At(c.Pos)
	}
	for i, k := range ix.Columns {
		if k.Desc || k.NullsFirst {
			return nil, pgerr.New(pgerr.WrongObjectType, "index \"%s\" column number %d does not have default sorting behavior", ix.Name, i+1).
				WithDetail("Cannot create a primary key or unique constraint using such an index.").At(c.Pos)
		}
	}
	return ix, nil
}

// insteadOfIndex takes the index that ... USING INDEX names away and returns the
// constraint that makes one like it.
func (a *Alteration) insteadOfIndex(ctx context.Context, c relations.PendingConstraint) (relations.PendingConstraint, error) {
	ix, err := a.usingIndex(c)
	if err != nil {
		return c, err
	}
	k := *c.Constraint
	k.UsingIndex = ""
	if k.Name == "" {
		k.Name = ix.Name
	}
	if k.Name != ix.Name {
		a.noteRenaming(ix.Name, k.Name)
	}
	for _, col := range ix.Columns {
		k.Keys = append(k.Keys, ast.IndexElem{Loc: k.Loc, Column: a.T.Columns[a.T.ColumnByID(col.Column)].Name})
	}
	c.Constraint = &k
	return c, removeIndex(ctx, a.E, a.T, ix.Name)
}

func (a *Alteration) noteRenaming(from, to string) {
	a.E.Skip(pgerr.SuccessfulCompletion, "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"%s\" to \"%s\"", from, to)
}

// addUnique adds a UNIQUE constraint.
func (a *Alteration) addUnique(ctx context.Context, c relations.PendingConstraint) error {
	if c.UsingIndex != "" && relations.Deferrable(c.Constraint) {
		// Its entries become others.
		var err error
		if c, err = a.insteadOfIndex(ctx, c); err != nil {
			return err
		}
	}
	if c.UsingIndex != "" {
		ix, err := a.usingIndex(c)
		if err != nil {
			return err
		}
		name := c.Name
		if name == "" {
			name = ix.Name
		}
		if relations.ConstraintExists(a.T, name) {
			return relations.DuplicateConstraint(a.T, name)
		}
		if ix.ConstraintOid, err = a.E.Coll.NewOid(ctx); err != nil {
			return err
		}
		ix.Constraint, ix.ConstraintName = true, name
		if name != ix.Name {
			a.noteRenaming(ix.Name, name)
			if err := a.renameIndex(ctx, ix, name); err != nil {
				return err
			}
		}
		return a.Put(ctx)
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	ix, err := relations.KeyConstraint(ctx, a.E, a.T, schema, c)
	if err != nil {
		return err
	}
	if err := relations.AddBuiltIndex(ctx, a.E, a.Old, a.T, ix); err != nil {
		return err
	}
	return zoneconfig.Presplit(ctx, a.E, a.T, &ix, c.SplitInto, nil)
}

// secondPrimaryKey refuses a primary key beside the one that there is, with what is wrong with the key itself if
// anything is.
func (a *Alteration) secondPrimaryKey(ctx context.Context, c relations.PendingConstraint) error {
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if _, err := relations.KeyConstraint(ctx, a.E, a.T.Clone(), schema, c); err != nil {
		return err
	}
	return relations.TwoPrimaryKeys(a.T)
}

// addPrimaryKey makes the rows live under a declared key instead of row ids.
func (a *Alteration) addPrimaryKey(ctx context.Context, c relations.PendingConstraint) error {
	if c.UsingIndex != "" {
		var err error
		if c, err = a.insteadOfIndex(ctx, c); err != nil {
			return err
		}
	}
	if relations.Deferrable(c.Constraint) {
		return a.addUnique(ctx, c) // the rows stay where they are
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	ix, err := relations.KeyConstraint(ctx, a.E, a.T, schema, c)
	if err != nil {
		return err
	}
	if err := zoneconfig.MoveZone(ctx, a.E, a.T, a.T.Primary().ID, ix.ID); err != nil {
		return err
	}
	if err := clearIndex(ctx, a.E, a.T, a.T.Primary().ID); err != nil {
		return err
	}
	if a.T.RowIDOid != 0 {
		if err := clearIndex(ctx, a.E, a.T, a.T.RowIDStorage); err != nil {
			return err
		}
		relations.RemoveRowID(a.T)
	}
	a.T.Indexes[0] = ix
	relations.SetNotNull(a.T, ix.Columns)
	if err := a.E.AddRelation(ctx, a.T, ix.Name, true); err != nil {
		return err
	}
	if err := a.buildAll(ctx, ix.Columns); err != nil {
		return err
	}
	if err := a.Put(ctx); err != nil {
		return err
	}
	return zoneconfig.Presplit(ctx, a.E, a.T, &ix, c.SplitInto, nil)
}

// buildAll fills the new primary index and, under fresh ids, all others;
// notNull are columns to verify.
func (a *Alteration) buildAll(ctx context.Context, notNull []catalog.IndexColumn) error {
	all, err := a.renewSecondary(ctx)
	if err != nil {
		return err
	}
	spec := backfill.Spec{Old: a.Old, Table: a.T, Indexes: all, InTurn: len(notNull) > 0}
	for _, k := range notNull {
		spec.NotNull = append(spec.NotNull, k.Column)
	}
	return backfill.Build(ctx, a.E, spec)
}

// replacePrimaryByRowID takes the primary key away; the caller builds all
// indexes. The table is stored at once, so that its rows can get their ids.
func (a *Alteration) replacePrimaryByRowID(ctx context.Context) error {
	pk := *a.T.Primary()
	if err := a.E.RemoveRelationName(ctx, a.T, pk.Name); err != nil {
		return err
	}
	if err := clearIndex(ctx, a.E, a.T, pk.ID); err != nil {
		return err
	}
	ix, err := relations.AddRowID(ctx, a.E, a.T)
	if err != nil {
		return err
	}
	if err := zoneconfig.MoveZone(ctx, a.E, a.T, pk.ID, ix.ID); err != nil {
		return err
	}
	a.T.Indexes[0] = ix
	if err := a.Put(ctx); err != nil {
		return err
	}
	a.T = a.T.Clone()
	return nil
}

// referredNotInUse returns 55006 if the session uses the table that a foreign key refers to.
func (a *Alteration) referredNotInUse(ctx context.Context, k *catalog.ForeignKey) error {
	t, err := a.E.Coll.TableByID(ctx, k.Table)
	if err != nil {
		return err
	}
	return a.E.CheckUnused(t, "ALTER TABLE")
}

// dropConstraint is DROP CONSTRAINT.
func (a *Alteration) dropConstraint(ctx context.Context, c *ast.AlterCmd) error {
	if i := slices.IndexFunc(a.T.Checks, func(k catalog.Check) bool { return k.Name == c.Name }); i >= 0 {
		a.T.Checks = slices.Delete(a.T.Checks, i, i+1)
		return a.Put(ctx)
	}
	if i := a.T.ForeignKeyByName(c.Name); i >= 0 {
		if err := a.referredNotInUse(ctx, &a.T.ForeignKeys[i]); err != nil {
			return err
		}
		if err := relations.RemoveForeignKey(ctx, a.E, a.T, i, nil); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	i := slices.IndexFunc(a.T.Indexes, func(ix catalog.Index) bool { return ix.Constraint && ix.ConstraintName == c.Name })
	if i >= 0 {
		if err := relations.DropIndexReferrers(ctx, a.E, a.T, &a.T.Indexes[i], c.Cascade); err != nil {
			return err
		}
	}
	switch {
	case i < 0 && c.IfExists:
		a.E.Skip(pgerr.SuccessfulCompletion, "constraint \"%s\" of relation \"%s\" does not exist, skipping", c.Name, a.T.Name)
		return nil
	case i < 0:
		return a.undefinedConstraint(c)
	case i > 0:
		if err := removeIndex(ctx, a.E, a.T, a.T.Indexes[i].Name); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	if err := a.dropViewsByKey(ctx, c.Name, c.Cascade); err != nil {
		return err
	}
	if err := a.replacePrimaryByRowID(ctx); err != nil {
		return err
	}
	if err := a.buildAll(ctx, nil); err != nil {
		return err
	}
	return a.Put(ctx)
}

// changePrimaryKey is the dialect's ALTER PRIMARY KEY USING COLUMNS.
func (a *Alteration) changePrimaryKey(ctx context.Context, c *ast.AlterCmd) error {
	if pk := a.T.PrimaryKey(); pk != nil && pk != a.T.Primary() {
		if err := a.dropConstraint(ctx, &ast.AlterCmd{Loc: c.Loc, Name: pk.ConstraintName}); err != nil {
			return err
		}
		a.E.NextCommand()
		t, err := a.E.Coll.TableByID(ctx, a.T.ID)
		if err != nil {
			return err
		}
		a.Old, a.T = t, t.Clone()
	} else if pk != nil {
		if err := a.undeclarePrimary(ctx, pk); err != nil {
			return err
		}
	}
	k := *c.Constraint
	k.Kind = ast.ConstrPrimaryKey
	return a.addPrimaryKey(ctx, relations.PendingConstraint{Constraint: &k})
}

// dropViewsByKey drops, with CASCADE, the views that rest on the primary key.
func (a *Alteration) dropViewsByKey(ctx context.Context, constraint string, cascade bool) error {
	on := "constraint " + ast.QuoteIdent(constraint) + " on " + a.E.Describe(ctx, a.T)
	database, id := a.T.Database, a.T.ID
	return a.E.CheckAgain(ctx, func(ctx context.Context) error {
		return dropViews(ctx, a.E, database, on, cascade, func(v *catalog.View) bool { return slices.Contains(v.Keys, id) })
	})
}

// undeclarePrimary takes the primary key away, whose index the rows stay in until they move to that of another one.
func (a *Alteration) undeclarePrimary(ctx context.Context, pk *catalog.Index) error {
	if err := relations.DropIndexReferrers(ctx, a.E, a.T, pk, false); err != nil {
		return err
	}
	if err := a.dropViewsByKey(ctx, pk.ConstraintName, false); err != nil {
		return err
	}
	if err := a.E.RemoveRelationName(ctx, a.T, pk.Name); err != nil {
		return err
	}
	a.E.NextCommand()
	pk.Constraint, pk.ConstraintName, pk.ConstraintOid = false, "", 0
	pk.Name = statement.ObjectName(a.T.Name, "", "rowid") // not in the name space
	return nil
}

// alterConstraint is ALTER CONSTRAINT, which changes when a foreign key is checked.
// What is not said is the default, not what was so before.
func (a *Alteration) alterConstraint(ctx context.Context, c *ast.AlterCmd) error {
	i := a.T.ForeignKeyByName(c.Name)
	switch {
	case i < 0 && relations.ConstraintExists(a.T, c.Name):
		return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key constraint", c.Name, a.T.Name)
	case i < 0:
		return a.undefinedConstraint(c)
	}
	k := &a.T.ForeignKeys[i]
	k.Deferrable, k.Deferred = relations.Deferrable(c.Constraint), c.Constraint.InitiallyDeferred
	return a.Put(ctx)
}
