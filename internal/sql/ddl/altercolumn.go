package ddl

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// addColumn is ADD COLUMN. A default is written into all rows.
func (a *alteration) addColumn(ctx context.Context, c *ast.AlterCmd) error {
	d := c.Def
	if _, ok := a.t.ColumnByName(d.Name); ok {
		if c.IfNotExists {
			a.e.skip(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists, skipping", d.Name, a.t.Name)
			return nil
		}
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", d.Name, a.t.Name)
	}
	def, err := a.e.defineColumn(ctx, a.t, d)
	if err != nil {
		return err
	}
	if err := notMember(a.t, def.col.ValueType()); err != nil {
		return err
	}
	if def.sequence != nil {
		schema, err := a.schemaName(ctx)
		if err != nil {
			return err
		}
		if err := a.e.ownedSequence(ctx, a.t, schema, def, a.t.NextColumnID); err != nil {
			return err
		}
	}
	if err := appendColumn(a.t, &def.col); err != nil {
		return err
	}
	if err := a.family(def); err != nil {
		return err
	}
	if def.generated != nil {
		if err := a.e.generate(ctx, a.t, pendingGenerated{def.col.Name, def.generated}); err != nil {
			return err
		}
	}
	if err := a.e.checkExprs(ctx, a.t); err != nil {
		return err
	}
	if def.generated != nil {
		if err := a.e.computeConstants(ctx, a.t, derivedParts{columns: []catalog.ColumnID{def.col.ID}}); err != nil {
			return err
		}
	}
	spec := buildSpec{old: a.old, table: a.t}
	if def.col.NotNull {
		spec.notNull = []catalog.ColumnID{def.col.ID}
	}
	if def.col.DefaultText() != "" || def.generated != nil && !def.col.Virtual {
		if err := a.unstoredRows(ctx); err != nil {
			return err
		}
		if err := a.renewPrimary(ctx); err != nil {
			return err
		}
		spec.indexes = []int{0}
	}
	if err := a.e.build(ctx, spec); err != nil {
		return err
	}
	if err := a.put(ctx); err != nil {
		return err
	}
	if err := a.e.verifyColumnDomain(ctx, a.t.ID, &def.col); err != nil {
		return err
	}
	return a.columnConstraints(ctx, def)
}

// columnConstraints adds the keys and checks of a new column.
func (a *alteration) columnConstraints(ctx context.Context, def *columnDef) error {
	for _, k := range def.constraints {
		a.e.nextCommand()
		t, err := a.e.Coll.TableByID(ctx, a.t.ID)
		if err != nil {
			return err
		}
		next := &alteration{e: a.e, old: t, t: t.Clone()}
		if err := next.addConstraint(ctx, pendingConstraint{Constraint: k, column: def.col.Name}); err != nil {
			return err
		}
	}
	return nil
}

// dropColumn is DROP COLUMN. Rows keep the value until they are rewritten, but
// nothing can read it.
func (a *alteration) dropColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := visibleColumn(a.t, c.Name)
	if !ok {
		if c.IfExists {
			a.e.skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", c.Name, a.t.Name)
			return nil
		}
		return a.t.UndefinedColumn(c.Name)
	}
	id := a.t.Columns[ord].ID
	if err := a.dropColumnDependents(ctx, ord, c.Cascade); err != nil {
		return err
	}
	views, err := a.unlistColumn(ctx, &a.t.Columns[ord])
	if err != nil {
		return err
	}
	// A default of this table may have gone with a sequence.
	if cur, err := a.e.Coll.TableByID(ctx, a.t.ID); err != nil {
		return err
	} else if cur != a.old {
		a.t = cur.Clone()
	}
	if err := a.dropGenerated(ctx, id, c.Cascade); err != nil {
		return err
	}
	if err := a.dropKeysOf(ctx, id, c.Cascade); err != nil {
		return err
	}
	a.t.Checks = slices.DeleteFunc(a.t.Checks, func(k catalog.Check) bool { return slices.Contains(k.Columns, id) })
	for i := len(a.t.Indexes) - 1; i > 0; i-- {
		if dependsOn(a.t, &a.t.Indexes[i], id) {
			if err := a.e.removeIndex(ctx, a.t, a.t.Indexes[i].Name); err != nil {
				return err
			}
		}
	}
	inKey := usesColumn(a.t.Primary(), id)
	dropIt := func() {
		a.t.RemoveColumns(func(c *catalog.Column) bool { return c.ID == id })
	}
	if !inKey {
		dropIt()
		if err := a.put(ctx); err != nil {
			return err
		}
		return a.e.putViews(ctx, views)
	}
	if err := a.replacePrimaryByRowID(ctx); err != nil {
		return err
	}
	dropIt()
	if err := a.buildAll(ctx, nil); err != nil {
		return err
	}
	if err := a.put(ctx); err != nil {
		return err
	}
	return a.e.putViews(ctx, views)
}

// dropGenerated drops, with CASCADE, the generated columns that read a column.
func (a *alteration) dropGenerated(ctx context.Context, id catalog.ColumnID, cascade bool) error {
	list := generatedFrom(a.t, id)
	if len(list) == 0 {
		return nil
	}
	on := "column " + a.t.Columns[a.t.ColumnByID(id)].Name + " of " + a.e.describe(ctx, a.t)
	var names []string
	for _, c := range list {
		names = append(names, "column "+ast.QuoteIdent(c.Name)+" of "+a.e.describe(ctx, a.t))
	}
	if !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", on).
			WithDetail("%s", strings.Join(names, " depends on "+on+"\n")+" depends on "+on).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	a.e.cascadeNotice(names)
	var drop []string
	for _, c := range list {
		drop = append(drop, c.Name)
	}
	for _, name := range drop {
		if err := a.put(ctx); err != nil {
			return err
		}
		t, err := a.e.Coll.TableByID(ctx, a.t.ID)
		if err != nil {
			return err
		}
		next := &alteration{e: a.e, old: t, t: t.Clone(), name: a.name, kind: a.kind}
		if err := next.dropColumn(ctx, &ast.AlterCmd{Name: name, Cascade: true}); err != nil {
			return err
		}
		if t, err = a.e.Coll.TableByID(ctx, a.t.ID); err != nil {
			return err
		}
		a.old, a.t = t, t.Clone()
	}
	return nil
}

// dropKeysOf drops the foreign keys that a column is part of and, with CASCADE,
// those that refer to it.
func (a *alteration) dropKeysOf(ctx context.Context, id catalog.ColumnID, cascade bool) error {
	e := a.e
	what := "column " + a.t.Columns[a.t.ColumnByID(id)].Name + " of " + e.describe(ctx, a.t)
	list, err := e.referrers(ctx, a.t, func(k *catalog.ForeignKey) bool { return slices.Contains(k.RefColumns, id) })
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r referrer) bool { return r.table.ID == a.t.ID && slices.Contains(r.key.Columns, id) })
	if err := e.dropReferrers(ctx, a.t, list, cascade, what, what); err != nil {
		return err
	}
	for i := len(a.t.ForeignKeys) - 1; i >= 0; i-- {
		if slices.Contains(a.t.ForeignKeys[i].Columns, id) {
			if err := e.removeForeignKey(ctx, a.t, i, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func usesColumn(ix *catalog.Index, id catalog.ColumnID) bool {
	return slices.Contains(ix.Stored, id) ||
		slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool { return c.Column == id })
}

// dropColumnDependents drops the sequences that the column owns and, with
// CASCADE, the views that use it.
func (a *alteration) dropColumnDependents(ctx context.Context, ord int, cascade bool) error {
	e, col := a.e, &a.t.Columns[ord]
	d := e.newDropper(cascade)
	on := "column " + col.Name + " of " + e.describe(ctx, a.t)
	all, err := e.tablesOf(ctx, a.t.Database)
	if err != nil {
		return err
	}
	views := false
	for _, o := range all {
		owned := o.Kind == catalog.KindSequence && o.Sequence.OwnerTable == a.t.ID && o.Sequence.OwnerColumn == col.ID
		view := o.View != nil && viewUses(o, a.t.ID, col.ID)
		if !owned && !view {
			continue
		}
		if err := e.Coll.LockExclusive(ctx, o.ID); err != nil {
			return err
		}
		if view {
			views = true
			d.dependent(o, on)
		} else {
			d.target(o)
		}
	}
	if views && !cascade {
		err := d.report(ctx)
		var pe *pgerr.Error
		if errors.As(err, &pe) {
			pe.Message = "cannot drop " + on + " because other objects depend on it"
		}
		return err
	}
	// The default of the column itself goes with it.
	if strings.Contains(col.Default, "::regclass") {
		col.Default = ""
		col.OwnsSequence = 0
		col.Identity = 0
		if err := a.put(ctx); err != nil {
			return err
		}
	}
	return d.run(ctx)
}

func viewUses(v *catalog.Table, table catalog.ID, column catalog.ColumnID) bool {
	for i, id := range v.View.Uses {
		if id == table && slices.Contains(v.View.UsesColumns[i], column) {
			return true
		}
	}
	return false
}

// columnDefault is SET DEFAULT and DROP DEFAULT.
func (a *alteration) columnDefault(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if col.Identity != 0 {
		err := pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", col.Name, a.t.Name)
		if c.Kind == ast.AlterColumnDropDefault {
			return err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
		}
		return err
	}
	if col.Generated != "" {
		err := pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is a generated column", col.Name, a.t.Name)
		if c.Kind == ast.AlterColumnDropDefault {
			return err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
		}
		return err
	}
	col.Default = ""
	if c.Kind == ast.AlterColumnSetDefault {
		if err := a.e.setDefault(ctx, col, c.X); err != nil {
			return err
		}
		if err := a.e.checkExprs(ctx, a.t); err != nil {
			return err
		}
	}
	return a.put(ctx)
}

// columnNotNull is SET NOT NULL and DROP NOT NULL.
func (a *alteration) columnNotNull(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if c.Kind == ast.AlterColumnSetNotNull {
		if col.NotNull {
			return nil
		}
		col.NotNull = true
		if err := a.e.build(ctx, buildSpec{old: a.old, table: a.t, notNull: []catalog.ColumnID{col.ID}}); err != nil {
			return err
		}
		return a.put(ctx)
	}
	if col.Identity != 0 {
		return pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", col.Name, a.t.Name)
	}
	if pk := a.t.PrimaryKey(); pk != nil && slices.ContainsFunc(pk.Columns, func(k catalog.IndexColumn) bool { return k.Column == col.ID }) {
		return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" is in a primary key", col.Name)
	}
	col.NotNull = false
	return a.put(ctx)
}

// columnVisible is the dialect's SET VISIBLE and SET NOT VISIBLE.
func (a *alteration) columnVisible(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.NotVisible = c.Kind == ast.AlterColumnSetNotVisible
	return a.put(ctx)
}

// lockSequence returns the sequence of an identity column.
func (a *alteration) lockSequence(ctx context.Context, col *catalog.Column) (*catalog.Table, error) {
	if err := a.e.Coll.LockExclusive(ctx, col.OwnsSequence); err != nil {
		return nil, err
	}
	return a.e.Coll.TableByID(ctx, col.OwnsSequence)
}

func (a *alteration) redefineSequence(ctx context.Context, s *catalog.Table, opts []ast.SequenceOption) error {
	s = s.Clone()
	if err := a.e.redefineSequence(ctx, s, opts); err != nil {
		return err
	}
	return a.e.Coll.Put(ctx, s)
}

// columnIdentity is ADD GENERATED, SET GENERATED (with sequence options) and
// DROP IDENTITY.
func (a *alteration) columnIdentity(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if c.Kind == ast.AlterColumnAddIdentity {
		return a.addIdentity(ctx, c, col)
	}
	if col.Identity == 0 {
		if c.IfExists {
			a.e.skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" is not an identity column, skipping", col.Name, a.t.Name)
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is not an identity column", col.Name, a.t.Name)
	}
	s, err := a.lockSequence(ctx, col)
	if err != nil {
		return err
	}
	if c.Kind == ast.AlterColumnSetIdentity {
		if c.AlwaysSet {
			col.Identity = 'd'
			if c.Always {
				col.Identity = 'a'
			}
		}
		if len(c.SeqOptions) > 0 {
			if err := a.redefineSequence(ctx, s, c.SeqOptions); err != nil {
				return err
			}
		}
		return a.put(ctx)
	}
	col.Identity, col.OwnsSequence, col.Default = 0, 0, ""
	if err := a.put(ctx); err != nil {
		return err
	}
	return a.e.dropRelation(ctx, s, map[catalog.ID]bool{a.t.ID: true})
}

func (a *alteration) addIdentity(ctx context.Context, c *ast.AlterCmd, col *catalog.Column) error {
	if err := identityType(col); err != nil {
		return err
	}
	switch {
	case !col.NotNull:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" must be declared NOT NULL before identity can be added", col.Name, a.t.Name)
	case col.Identity != 0:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is already an identity column", col.Name, a.t.Name)
	case col.Default != "":
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" already has a default value", col.Name, a.t.Name)
	}
	def := &columnDef{col: *col}
	if err := a.e.columnValue(ctx, a.t, def, c.Constraint); err != nil {
		return err
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := a.e.ownedSequence(ctx, a.t, schema, def, col.ID); err != nil {
		return err
	}
	*col = def.col
	return a.put(ctx)
}
