package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// AlterTable is ALTER TABLE, INDEX, VIEW and SEQUENCE. What reads or writes all rows does so beside those who use the table,
// if the commands allow that.
func AlterTable(ctx context.Context, e *statement.Env, st *ast.AlterTable) error {
	st, err := withExpiry(ctx, e, st)
	if err != nil {
		return err
	}
	e, done := e.Beside(besideUsers(st))
	defer done(ctx)
	if err := tellRewrite(ctx, e, st); err != nil {
		return err
	}
	if err := alterTable(ctx, e, st); err != nil {
		return err
	}
	if err := checkExpiry(ctx, e, st); err != nil {
		return err
	}
	return e.Settle(ctx)
}

// alterTable runs the commands. Where there are several, what the catalog has against any of them comes before what
// rows have: see examine.
func alterTable(ctx context.Context, e *statement.Env, st *ast.AlterTable) error {
	t, index, err := e.LockRelation(ctx, st.Name)
	if err != nil {
		return err
	}
	if t == nil {
		if !st.IfExists {
			return e.UndefinedRelation(ctx, st.Name)
		}
		e.Skip(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Name.Table)
		return nil
	}
	if err := checkAlterKind(st, t, index); err != nil {
		return err
	}
	if !index && !renames(st.Cmds) && st.Cmds[0].Kind != ast.AlterSetSchema {
		if err := e.CheckUnused(t, "ALTER TABLE"); err != nil {
			return err
		}
	}
	run := *e
	e, run.Unplaced = &run, true
	if err := prepareTypes(ctx, e, st, t, index); err != nil {
		return err
	}
	if len(st.Cmds) == 1 {
		return runCommands(ctx, e, st, t, index)
	}
	if !renames(st.Cmds) {
		apart := *st
		apart.Cmds = constraintsApart(st.Cmds)
		st = &apart
	}
	if rewrites(st.Cmds) {
		if err := examine(ctx, e, st, t, index); err != nil {
			return err
		}
	}
	return runVerifyingLast(ctx, e, st, t, index)
}

// runCommands runs the commands one after the other, by phases, each on what the one before
// left; but changes of types are one command, which computes all values of the rows that the
// statement found.
func runCommands(ctx context.Context, e *statement.Env, st *ast.AlterTable, found *catalog.Table, index bool) error {
	return runPhases(ctx, e, st, found, index, inPhases(st.Cmds))
}

func runPhases(ctx context.Context, e *statement.Env, st *ast.AlterTable, found *catalog.Table, index bool, phases [][]*ast.AlterCmd) error {
	before := phaseDrop
	for i, cmds := range phases {
		if i > 0 {
			e.NextCommand()
		}
		t, err := e.Coll.TableByID(ctx, found.ID)
		if err != nil {
			return err
		}
		a := &Alteration{E: e, found: found, Old: t, T: t.Clone(), index: index, name: st.Name.Table, kind: st.Kind, types: cmds}
		if err := a.checkKeys(st.Cmds, before, phaseOf(cmds[0])); err != nil {
			return err
		}
		before = max(before, phaseOf(cmds[0]))
		start, changes := e.Txn.StatementStart(), e.Coll.Savepoint()
		err = a.command(ctx, cmds[0])
		switch {
		case err == nil:
		case i+1 < len(phases) && nullsInPrimaryKey(err, cmds[0]):
			return orOnTrial(ctx, e, err, start, changes, func(trial *statement.Env) error {
				return runPhases(ctx, trial, st, found, index, phases[i:])
			})
		default:
			return err
		}
	}
	return nil
}

// nullsInPrimaryKey reports whether ADD PRIMARY KEY failed as there are NULLs, for which PostgreSQL
// looks only when all commands have changed the catalog.
func nullsInPrimaryKey(err error, c *ast.AlterCmd) bool {
	primary := c.Kind == ast.AlterAddConstraint && c.Constraint.Kind == ast.ConstrPrimaryKey
	return primary && pgerr.CodeOf(err) == pgerr.NotNullViolation
}

// orOnTrial undoes what a command did that failed with an error, and returns what the catalog has
// against the command and those after it, or else that error.
func orOnTrial(ctx context.Context, e *statement.Env, failed error, start kv.Savepoint, changes catalog.Savepoint, run func(*statement.Env) error) error {
	if err := undo(ctx, e, start, changes); err != nil {
		return err
	}
	if err := run(onTrial(e)); err != nil {
		return err
	}
	return failed
}

// checkAlterKind verifies that the object is what ALTER names. As in PostgreSQL,
// ALTER TABLE serves for all kinds.
func checkAlterKind(st *ast.AlterTable, t *catalog.Table, index bool) error {
	ok, what := true, ""
	switch st.Kind {
	case ast.ObjView:
		ok, what = t.Kind == catalog.KindView || st.Cmds[0].Kind == ast.AlterRenameColumn, "a view"
	case ast.ObjSequence:
		ok, what = t.Kind == catalog.KindSequence, "a sequence"
	case ast.ObjIndex:
		ok, what = index || st.Cmds[0].Kind == ast.AlterRename && !t.IsComposite(), "an index"
	case ast.ObjMaterializedView:
		ok, what = t.Materialized(), "a materialized view"
	}
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not %s", st.Name.Table, what)
	}
	if t.IsComposite() {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is a composite type", st.Name.Table).WithHint("Use ALTER TYPE instead.")
	}
	return nil
}

// Alteration is one command of ALTER on a relation.
type Alteration struct {
	E     *statement.Env
	found *catalog.Table  // before the first command of the statement
	Old   *catalog.Table  // before this one
	T     *catalog.Table  // the changed form
	types []*ast.AlterCmd // the changes of types of the statement, if this is one
	index bool            // name is that of an index of t
	name  string
	kind  ast.ObjectKind
}

// command runs one command.
func (a *Alteration) command(ctx context.Context, c *ast.AlterCmd) error {
	switch c.Kind {
	case ast.AlterRename:
		return a.rename(ctx, c)
	case ast.AlterOwner:
		return a.setOwner(ctx, &c.Role)
	}
	isView := a.T.Kind == catalog.KindView
	if isView && (c.Kind == ast.AlterSetParams || c.Kind == ast.AlterResetParams) {
		return a.viewParams(ctx, c)
	}
	if c.Kind == ast.AlterSetParams || c.Kind == ast.AlterResetParams {
		return a.storageParams(ctx, c)
	}
	if n, ok := noEffectCommands[c.Kind]; ok {
		if err := a.checkNamed(c); err != nil {
			return err
		}
		a.E.Ignore(n)
		return nil
	}
	if c.Kind == ast.AlterSetTablespace && a.T.Kind == catalog.KindTable {
		return a.setTablespace(ctx, c)
	}
	if a.index {
		return pgerr.New(pgerr.WrongObjectType, "ALTER action is not supported for index \"%s\"", a.name).At(c.Pos)
	}
	if c.Kind == ast.AlterSetSchema {
		return a.setSchema(ctx, c)
	}
	if isView && c.Kind == ast.AlterRenameColumn {
		return a.renameViewColumn(ctx, c)
	}
	if isView && (c.Kind == ast.AlterColumnSetDefault || c.Kind == ast.AlterColumnDropDefault) {
		return a.viewDefault(ctx, c)
	}
	if a.T.Kind != catalog.KindTable || a.T.Materialized() && c.Kind != ast.AlterRenameColumn {
		return a.wrongKind(c)
	}
	return a.tableCommand(ctx, c)
}

// wrongKind refuses a command that is for tables only.
func (a *Alteration) wrongKind(c *ast.AlterCmd) error {
	action, kinds := "ALTER action", "this kind of relation"
	if name := alterActions[c.Kind]; name != "" {
		action += " " + name
	} else if c.Kind == ast.AlterTrigger {
		action += " " + triggerAction(c)
	}
	switch {
	case a.T.Materialized():
		kinds = "materialized views"
	case a.T.Kind == catalog.KindView:
		kinds = "views"
	case a.T.Kind == catalog.KindSequence:
		kinds = "sequences"
	}
	return pgerr.New(pgerr.WrongObjectType, "%s cannot be performed on relation \"%s\"", action, a.T.Name).
		WithDetail("This operation is not supported for %s.", kinds)
}

// alterActions names commands in errors.
var alterActions = map[ast.AlterKind]string{
	ast.AlterAddColumn: "ADD COLUMN", ast.AlterDropColumn: "DROP COLUMN", ast.AlterColumnType: "ALTER COLUMN ... SET DATA TYPE",
	ast.AlterColumnSetDefault: "ALTER COLUMN ... SET DEFAULT", ast.AlterColumnDropDefault: "ALTER COLUMN ... DROP DEFAULT",
	ast.AlterColumnSetNotNull: "ALTER COLUMN ... SET NOT NULL", ast.AlterColumnDropNotNull: "ALTER COLUMN ... DROP NOT NULL",
	ast.AlterColumnDropExpr: "ALTER COLUMN ... DROP EXPRESSION", ast.AlterColumnAddIdentity: "ALTER COLUMN ... ADD IDENTITY",
	ast.AlterColumnSetIdentity: "ALTER COLUMN ... SET", ast.AlterColumnDropIdentity: "ALTER COLUMN ... DROP IDENTITY",
	ast.AlterAddConstraint: "ADD CONSTRAINT", ast.AlterAlterConstraint: "ALTER CONSTRAINT",
	ast.AlterValidateConstraint: "VALIDATE CONSTRAINT", ast.AlterDropConstraint: "DROP CONSTRAINT",
	ast.AlterSetParams: "SET", ast.AlterResetParams: "RESET",
}

// noEffectCommands are accepted without effect.
var noEffectCommands = map[ast.AlterKind]noeffect.Feature{
	ast.AlterColumnStatistics: noeffect.Statistics, ast.AlterColumnSetParams: noeffect.Statistics, ast.AlterColumnResetParams: noeffect.Statistics,
	ast.AlterColumnStorage: noeffect.ColumnStorage, ast.AlterColumnCompression: noeffect.ColumnStorage,
	ast.AlterClusterOn:         noeffect.Cluster,
	ast.AlterSetWithoutCluster: noeffect.Cluster, ast.AlterSetWithoutOids: noeffect.Oids, ast.AlterSetLogged: noeffect.Unlogged,
	ast.AlterSetUnlogged: noeffect.Unlogged, ast.AlterReplicaIdentity: noeffect.ReplicaIdentity,
}

// checkNamed checks that what a command without effect names is there.
func (a *Alteration) checkNamed(c *ast.AlterCmd) error {
	switch c.Kind {
	case ast.AlterColumnStatistics, ast.AlterColumnSetParams, ast.AlterColumnResetParams, ast.AlterColumnStorage, ast.AlterColumnCompression:
		return a.checkColumnOption(c)
	case ast.AlterClusterOn, ast.AlterReplicaIdentity:
		if c.Name != "" && a.T.IndexByName(c.Name) == nil {
			return pgerr.New(pgerr.UndefinedObject, "index \"%s\" for table \"%s\" does not exist", c.Name, a.T.Name)
		}
	}
	return nil
}

// tableCommand runs a command that only tables have.
func (a *Alteration) tableCommand(ctx context.Context, c *ast.AlterCmd) error {
	switch c.Kind {
	case ast.AlterAddColumn:
		return a.addColumn(ctx, c)
	case ast.AlterDropColumn:
		return a.dropColumn(ctx, c)
	case ast.AlterColumnType:
		return a.columnTypes(ctx)
	case ast.AlterColumnSetDefault, ast.AlterColumnDropDefault:
		return a.columnDefault(ctx, c)
	case ast.AlterColumnSetOnUpdate, ast.AlterColumnDropOnUpdate:
		return a.columnOnUpdate(ctx, c)
	case ast.AlterColumnSetNotNull, ast.AlterColumnDropNotNull:
		return a.columnNotNull(ctx, c)
	case ast.AlterColumnSetVisible, ast.AlterColumnSetNotVisible:
		return a.columnVisible(ctx, c)
	case ast.AlterColumnAddIdentity, ast.AlterColumnSetIdentity, ast.AlterColumnDropIdentity:
		return a.columnIdentity(ctx, c)
	case ast.AlterColumnDropExpr:
		return a.dropExpression(ctx, c)
	case ast.AlterRenameColumn:
		return a.renameColumn(ctx, c)
	case ast.AlterAddConstraint:
		return a.addConstraint(ctx, relations.PendingConstraint{Constraint: c.Constraint, Column: c.Name})
	case ast.AlterDropConstraint:
		return a.dropConstraint(ctx, c)
	case ast.AlterRenameConstraint:
		return a.renameConstraint(ctx, c)
	case ast.AlterAlterConstraint:
		return a.alterConstraint(ctx, c)
	case ast.AlterValidateConstraint:
		return a.validateConstraint(ctx, c)
	case ast.AlterPrimaryKey:
		return a.changePrimaryKey(ctx, c)
	case ast.AlterSetAccessMethod:
		return relations.CheckTableMethod(c.NewName)
	case ast.AlterTrigger:
		return a.switchTriggers(ctx, c)
	case ast.AlterRowSecurity:
		return a.switchRowSecurity(ctx, c)
	case ast.AlterRule:
		return pgerr.New(pgerr.UndefinedObject, "rule \"%s\" for relation \"%s\" does not exist", c.Name, a.T.Name)
	}
	return pgerr.Unsupported("this ALTER TABLE command is not supported").At(c.Pos)
}

// Put stores the changed form of the relation.
func (a *Alteration) Put(ctx context.Context) error { return PutRelation(ctx, a.E, a.T) }

// column finds a column by name.
func (a *Alteration) column(name string) (*catalog.Column, error) {
	ord, ok := relations.VisibleColumn(a.T, name)
	if !ok {
		return nil, a.T.UndefinedColumn(name)
	}
	return &a.T.Columns[ord], nil
}

func (a *Alteration) undefinedConstraint(c *ast.AlterCmd) error {
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of relation \"%s\" does not exist", c.Name, a.T.Name)
}

// renewPrimary gives the rows a new home: a fresh id for the primary index. The
// old one is cleared after the commit.
func (a *Alteration) renewPrimary(ctx context.Context) error {
	return a.RenewAlike(ctx, 0)
}

// RenewAlike gives index i a fresh id and, as its keys stay what they are, the
// boundaries that were made in the old one.
func (a *Alteration) RenewAlike(ctx context.Context, i int) error {
	id, err := relations.TakeIndexID(ctx, a.E, a.T)
	if err != nil {
		return err
	}
	return a.MoveAlike(ctx, i, id)
}

// MoveAlike gives index i an id that was taken for it, as RenewAlike does.
func (a *Alteration) MoveAlike(ctx context.Context, i int, id catalog.IndexID) error {
	old := a.T.Indexes[i].ID
	err := a.moveIndex(ctx, i, id)
	zoneconfig.CopySplits(a.E, a.T, old, id)
	return err
}

// renewIndex gives index i a fresh id; the caller fills it.
func (a *Alteration) renewIndex(ctx context.Context, i int) error {
	id, err := relations.TakeIndexID(ctx, a.E, a.T)
	if err != nil {
		return err
	}
	return a.moveIndex(ctx, i, id)
}

func (a *Alteration) moveIndex(ctx context.Context, i int, id catalog.IndexID) error {
	old := a.T.Indexes[i].ID
	if err := clearIndex(ctx, a.E, a.T, old); err != nil {
		return err
	}
	a.T.Indexes[i].ID = id
	if i == 0 {
		a.T.RowsRewritten()
	}
	return zoneconfig.MoveZone(ctx, a.E, a.T, old, a.T.Indexes[i].ID)
}

// renewSecondary gives all secondary indexes fresh ids: their entries end with
// the primary key, which changes. It returns the positions of all indexes.
func (a *Alteration) renewSecondary(ctx context.Context) ([]int, error) {
	all := []int{0}
	for i := 1; i < len(a.T.Indexes); i++ {
		if err := a.RenewAlike(ctx, i); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

// schemaName returns the name of the table's schema.
func (a *Alteration) schemaName(ctx context.Context) (string, error) {
	s, err := a.E.Coll.SchemaByID(ctx, a.T.Schema)
	if err != nil {
		return "", err
	}
	return s.Name, nil
}
