package alter

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// UndefinedTrigger is 42704 for a trigger that t has not.
func UndefinedTrigger(t *catalog.Table, name ast.Name) error {
	return pgerr.New(pgerr.UndefinedObject, "trigger \"%s\" for table \"%s\" does not exist", name, t.Name)
}

// triggerStates are the values of Trigger.Enabled by what ALTER TABLE says.
var triggerStates = map[ast.Name]byte{
	"enable": catalog.TriggerOrigin, "enable replica": catalog.TriggerReplica, "enable always": catalog.TriggerAlways, "disable": catalog.TriggerDisabled,
}

// switchTriggers is ENABLE and DISABLE TRIGGER. USER stands for all triggers, ALL also for what keeps the foreign keys of
// this table and the keys that refer to it.
func (a *Alteration) switchTriggers(ctx context.Context, c *ast.AlterCmd) error {
	state := triggerStates[c.NewName]
	if !c.No {
		i := a.T.TriggerByName(c.Name)
		if i < 0 {
			return UndefinedTrigger(a.T, c.Name)
		}
		a.T.Triggers[i].Enabled = state
		return a.Put(ctx)
	}
	for i := range a.T.Triggers {
		a.T.Triggers[i].Enabled = state
	}
	if c.Name == "user" {
		return a.Put(ctx)
	}
	off := state == catalog.TriggerDisabled
	for i := range a.T.ForeignKeys {
		a.T.ForeignKeys[i].Unchecked = off
	}
	for i := range a.T.References {
		a.T.References[i].Ignored = off
	}
	return a.Put(ctx)
}

// triggerAction names a command in errors.
func triggerAction(c *ast.AlterCmd) string {
	action := strings.ToUpper(c.NewName) + " TRIGGER"
	if c.No {
		action += " " + strings.ToUpper(c.Name)
	}
	return action
}

// describeTrigger names a trigger in details.
func describeTrigger(ctx context.Context, e *statement.Env, t *catalog.Table, g *catalog.Trigger) string {
	return "trigger " + ast.QuoteIdent(g.Name) + " on " + e.Describe(ctx, t)
}

// droppedTrigger is a trigger that goes with its function.
type droppedTrigger struct {
	table catalog.ID
	oid   uint32
	text  string
	on    string
}

// triggersOf notes the triggers that call the routine t, which is dropped.
func (d *dropper) triggersOf(ctx context.Context, t *catalog.Table, on string) {
	for _, o := range d.all {
		for i := range o.Triggers {
			if g := &o.Triggers[i]; g.Function == t.ID {
				d.triggers = append(d.triggers, droppedTrigger{o.ID, g.Oid, describeTrigger(ctx, d.e, o, g), on})
			}
		}
	}
}

func (d *dropper) dropTrigger(ctx context.Context, x droppedTrigger) error {
	if d.in[x.table] {
		return nil
	}
	t, err := d.e.LockByID(ctx, x.table)
	if err != nil {
		return err
	}
	t.Triggers = slices.DeleteFunc(t.Triggers, func(g catalog.Trigger) bool { return g.Oid == x.oid })
	return d.e.Coll.Put(ctx, t)
}

// dropTriggersOf drops, with CASCADE, the triggers that are about a column.
func (a *Alteration) dropTriggersOf(ctx context.Context, id catalog.ColumnID, cascade bool) error {
	reads := func(g catalog.Trigger) bool {
		return slices.Contains(g.Columns, id) || slices.Contains(g.WhenColumns, id)
	}
	on := "column " + a.T.Columns[a.T.ColumnByID(id)].Name + " of " + a.E.Describe(ctx, a.T)
	var names []string
	for i := range a.T.Triggers {
		if reads(a.T.Triggers[i]) {
			names = append(names, describeTrigger(ctx, a.E, a.T, &a.T.Triggers[i]))
		}
	}
	if len(names) == 0 {
		return nil
	}
	if !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", on).
			WithDetail("%s", strings.Join(names, " depends on "+on+"\n")+" depends on "+on).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	a.E.CascadeNotice(names)
	a.T.Triggers = slices.DeleteFunc(a.T.Triggers, reads)
	return nil
}

// untriggeredColumn refuses to change the type of a column that a trigger is about.
func (a *Alteration) untriggeredColumn(c *catalog.Column) error {
	for i := range a.T.Triggers {
		g := &a.T.Triggers[i]
		if slices.Contains(g.Columns, c.ID) || slices.Contains(g.WhenColumns, c.ID) {
			return pgerr.Unsupported("cannot alter type of a column used in a trigger definition").
				WithDetail("trigger %s on table %s depends on column \"%s\"", g.Name, a.T.Name, c.Name)
		}
	}
	return nil
}
