package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// maxTriggers bounds the triggers of a relation.
const maxTriggers = 10000

// createTrigger is CREATE TRIGGER.
func createTrigger(ctx context.Context, e *statement.Env, st *ast.CreateTrigger) error {
	if err := triggerSyntax(st); err != nil {
		return err
	}
	t, index, err := e.LockRelationTo(ctx, st.Table, func(t *catalog.Table) error { return mayHaveTrigger(e, st, t) })
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.UndefinedRelation(ctx, st.Table)
	case index:
		return noTriggers(st.Table.Table, "indexes")
	}
	t = t.Clone()
	g := &catalog.Trigger{
		Name: st.Name, Timing: st.Timing, Events: st.Events, Row: st.Row, Args: st.Args, Enabled: catalog.TriggerOrigin,
		Deferrable: st.Attrs.Deferrable || st.Attrs.InitiallyDeferred, Deferred: st.Attrs.InitiallyDeferred,
	}
	if st.From != nil {
		if err := triggerFrom(ctx, e, st, g); err != nil {
			return err
		}
	}
	if err := transitions(st, t, g); err != nil {
		return err
	}
	if st.When != nil {
		if err := storedtext.TriggerCondition(ctx, e, t, g, st.When); err != nil {
			return err
		}
	}
	if err := triggerFunction(ctx, e, st, g); err != nil {
		return err
	}
	if err := triggerColumns(t, st.Of, g); err != nil {
		return err
	}
	return putTrigger(ctx, e, st, t, g)
}

// triggerSyntax refuses what the grammar of PostgreSQL refuses beside its rules.
func triggerSyntax(st *ast.CreateTrigger) error {
	switch {
	case st.Constraint && st.OrReplace:
		return pgerr.Unsupported("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported").At(st.Pos)
	case st.Attrs.NotValid:
		return pgerr.Unsupported("TRIGGER constraints cannot be marked NOT VALID")
	case st.Attrs.NoInherit:
		return pgerr.Unsupported("TRIGGER constraints cannot be marked NO INHERIT")
	}
	return nil
}

// noTriggers is 42809 for relations of a kind that has no triggers.
func noTriggers(name, kind string) error {
	return pgerr.New(pgerr.WrongObjectType, "relation \"%s\" cannot have triggers", name).
		WithDetail("This operation is not supported for %s.", kind)
}

// mayHaveTrigger returns an error unless a relation may have a trigger of the kind, and the user may make it.
func mayHaveTrigger(e *statement.Env, st *ast.CreateTrigger, t *catalog.Table) error {
	wrong := func(kind, detail string) error {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is a %s", t.Name, kind).WithDetail("%s", detail)
	}
	switch {
	case t.Materialized():
		return noTriggers(t.Name, "materialized views")
	case t.Kind == catalog.KindSequence:
		return noTriggers(t.Name, "sequences")
	case t.Kind == catalog.KindTable && st.Timing == ast.TriggerInstead:
		return wrong("table", "Tables cannot have INSTEAD OF triggers.")
	case t.Kind == catalog.KindView && st.Timing != ast.TriggerInstead && st.Row:
		return wrong("view", "Views cannot have row-level BEFORE or AFTER triggers.")
	case t.Kind == catalog.KindView && st.Events&ast.OnTruncate != 0:
		return wrong("view", "Views cannot have TRUNCATE triggers.")
	case t.Kind != catalog.KindTable && t.Kind != catalog.KindView:
		return noTriggers(t.Name, "composite types")
	}
	if err := e.Has(privilege.Trigger)(t); err != nil {
		return err
	}
	switch {
	case st.Events&ast.OnTruncate != 0 && st.Row:
		return pgerr.Unsupported("TRUNCATE FOR EACH ROW triggers are not supported")
	case st.Timing != ast.TriggerInstead:
		return nil
	case !st.Row:
		return pgerr.Unsupported("INSTEAD OF triggers must be FOR EACH ROW")
	case st.When != nil:
		return pgerr.Unsupported("INSTEAD OF triggers cannot have WHEN conditions")
	case st.Of != nil:
		return pgerr.Unsupported("INSTEAD OF triggers cannot have column lists")
	}
	return nil
}

// triggerFrom finds the other table of a constraint trigger.
func triggerFrom(ctx context.Context, e *statement.Env, st *ast.CreateTrigger, g *catalog.Trigger) error {
	from, _, err := e.Relation(ctx, *st.From)
	if err != nil {
		return err
	}
	if from == nil {
		return e.UndefinedRelation(ctx, *st.From)
	}
	g.From = from.ID
	return nil
}

// transitions sets the names of the transition tables.
func transitions(st *ast.CreateTrigger, t *catalog.Table, g *catalog.Trigger) error {
	for i := range st.Transitions {
		x := &st.Transitions[i]
		if err := mayHaveTransition(st, t, x); err != nil {
			return err
		}
		name, word := &g.OldTable, "OLD"
		if x.New {
			name, word = &g.NewTable, "NEW"
		}
		if *name != "" {
			return pgerr.New(pgerr.InvalidObjectDefinition, "%s TABLE cannot be specified multiple times", word)
		}
		*name = x.Name
	}
	if g.OldTable != "" && g.OldTable == g.NewTable {
		return pgerr.New(pgerr.InvalidObjectDefinition, "OLD TABLE name and NEW TABLE name cannot be the same")
	}
	return nil
}

func mayHaveTransition(st *ast.CreateTrigger, t *catalog.Table, x *ast.Transition) error {
	single := st.Events&(st.Events-1) == 0
	switch {
	case x.Row:
		return pgerr.Unsupported("ROW variable naming in the REFERENCING clause is not supported").
			WithHint("Use OLD TABLE or NEW TABLE for naming transition tables.")
	case t.Kind == catalog.KindView:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is a view", t.Name).WithDetail("Triggers on views cannot have transition tables.")
	case st.Timing != ast.TriggerAfter:
		return pgerr.New(pgerr.InvalidObjectDefinition, "transition table name can only be specified for an AFTER trigger")
	case st.Events&ast.OnTruncate != 0:
		return pgerr.Unsupported("TRUNCATE triggers with transition tables are not supported")
	case !single:
		return pgerr.Unsupported("transition tables cannot be specified for triggers with more than one event")
	case st.Of != nil:
		return pgerr.Unsupported("transition tables cannot be specified for triggers with column lists")
	case x.New && st.Events&(ast.OnInsert|ast.OnUpdate) == 0:
		return pgerr.New(pgerr.InvalidObjectDefinition, "NEW TABLE can only be specified for an INSERT or UPDATE trigger")
	case !x.New && st.Events&(ast.OnDelete|ast.OnUpdate) == 0:
		return pgerr.New(pgerr.InvalidObjectDefinition, "OLD TABLE can only be specified for a DELETE or UPDATE trigger")
	}
	return nil
}

// triggerFunction finds the function of a trigger, which the user must be allowed to call.
func triggerFunction(ctx context.Context, e *statement.Env, st *ast.CreateTrigger, g *catalog.Trigger) error {
	found, err := e.Coll.FindRoutines(ctx, st.Func.Schema, st.Func.Table)
	if err != nil {
		return err
	}
	name := strings.Join(st.Func.Parts(), ".")
	i := slices.IndexFunc(found, func(t *catalog.Table) bool { return !t.Routine.Procedure && len(t.Routine.Inputs()) == 0 })
	if i < 0 {
		switch st.Func.Table {
		case "suppress_redundant_updates_trigger", "tsvector_update_trigger", "tsvector_update_trigger_column":
			return pgerr.Unsupported("function %s() is not supported", name).WithHint("Write a function of triggers that does the same.")
		}
		return pgerr.New(pgerr.UndefinedFunction, "function %s() does not exist", name)
	}
	fn := found[i]
	if has, _ := access.OnTable(e.Coll.Me(), fn, privilege.Execute); has == 0 {
		return access.Denied("function", fn.Name)
	}
	if !fn.Routine.Trigger() {
		return pgerr.New(pgerr.InvalidObjectDefinition, "function %s must return type trigger", name)
	}
	g.Function = fn.ID
	return nil
}

// triggerColumns finds the columns of UPDATE OF.
func triggerColumns(t *catalog.Table, names []ast.Name, g *catalog.Trigger) error {
	for _, name := range names {
		ord, ok := relations.VisibleColumn(t, name)
		if !ok {
			return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, t.Name)
		}
		if slices.Contains(g.Columns, t.Columns[ord].ID) {
			return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", name)
		}
		g.Columns = append(g.Columns, t.Columns[ord].ID)
	}
	return nil
}

// putTrigger adds a trigger to t, or puts it in the place of one of its name.
func putTrigger(ctx context.Context, e *statement.Env, st *ast.CreateTrigger, t *catalog.Table, g *catalog.Trigger) error {
	var err error
	i := t.TriggerByName(g.Name)
	switch {
	case i >= 0 && !st.OrReplace:
		return duplicateTrigger(t, g.Name)
	case i >= 0 && t.Triggers[i].ConstraintOid != 0:
		return pgerr.New(pgerr.DuplicateObject, "trigger \"%s\" for relation \"%s\" is a constraint trigger", g.Name, t.Name)
	case i >= 0:
		if e.PendingTriggers != nil && e.PendingTriggers(t) {
			return pgerr.New(pgerr.ObjectInUse, "cannot CREATE OR REPLACE TRIGGER \"%s\" because it has pending trigger events", t.Name)
		}
		g.Oid, g.Comment = t.Triggers[i].Oid, t.Triggers[i].Comment
		t.Triggers[i] = *g
		return e.Coll.Put(ctx, t)
	case len(t.Triggers) >= maxTriggers:
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many triggers on relation \"%s\" (limit %d)", t.Name, maxTriggers)
	}
	if st.Constraint {
		if relations.ConstraintExists(t, g.Name) {
			return relations.DuplicateConstraint(t, g.Name)
		}
		if g.ConstraintOid, err = e.Coll.NewOid(ctx); err != nil {
			return err
		}
	}
	if g.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.Triggers = append(t.Triggers, *g)
	return e.Coll.Put(ctx, t)
}

func duplicateTrigger(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateObject, "trigger \"%s\" for relation \"%s\" already exists", name, t.Name)
}

// lockTriggered locks the relation that a trigger is on; nil, with IF EXISTS and a notice, if there is none.
func lockTriggered(ctx context.Context, e *statement.Env, n ast.TableName) (*catalog.Table, error) {
	t, _, err := e.LockRelation(ctx, n)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, e.UndefinedRelation(ctx, n)
	}
	return t.Clone(), nil
}

// dropTrigger is DROP TRIGGER.
func dropTrigger(ctx context.Context, e *statement.Env, st *ast.DropTrigger) error {
	t, err := lockTriggered(ctx, e, st.Table)
	if err != nil {
		code := pgerr.CodeOf(err)
		if st.IfExists && (code == pgerr.UndefinedTable || code == pgerr.InvalidSchemaName) {
			what, name := "relation", st.Table.Table
			if code == pgerr.InvalidSchemaName {
				what, name = "schema", st.Table.Schema
			}
			e.Skip(pgerr.SuccessfulCompletion, "%s \"%s\" does not exist, skipping", what, name)
			return nil
		}
		return err
	}
	i := t.TriggerByName(st.Name)
	if i < 0 && st.IfExists {
		e.Skip(pgerr.SuccessfulCompletion, "trigger \"%s\" for relation \"%s\" does not exist, skipping", st.Name, t.Name)
		return nil
	}
	if i < 0 {
		return alter.UndefinedTrigger(t, st.Name)
	}
	if err := e.CheckUnused(t, "DROP TRIGGER"); err != nil {
		return err
	}
	t.Triggers = slices.Delete(t.Triggers, i, i+1)
	return e.Coll.Put(ctx, t)
}

// alterTrigger is ALTER TRIGGER.
func alterTrigger(ctx context.Context, e *statement.Env, st *ast.AlterTriggerStmt) error {
	if st.Extension != "" {
		return pgerr.Unsupported("ALTER TRIGGER DEPENDS ON EXTENSION is not supported").At(st.Pos)
	}
	t, err := lockTriggered(ctx, e, st.Table)
	if err != nil {
		return err
	}
	i := t.TriggerByName(st.Name)
	if i < 0 {
		return alter.UndefinedTrigger(t, st.Name)
	}
	if t.TriggerByName(st.NewName) >= 0 {
		return duplicateTrigger(t, st.NewName)
	}
	t.Triggers[i].Name = st.NewName
	return e.Coll.Put(ctx, t)
}

// commentTrigger is COMMENT ON TRIGGER.
func commentTrigger(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	return changeRelation(ctx, e, qualified(st.On, st.Loc), func(t *catalog.Table, _ bool) error {
		i := t.TriggerByName(st.Name[0])
		if i < 0 {
			return alter.UndefinedTrigger(t, st.Name[0])
		}
		t.Triggers[i].Comment = st.Text
		return nil
	})
}
