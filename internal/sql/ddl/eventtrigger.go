package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// execEventTrigger runs the statements about event triggers, which the descriptor of the database has.
func execEventTrigger(ctx context.Context, e *statement.Env, stmt ast.Statement) error {
	switch s := stmt.(type) {
	case *ast.CreateEventTrigger:
		return createEventTrigger(ctx, e, s)
	case *ast.AlterEventTrigger:
		return alterEventTrigger(ctx, e, s)
	}
	return pgerr.Unsupported("%s is not supported", stmt.Tag())
}

// changeEventTriggers stores what f makes of the event triggers of the current database.
func changeEventTriggers(ctx context.Context, e *statement.Env, f func(d *catalog.Database) error) error {
	name := e.Coll.CurrentDatabase().Name
	old, err := e.LockDatabaseTo(ctx, name, func(*catalog.Database) error { return nil })
	if err != nil {
		return err
	}
	if old == nil {
		return statement.UndefinedDatabase(name)
	}
	d := *old
	d.EventTriggers = slices.Clone(old.EventTriggers)
	if err := f(&d); err != nil {
		return err
	}
	return e.Coll.Put(ctx, &d)
}

// createEventTrigger is CREATE EVENT TRIGGER, which is for superusers.
func createEventTrigger(ctx context.Context, e *statement.Env, st *ast.CreateEventTrigger) error {
	if !e.Coll.Me().Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create event trigger \"%s\"", st.Name).
			WithHint("Must be superuser to create an event trigger.")
	}
	switch st.Event {
	case catalog.EventStart, catalog.EventEnd, catalog.EventDrop, catalog.EventRewrite:
	default:
		return pgerr.New(pgerr.SyntaxError, "unrecognized event name \"%s\"", st.Event)
	}
	tags, err := eventTags(st)
	if err != nil {
		return err
	}
	return changeEventTriggers(ctx, e, func(d *catalog.Database) error {
		if d.EventTriggerNamed(st.Name) >= 0 {
			return pgerr.New(pgerr.DuplicateObject, "event trigger \"%s\" already exists", st.Name)
		}
		found, err := e.Coll.FindRoutines(ctx, st.Func.Schema, st.Func.Table)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(found, func(t *catalog.Table) bool { return !t.Routine.Procedure && len(t.Routine.Inputs()) == 0 })
		if i < 0 {
			return pgerr.New(pgerr.UndefinedFunction, "function %s() does not exist", st.Func.String())
		}
		if found[i].Routine.Returns.Oid != types.EventTrigger.Oid {
			return pgerr.New(pgerr.InvalidObjectDefinition, "function %s must return type %s", st.Func.Table, "event_trigger")
		}
		oid, err := e.Coll.NewOid(ctx)
		d.EventTriggers = append(d.EventTriggers, catalog.EventTrigger{
			Oid: oid, Name: st.Name, Event: st.Event, Tags: tags, Function: found[i].ID, Owner: e.User, Enabled: catalog.TriggerOrigin,
		})
		return err
	})
}

// eventTags are the tags of the statements for which an event trigger is to fire.
func eventTags(st *ast.CreateEventTrigger) ([]string, error) {
	var tags []string
	for i, f := range st.Filters {
		if f.Name != "tag" {
			return nil, pgerr.New(pgerr.SyntaxError, "unrecognized filter variable \"%s\"", f.Name)
		}
		if i > 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "filter variable \"%s\" specified more than once", f.Name)
		}
		for _, v := range f.Values {
			tag := strings.ToUpper(v)
			switch {
			case st.Event == catalog.EventRewrite && rewriteTags[tag], st.Event != catalog.EventRewrite && ast.FiresEvents(tag):
			case !ast.KnownTag(tag):
				return nil, pgerr.New(pgerr.SyntaxError, "filter value \"%s\" not recognized for filter variable \"%s\"", v, f.Name)
			default:
				return nil, pgerr.Unsupported("event triggers are not supported for %s", v)
			}
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

// rewriteTags are those of the statements that may write all rows of a table anew.
var rewriteTags = map[string]bool{"ALTER MATERIALIZED VIEW": true, "ALTER TABLE": true, "ALTER TYPE": true}

func undefinedEventTrigger(name ast.Name) error {
	return pgerr.New(pgerr.UndefinedObject, "event trigger \"%s\" does not exist", name)
}

// changeEventTrigger stores what f makes of an event trigger that the user owns.
func changeEventTrigger(ctx context.Context, e *statement.Env, name ast.Name, f func(d *catalog.Database, g *catalog.EventTrigger) error) error {
	return changeEventTriggers(ctx, e, func(d *catalog.Database) error {
		i := d.EventTriggerNamed(name)
		if i < 0 {
			return undefinedEventTrigger(name)
		}
		if !e.Coll.Me().Has(d.EventTriggers[i].Owner.Role()) {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of event trigger %s", name)
		}
		return f(d, &d.EventTriggers[i])
	})
}

func alterEventTrigger(ctx context.Context, e *statement.Env, st *ast.AlterEventTrigger) error {
	return changeEventTrigger(ctx, e, st.Name, func(d *catalog.Database, g *catalog.EventTrigger) error {
		switch {
		case st.Enabled != 0:
			g.Enabled = st.Enabled
		case st.NewName != "":
			if d.EventTriggerNamed(st.NewName) >= 0 {
				return pgerr.New(pgerr.DuplicateObject, "event trigger \"%s\" already exists", st.NewName)
			}
			g.Name = st.NewName
		case st.Owner != nil:
			to, err := e.Role(st.Owner)
			if err != nil {
				return err
			}
			if r := e.Coll.RoleByOid(to.Role()); r == nil || !e.Coll.Authority(to.Role()).Super {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to change owner of event trigger \"%s\"", g.Name).
					WithHint("The owner of an event trigger must be a superuser.")
			}
			g.Owner = to
		}
		return nil
	})
}

// dropEventTriggers is DROP EVENT TRIGGER.
func dropEventTriggers(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	for _, n := range st.Names {
		if st.IfExists && e.Coll.CurrentDatabase().EventTriggerNamed(n.Table) < 0 {
			e.Skip(pgerr.SuccessfulCompletion, "event trigger \"%s\" does not exist, skipping", n.Table)
			continue
		}
		err := changeEventTrigger(ctx, e, n.Table, func(d *catalog.Database, _ *catalog.EventTrigger) error {
			i := d.EventTriggerNamed(n.Table)
			d.EventTriggers = slices.Delete(d.EventTriggers, i, i+1)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// commentEventTrigger is COMMENT ON EVENT TRIGGER.
func commentEventTrigger(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	return changeEventTrigger(ctx, e, st.Name[0], func(_ *catalog.Database, g *catalog.EventTrigger) error {
		g.Comment = st.Text
		return nil
	})
}
