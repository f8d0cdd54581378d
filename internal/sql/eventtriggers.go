package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddlevents"
)

// eventFiring fires the event triggers of the database for a statement that changes its catalog.
type eventFiring struct {
	x      *execution
	stmt   ast.Statement
	tag    string
	before catalog.Savepoint
}

// eventTriggers returns what fires the event triggers for a statement, nil if there is none to fire.
func (x *execution) eventTriggers(stmt ast.Statement) *eventFiring {
	db := x.ex.coll.CurrentDatabase()
	if db == nil || len(db.EventTriggers) == 0 || !ast.FiresEvents(stmt.Tag()) || sharedObject(stmt) {
		return nil
	}
	return &eventFiring{x: x, stmt: stmt, tag: stmt.Tag()}
}

// sharedObject reports whether a statement, whose tag does not tell, is about what several databases share.
func sharedObject(stmt ast.Statement) bool {
	kind := ast.ObjTable
	switch s := stmt.(type) {
	case *ast.Grant:
		kind = s.Kind
	case *ast.Comment:
		kind = s.Kind
	case *ast.AlterObject:
		kind = s.Kind
	}
	switch kind {
	case ast.ObjDatabase, ast.ObjRole, ast.ObjTablespace, ast.ObjParameter, ast.ObjEventTrigger:
		return true
	}
	return false
}

// run runs the statement between the triggers that fire before and after it.
func (f *eventFiring) run(ctx context.Context, env *statement.Env, exec func() error) error {
	if f == nil {
		return exec()
	}
	if err := f.fire(ctx, &call.DDLEvent{Event: catalog.EventStart}); err != nil {
		return err
	}
	env.Rewriting = func(ctx context.Context, t *catalog.Table, reason int) error {
		return f.fire(ctx, &call.DDLEvent{Event: catalog.EventRewrite, RewriteOid: t.Oid, RewriteReason: reason})
	}
	f.before = f.x.ex.coll.Savepoint()
	if err := exec(); err != nil {
		return err
	}
	changes, names := f.x.ex.coll.ChangedSince(f.before), f.names(ctx)
	if gone := ddlevents.Dropped(f.stmt, changes, names); len(gone) > 0 {
		if err := f.fire(ctx, &call.DDLEvent{Event: catalog.EventDrop, Dropped: gone}); err != nil {
			return err
		}
	}
	return f.fire(ctx, &call.DDLEvent{Event: catalog.EventEnd, Commands: ddlevents.Commands(f.stmt, changes, names)})
}

// fire fires the triggers of an event, in the order of their names.
func (f *eventFiring) fire(ctx context.Context, e *call.DDLEvent) error {
	ex := f.x.ex
	e.Tag = f.tag
	var list []catalog.EventTrigger
	for _, g := range ex.coll.CurrentDatabase().EventTriggers {
		if g.Fires(e.Event, f.tag, ex.vals.Fast.Replica) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b catalog.EventTrigger) int { return strings.Compare(a.Name, b.Name) })
	if len(list) == 0 {
		return nil
	}
	outer := ex.event
	ex.event = e
	defer func() { ex.event = outer }()
	for i := range list {
		t, err := ex.coll.TableByID(ctx, list[i].Function)
		if err != nil {
			return err
		}
		if err := ex.routines.EventTrigger(f.x.env.Builtin, t, e); err != nil {
			return err
		}
	}
	return nil
}

func (f *eventFiring) names(ctx context.Context) ddlevents.Names {
	coll := f.x.ex.coll
	return ddlevents.Names{
		Describe: func(class, oid uint32, sub int32) (call.ObjectName, bool) {
			o, ok, err := f.x.ex.cats.DescribeObject(class, oid, sub)
			return o, ok && err == nil
		},
		Schema: func(id catalog.ID) (string, bool) {
			for _, c := range coll.ChangedSince(f.before) {
				if s, ok := c.Old.(*catalog.Schema); ok && s.ID == id {
					return s.Name, s.Temp != nil
				}
			}
			d, err := coll.Peek(ctx, id)
			if s, ok := d.(*catalog.Schema); ok && err == nil {
				return s.Name, s.Temp != nil
			}
			return "", false
		},
	}
}

// DDLEvent implements call.EventSession.
func (f *sessionFuncs) DDLEvent() *call.DDLEvent { return f.ex.event }
