package alter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// addColumn is ADD COLUMN. A default that is the same for all rows is kept in the descriptor, any other
// written into the rows.
func (a *Alteration) addColumn(ctx context.Context, c *ast.AlterCmd) error {
	d := c.Def
	if _, ok := a.T.ColumnByName(d.Name); ok {
		if c.IfNotExists {
			a.E.Skip(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists, skipping", d.Name, a.T.Name)
			return nil
		}
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", d.Name, a.T.Name)
	}
	def, err := relations.DefineColumn(ctx, a.E, a.T, d)
	if err != nil {
		return err
	}
	if err := notMember(a.T, def.Col.ValueType()); err != nil {
		return err
	}
	if def.Sequence != nil {
		schema, err := a.schemaName(ctx)
		if err != nil {
			return err
		}
		if err := relations.OwnedSequence(ctx, a.E, a.T, schema, def, a.T.NextColumnID); err != nil {
			return err
		}
	}
	if err := relations.AppendColumn(a.T, &def.Col); err != nil {
		return err
	}
	if err := a.family(def); err != nil {
		return err
	}
	if def.Generated != nil {
		if err := relations.Generate(ctx, a.E, a.T, relations.PendingGenerated{Column: def.Col.Name, X: def.Generated}); err != nil {
			return err
		}
	}
	if err := storedtext.CheckExprs(ctx, a.E, a.T); err != nil {
		return err
	}
	if def.Generated != nil {
		if err := relations.ComputeConstants(ctx, a.E, a.T, relations.DerivedParts{Columns: []catalog.ColumnID{def.Col.ID}}); err != nil {
			return err
		}
	}
	if err := a.fillColumn(ctx, &a.T.Columns[a.T.ColumnByID(def.Col.ID)]); err != nil {
		return err
	}
	if err := a.Put(ctx); err != nil {
		return err
	}
	if err := verifyColumnDomain(ctx, a.E, a.T.ID, &def.Col); err != nil {
		return err
	}
	return a.columnConstraints(ctx, def)
}

// fillColumn gives all rows their value of a new column.
func (a *Alteration) fillColumn(ctx context.Context, c *catalog.Column) error {
	spec := backfill.Spec{Old: a.Old, Table: a.T}
	if c.NotNull {
		spec.NotNull = []catalog.ColumnID{c.ID}
	}
	rewrite := a.T.HasFamilies() && slices.ContainsFunc(a.T.Columns, func(c catalog.Column) bool { return c.Missing != nil })
	if c.DefaultText() != "" || c.Generated != "" && !c.Virtual {
		if err := a.unstoredRows(ctx); err != nil {
			return err
		}
		value, ok, err := backfill.Missing(ctx, a.E, a.T, c)
		if err != nil {
			return err
		}
		if value != nil {
			c.Missing, spec.NotNull = value, nil
		}
		rewrite = rewrite || !ok
	}
	if rewrite {
		if err := a.renewPrimary(ctx); err != nil {
			return err
		}
		spec.Indexes = []int{0}
	}
	return backfill.Build(ctx, a.E, spec)
}

// columnConstraints adds the keys and checks of a new column.
func (a *Alteration) columnConstraints(ctx context.Context, def *relations.ColumnDef) error {
	for _, k := range def.Constraints {
		a.E.NextCommand()
		t, err := a.E.Coll.TableByID(ctx, a.T.ID)
		if err != nil {
			return err
		}
		next := &Alteration{E: a.E, Old: t, T: t.Clone()}
		if err := next.addConstraint(ctx, relations.PendingConstraint{Constraint: k, Column: def.Col.Name}); err != nil {
			return err
		}
	}
	return nil
}

// dropColumn is DROP COLUMN. Rows keep the value until they are rewritten, but
// nothing can read it.
func (a *Alteration) dropColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := relations.VisibleColumn(a.T, c.Name)
	if !ok {
		if c.IfExists {
			a.E.Skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", c.Name, a.T.Name)
			return nil
		}
		return a.T.UndefinedColumn(c.Name)
	}
	id := a.T.Columns[ord].ID
	if err := a.noNewUsers(ctx, id); err != nil {
		return err
	}
	if err := a.dropColumnDependents(ctx, ord, c.Cascade); err != nil {
		return err
	}
	views, err := a.unlistColumn(ctx, &a.T.Columns[ord])
	if err != nil {
		return err
	}
	// A default of this table may have gone with a sequence.
	if cur, err := a.E.Coll.TableByID(ctx, a.T.ID); err != nil {
		return err
	} else if cur != a.Old {
		a.T = cur.Clone()
	}
	if err := a.dropTriggersOf(ctx, id, c.Cascade); err != nil {
		return err
	}
	if err := a.dropGenerated(ctx, id, c.Cascade); err != nil {
		return err
	}
	if err := a.dropKeysOf(ctx, id, c.Cascade); err != nil {
		return err
	}
	a.T.Checks = slices.DeleteFunc(a.T.Checks, func(k catalog.Check) bool { return slices.Contains(k.Columns, id) })
	if err := relations.RemoveExtended(ctx, a.E, a.T, func(x *catalog.Extended) bool { return slices.Contains(x.Columns, id) }); err != nil {
		return err
	}
	for i := len(a.T.Indexes) - 1; i > 0; i-- {
		if relations.DependsOn(a.T, &a.T.Indexes[i], id) {
			if err := removeIndex(ctx, a.E, a.T, a.T.Indexes[i].Name); err != nil {
				return err
			}
		}
	}
	inKey := storedtext.UsesColumn(a.T.Primary(), id)
	dropIt := func() {
		a.T.RemoveColumns(func(c *catalog.Column) bool { return c.ID == id })
	}
	if !inKey {
		dropIt()
		if err := a.Put(ctx); err != nil {
			return err
		}
		return relations.PutViews(ctx, a.E, views)
	}
	if err := a.replacePrimaryByRowID(ctx); err != nil {
		return err
	}
	dropIt()
	if err := a.buildAll(ctx, nil); err != nil {
		return err
	}
	if err := a.Put(ctx); err != nil {
		return err
	}
	return relations.PutViews(ctx, a.E, views)
}

// dropGenerated drops, with CASCADE, the generated columns that read a column.
func (a *Alteration) dropGenerated(ctx context.Context, id catalog.ColumnID, cascade bool) error {
	list := relations.GeneratedFrom(a.T, id)
	if len(list) == 0 {
		return nil
	}
	on := "column " + a.T.Columns[a.T.ColumnByID(id)].Name + " of " + a.E.Describe(ctx, a.T)
	var names []string
	for _, c := range list {
		names = append(names, "column "+ast.QuoteIdent(c.Name)+" of "+a.E.Describe(ctx, a.T))
	}
	if !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", on).
			WithDetail("%s", strings.Join(names, " depends on "+on+"\n")+" depends on "+on).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	a.E.CascadeNotice(names)
	var drop []string
	for _, c := range list {
		drop = append(drop, c.Name)
	}
	for _, name := range drop {
		if err := a.Put(ctx); err != nil {
			return err
		}
		t, err := a.E.Coll.TableByID(ctx, a.T.ID)
		if err != nil {
			return err
		}
		next := &Alteration{E: a.E, Old: t, T: t.Clone(), name: a.name, kind: a.kind}
		if err := next.dropColumn(ctx, &ast.AlterCmd{Name: name, Cascade: true}); err != nil {
			return err
		}
		if t, err = a.E.Coll.TableByID(ctx, a.T.ID); err != nil {
			return err
		}
		a.Old, a.T = t, t.Clone()
	}
	return nil
}

// dropKeysOf drops the foreign keys that a column is part of and, with CASCADE,
// those that refer to it.
func (a *Alteration) dropKeysOf(ctx context.Context, id catalog.ColumnID, cascade bool) error {
	e := a.E
	what := "column " + a.T.Columns[a.T.ColumnByID(id)].Name + " of " + e.Describe(ctx, a.T)
	list, err := relations.Referrers(ctx, e, a.T, func(k *catalog.ForeignKey) bool { return slices.Contains(k.RefColumns, id) })
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r relations.Referrer) bool { return r.Table.ID == a.T.ID && slices.Contains(r.Key.Columns, id) })
	if err := relations.DropReferrers(ctx, e, a.T, list, cascade, what, what); err != nil {
		return err
	}
	for i := len(a.T.ForeignKeys) - 1; i >= 0; i-- {
		if slices.Contains(a.T.ForeignKeys[i].Columns, id) {
			if err := relations.RemoveForeignKey(ctx, e, a.T, i, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropColumnDependents drops the sequences that the column owns and, with
// CASCADE, the views that use it.
func (a *Alteration) dropColumnDependents(ctx context.Context, ord int, cascade bool) error {
	e, col := a.E, &a.T.Columns[ord]
	if err := a.dropColumnPolicies(ctx, col, cascade); err != nil {
		return err
	}
	d := newDropper(e, cascade)
	on := "column " + col.Name + " of " + e.Describe(ctx, a.T)
	all, err := e.TablesOf(ctx, a.T.Database)
	if err != nil {
		return err
	}
	views := false
	for _, o := range all {
		owned := o.Kind == catalog.KindSequence && o.Sequence.OwnerTable == a.T.ID && o.Sequence.OwnerColumn == col.ID
		view := o.View != nil && viewUses(o, a.T.ID, col.ID)
		if !owned && !view {
			continue
		}
		if err := e.Lock(ctx, o.ID); err != nil {
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
		if err := a.Put(ctx); err != nil {
			return err
		}
	}
	return d.run(ctx)
}

// noNewUsers has the statement begin anew if, once the table is locked, something uses it, or a sequence that goes with the column,
// that was not there before: what was there is pinned, or keeps the column from being dropped.
func (a *Alteration) noNewUsers(ctx context.Context, column catalog.ColumnID) error {
	var known, sequences map[catalog.ID]bool
	var oids []uint32
	id, db := a.T.ID, a.T.Database
	uses := func(t *catalog.Table) bool {
		return t.View != nil && slices.Contains(t.View.Uses, id) || sequences[t.ID] ||
			slices.ContainsFunc(t.Policies, func(p catalog.Policy) bool { return policyUses(&p, id, 0) }) || slices.ContainsFunc(oids, t.Names.Relation)
	}
	return a.E.CheckAgain(ctx, func(ctx context.Context) error {
		all, err := a.E.TablesOf(ctx, db)
		if err != nil {
			return err
		}
		sequences = map[catalog.ID]bool{}
		for _, t := range all {
			if t.Kind == catalog.KindSequence && t.Sequence.OwnerTable == id && t.Sequence.OwnerColumn == column {
				sequences[t.ID], oids = true, append(oids, t.Oid)
			}
		}
		now := map[catalog.ID]bool{}
		for _, t := range all {
			if now[t.ID] = uses(t); known != nil && now[t.ID] && !known[t.ID] && t.ID != id {
				return &kvpb.RetryError{Reason: "something uses the table of a column that is dropped since the statement has begun"}
			}
		}
		if known == nil {
			known = now
		}
		return nil
	})
}

func viewUses(v *catalog.Table, table catalog.ID, column catalog.ColumnID) bool {
	if v.View == nil {
		return false
	}
	for i, id := range v.View.Uses {
		if id == table && slices.Contains(v.View.UsesColumns[i], column) {
			return true
		}
	}
	return false
}

// columnDefault is SET DEFAULT and DROP DEFAULT.
func (a *Alteration) columnDefault(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if col.Identity != 0 {
		err := pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", col.Name, a.T.Name)
		if c.Kind == ast.AlterColumnDropDefault {
			return err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
		}
		return err
	}
	if col.Generated != "" {
		err := pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is a generated column", col.Name, a.T.Name)
		if c.Kind == ast.AlterColumnDropDefault {
			return err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
		}
		return err
	}
	col.Default = ""
	if c.Kind == ast.AlterColumnSetDefault {
		if err := storedtext.SetDefault(ctx, a.E, col, c.X); err != nil {
			return err
		}
		if err := storedtext.CheckExprs(ctx, a.E, a.T); err != nil {
			return err
		}
	}
	return a.Put(ctx)
}

// columnNotNull is SET NOT NULL and DROP NOT NULL.
func (a *Alteration) columnNotNull(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if c.Kind == ast.AlterColumnSetNotNull {
		if col.NotNull {
			return nil
		}
		col.NotNull = true
		if err := backfill.Build(ctx, a.E, backfill.Spec{Old: a.Old, Table: a.T, NotNull: []catalog.ColumnID{col.ID}}); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	if col.Identity != 0 {
		return pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", col.Name, a.T.Name)
	}
	if pk := a.T.PrimaryKey(); pk != nil && slices.ContainsFunc(pk.Columns, func(k catalog.IndexColumn) bool { return k.Column == col.ID }) {
		return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" is in a primary key", col.Name)
	}
	col.NotNull = false
	return a.Put(ctx)
}

// columnVisible is the dialect's SET VISIBLE and SET NOT VISIBLE.
func (a *Alteration) columnVisible(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.NotVisible = c.Kind == ast.AlterColumnSetNotVisible
	return a.Put(ctx)
}

// lockSequence returns the sequence of an identity column.
func (a *Alteration) lockSequence(ctx context.Context, col *catalog.Column) (*catalog.Table, error) {
	if err := a.E.Lock(ctx, col.OwnsSequence); err != nil {
		return nil, err
	}
	return a.E.Coll.TableByID(ctx, col.OwnsSequence)
}

func (a *Alteration) redefineSequence(ctx context.Context, s *catalog.Table, opts []ast.SequenceOption) error {
	s = s.Clone()
	if err := relations.RedefineSequence(ctx, a.E, s, opts); err != nil {
		return err
	}
	return a.E.Coll.Put(ctx, s)
}

// columnIdentity is ADD GENERATED, SET GENERATED (with sequence options) and
// DROP IDENTITY.
func (a *Alteration) columnIdentity(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if c.Kind == ast.AlterColumnAddIdentity {
		return a.addIdentity(ctx, c, col)
	}
	if col.Identity == 0 {
		if c.IfExists {
			a.E.Skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" is not an identity column, skipping", col.Name, a.T.Name)
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is not an identity column", col.Name, a.T.Name)
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
		return a.Put(ctx)
	}
	col.Identity, col.OwnsSequence, col.Default = 0, 0, ""
	if err := a.Put(ctx); err != nil {
		return err
	}
	return dropRelation(ctx, a.E, s, map[catalog.ID]bool{a.T.ID: true})
}

func (a *Alteration) addIdentity(ctx context.Context, c *ast.AlterCmd, col *catalog.Column) error {
	if err := relations.IdentityType(col); err != nil {
		return err
	}
	switch {
	case !col.NotNull:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" must be declared NOT NULL before identity can be added", col.Name, a.T.Name)
	case col.Identity != 0:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is already an identity column", col.Name, a.T.Name)
	case col.Default != "":
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" already has a default value", col.Name, a.T.Name)
	}
	def := &relations.ColumnDef{Col: *col}
	if err := relations.ColumnValue(ctx, a.E, a.T, def, c.Constraint); err != nil {
		return err
	}
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	if err := relations.OwnedSequence(ctx, a.E, a.T, schema, def, col.ID); err != nil {
		return err
	}
	*col = def.Col
	return a.Put(ctx)
}

// family puts a column that was just added into the family that its definition states.
func (a *Alteration) family(def *relations.ColumnDef) error {
	c := def.Family
	if c == nil {
		if def.Col.Virtual || !a.E.FamilyPerColumn || !relations.IsSpread(a.T) || a.T.NextFamilyID >= catalog.MaxFamilies {
			return nil
		}
		c = &ast.ColumnFamily{Create: true}
	}
	a.T.StateFamilies()
	f := a.T.FamilyByName(c.Name)
	switch {
	case c.Name == "":
		f = nil
	case f == nil && !c.Create:
		return pgerr.New(pgerr.UndefinedObject, "family \"%s\" of relation \"%s\" does not exist", c.Name, a.T.Name).At(c.Pos)
	case f != nil && c.Create && !c.IfNotExists:
		return pgerr.New(pgerr.DuplicateObject, "family \"%s\" of relation \"%s\" already exists", c.Name, a.T.Name).At(c.Pos)
	}
	if f == nil {
		var err error
		if f, err = relations.AddFamily(a.T, c.Name, c.Pos); err != nil {
			return err
		}
	}
	relations.Move(a.T, f, def.Col.ID)
	relations.NameFamily(a.T, f)
	a.T.SimplifyFamilies()
	return nil
}

// dropExpression is ALTER COLUMN DROP EXPRESSION: the values stay.
func (a *Alteration) dropExpression(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if col.Generated == "" {
		if c.IfExists {
			a.E.Skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" is not a stored generated column, skipping", col.Name, a.T.Name)
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is not a stored generated column", col.Name, a.T.Name)
	}
	if col.Virtual {
		return pgerr.Unsupported("ALTER TABLE / DROP EXPRESSION is not supported for virtual generated columns").
			WithDetail("Column \"%s\" of relation \"%s\" is a virtual generated column.", col.Name, a.T.Name)
	}
	col.Generated, col.BaseColumns = "", nil
	return a.Put(ctx)
}

// columnOnUpdate is SET ON UPDATE and DROP ON UPDATE.
func (a *Alteration) columnOnUpdate(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.OnUpdate = ""
	if c.Kind == ast.AlterColumnSetOnUpdate {
		if col.Generated != "" || col.Identity != 0 {
			return relations.GeneratedOnUpdate(col, a.T)
		}
		if err := relations.SetOnUpdate(ctx, a.E, col, c.X); err != nil {
			return err
		}
	}
	return a.Put(ctx)
}
