package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// addConstraint is ADD CONSTRAINT.
func (a *alteration) addConstraint(ctx context.Context, c pendingConstraint) error {
	switch c.Kind {
	case ast.ConstrCheck:
		if err := a.e.addCheck(ctx, a.t, c); err != nil {
			return err
		}
		if err := a.e.checkExprs(ctx, a.t); err != nil {
			return err
		}
		k := &a.t.Checks[len(a.t.Checks)-1]
		if k.NotValid = c.NotValid; k.NotValid {
			return a.put(ctx)
		}
		name := k.Name
		if err := a.e.build(ctx, buildSpec{old: a.old, table: a.t, checks: []string{name}}); err != nil {
			return err
		}
		return a.put(ctx)
	case ast.ConstrPrimaryKey:
		if c.UsingIndex != "" {
			if _, err := a.usingIndex(c); err != nil {
				return err
			}
		}
		if a.t.PrimaryKey() != nil {
			return twoPrimaryKeys(a.t)
		}
		return a.addPrimaryKey(ctx, c)
	case ast.ConstrUnique, ast.ConstrExclude:
		return a.addUnique(ctx, c)
	case ast.ConstrForeignKey:
		return a.addForeignKey(ctx, c)
	}
	return unsupportedConstraint(c.Constraint)
}

// usingIndex turns ... USING INDEX into the constraint that the index implies.
func (a *alteration) usingIndex(c pendingConstraint) (*catalog.Index, error) {
	ix := a.t.IndexByName(c.UsingIndex)
	switch {
	case ix == nil:
		return nil, pgerr.New(pgerr.UndefinedObject, "index \"%s\" does not exist", c.UsingIndex).At(c.Pos)
	case ix.Constraint:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "index \"%s\" is already associated with a constraint", ix.Name).At(c.Pos)
	case !ix.Unique:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a unique index", ix.Name).
			WithDetail("Cannot create a primary key or unique constraint using such an index.").At(c.Pos)
	}
	for _, k := range ix.Columns {
		if k.Desc || k.NullsFirst {
			return nil, pgerr.New(pgerr.WrongObjectType, "index \"%s\" column does not have default sorting behavior", ix.Name).
				WithDetail("Cannot create a primary key or unique constraint using such an index.").At(c.Pos)
		}
	}
	return ix, nil
}

// insteadOfIndex takes the index that ... USING INDEX names away and returns the
// constraint that makes one like it.
func (a *alteration) insteadOfIndex(ctx context.Context, c pendingConstraint) (pendingConstraint, error) {
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
		k.Keys = append(k.Keys, ast.IndexElem{Loc: k.Loc, Column: a.t.Columns[a.t.ColumnByID(col.Column)].Name})
	}
	c.Constraint = &k
	return c, a.e.removeIndex(ctx, a.t, ix.Name)
}

func (a *alteration) noteRenaming(from, to string) {
	a.e.skip(pgerr.SuccessfulCompletion, "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"%s\" to \"%s\"", from, to)
}

// addUnique adds a UNIQUE constraint.
func (a *alteration) addUnique(ctx context.Context, c pendingConstraint) error {
	if c.UsingIndex != "" && deferrable(c.Constraint) {
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
		if constraintExists(a.t, name) {
			return duplicateConstraint(a.t, name)
		}
		if ix.ConstraintOid, err = a.e.Coll.NewOid(ctx); err != nil {
			return err
		}
		ix.Constraint, ix.ConstraintName = true, name
		if name != ix.Name {
			a.noteRenaming(ix.Name, name)
			if err := a.renameIndex(ctx, ix, name); err != nil {
				return err
			}
		}
		return a.put(ctx)
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	ix, err := a.e.keyConstraint(ctx, a.t, schema, c)
	if err != nil {
		return err
	}
	if err := a.e.addBuiltIndex(ctx, a.old, a.t, ix); err != nil {
		return err
	}
	return a.e.presplit(ctx, a.t, &ix, c.SplitInto, nil)
}

// addPrimaryKey makes the rows live under a declared key instead of row ids.
func (a *alteration) addPrimaryKey(ctx context.Context, c pendingConstraint) error {
	if c.UsingIndex != "" {
		var err error
		if c, err = a.insteadOfIndex(ctx, c); err != nil {
			return err
		}
	}
	if deferrable(c.Constraint) {
		return a.addUnique(ctx, c) // the rows stay where they are
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	ix, err := a.e.keyConstraint(ctx, a.t, schema, c)
	if err != nil {
		return err
	}
	if err := a.e.moveZone(ctx, a.t, a.t.Primary().ID, ix.ID); err != nil {
		return err
	}
	if err := a.e.clearIndex(ctx, a.t, a.t.Primary().ID); err != nil {
		return err
	}
	if a.t.RowIDOid != 0 {
		if err := a.e.clearIndex(ctx, a.t, a.t.RowIDStorage); err != nil {
			return err
		}
		removeRowID(a.t)
	}
	a.t.Indexes[0] = ix
	setNotNull(a.t, ix.Columns)
	if err := a.e.addRelation(ctx, a.t, ix.Name, true); err != nil {
		return err
	}
	if err := a.buildAll(ctx, ix.Columns); err != nil {
		return err
	}
	if err := a.put(ctx); err != nil {
		return err
	}
	return a.e.presplit(ctx, a.t, &ix, c.SplitInto, nil)
}

// buildAll fills the new primary index and, under fresh ids, all others;
// notNull are columns to verify.
func (a *alteration) buildAll(ctx context.Context, notNull []catalog.IndexColumn) error {
	all, err := a.renewSecondary(ctx)
	if err != nil {
		return err
	}
	spec := buildSpec{old: a.old, table: a.t, indexes: all}
	for _, k := range notNull {
		spec.notNull = append(spec.notNull, k.Column)
	}
	return a.e.build(ctx, spec)
}

// replacePrimaryByRowID takes the primary key away; the caller builds all
// indexes. The table is stored at once, so that its rows can get their ids.
func (a *alteration) replacePrimaryByRowID(ctx context.Context) error {
	pk := *a.t.Primary()
	if err := a.e.removeRelationName(ctx, a.t, pk.Name); err != nil {
		return err
	}
	if err := a.e.clearIndex(ctx, a.t, pk.ID); err != nil {
		return err
	}
	ix, err := a.e.addRowID(ctx, a.t)
	if err != nil {
		return err
	}
	if err := a.e.moveZone(ctx, a.t, pk.ID, ix.ID); err != nil {
		return err
	}
	a.t.Indexes[0] = ix
	if err := a.put(ctx); err != nil {
		return err
	}
	a.t = a.t.Clone()
	return nil
}

// referredNotInUse returns 55006 if the session uses the table that a foreign key refers to.
func (a *alteration) referredNotInUse(ctx context.Context, k *catalog.ForeignKey) error {
	t, err := a.e.Coll.TableByID(ctx, k.Table)
	if err != nil {
		return err
	}
	return a.e.checkUnused(t, "ALTER TABLE")
}

// dropConstraint is DROP CONSTRAINT.
func (a *alteration) dropConstraint(ctx context.Context, c *ast.AlterCmd) error {
	if i := slices.IndexFunc(a.t.Checks, func(k catalog.Check) bool { return k.Name == c.Name }); i >= 0 {
		a.t.Checks = slices.Delete(a.t.Checks, i, i+1)
		return a.put(ctx)
	}
	if i := a.t.ForeignKeyByName(c.Name); i >= 0 {
		if err := a.referredNotInUse(ctx, &a.t.ForeignKeys[i]); err != nil {
			return err
		}
		if err := a.e.removeForeignKey(ctx, a.t, i, nil); err != nil {
			return err
		}
		return a.put(ctx)
	}
	i := slices.IndexFunc(a.t.Indexes, func(ix catalog.Index) bool { return ix.Constraint && ix.ConstraintName == c.Name })
	if i >= 0 {
		if err := a.e.dropIndexReferrers(ctx, a.t, &a.t.Indexes[i], c.Cascade); err != nil {
			return err
		}
	}
	switch {
	case i < 0 && c.IfExists:
		a.e.skip(pgerr.SuccessfulCompletion, "constraint \"%s\" of relation \"%s\" does not exist, skipping", c.Name, a.t.Name)
		return nil
	case i < 0:
		return a.undefinedConstraint(c)
	case i > 0:
		if err := a.e.removeIndex(ctx, a.t, a.t.Indexes[i].Name); err != nil {
			return err
		}
		return a.put(ctx)
	}
	on := "constraint " + ast.QuoteIdent(c.Name) + " on " + a.e.describe(ctx, a.t)
	rests := func(v *catalog.View) bool { return slices.Contains(v.Keys, a.t.ID) }
	if err := a.e.dropViews(ctx, a.t.Database, on, c.Cascade, rests); err != nil {
		return err
	}
	if err := a.replacePrimaryByRowID(ctx); err != nil {
		return err
	}
	if err := a.buildAll(ctx, nil); err != nil {
		return err
	}
	return a.put(ctx)
}

// changePrimaryKey is the dialect's ALTER PRIMARY KEY USING COLUMNS.
func (a *alteration) changePrimaryKey(ctx context.Context, c *ast.AlterCmd) error {
	if pk := a.t.PrimaryKey(); pk != nil {
		name := pk.ConstraintName
		if err := a.dropConstraint(ctx, &ast.AlterCmd{Loc: c.Loc, Name: name}); err != nil {
			return err
		}
		a.e.nextCommand()
		t, err := a.e.Coll.TableByID(ctx, a.t.ID)
		if err != nil {
			return err
		}
		a.old, a.t = t, t.Clone()
	}
	k := *c.Constraint
	k.Kind = ast.ConstrPrimaryKey
	return a.addPrimaryKey(ctx, pendingConstraint{Constraint: &k})
}

// alterConstraint is ALTER CONSTRAINT, which changes when a foreign key is checked.
// What is not said is the default, not what was so before.
func (a *alteration) alterConstraint(ctx context.Context, c *ast.AlterCmd) error {
	i := a.t.ForeignKeyByName(c.Name)
	switch {
	case i < 0 && constraintExists(a.t, c.Name):
		return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key constraint", c.Name, a.t.Name)
	case i < 0:
		return a.undefinedConstraint(c)
	}
	k := &a.t.ForeignKeys[i]
	k.Deferrable, k.Deferred = deferrable(c.Constraint), c.Constraint.InitiallyDeferred
	return a.put(ctx)
}
