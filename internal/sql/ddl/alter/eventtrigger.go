package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// Why PostgreSQL writes the rows of a table anew.
const (
	rewriteDefault = 2
	rewriteColumn  = 4
)

// tellRewrite tells event triggers that the rows of a table are to be written anew.
func tellRewrite(ctx context.Context, e *statement.Env, st *ast.AlterTable) error {
	if e.Rewriting == nil {
		return nil
	}
	t, index, err := e.RelationToLock(ctx, st.Name)
	if err != nil || t == nil || index || t.Kind != catalog.KindTable {
		return nil
	}
	reason := 0
	for _, c := range st.Cmds {
		switch c.Kind {
		case ast.AlterColumnType:
			if i, ok := t.ColumnByName(c.Name); ok && otherForm(ctx, e, t.Columns[i].Type, c) {
				reason |= rewriteColumn
			}
		case ast.AlterAddColumn:
			if rewrites([]*ast.AlterCmd{c}) || volatileDefault(c.Def) {
				reason |= rewriteDefault
			}
		}
	}
	if reason == 0 {
		return nil
	}
	return e.Rewriting(ctx, t, reason)
}

// otherForm reports whether values of a column get another form with its new type.
func otherForm(ctx context.Context, e *statement.Env, from *types.T, c *ast.AlterCmd) bool {
	to, err := planner.FindType(ctx, c.Type, e.DefaultIntSize, e.Coll)
	if err != nil || c.X != nil {
		return err == nil
	}
	if from.Oid == to.Oid {
		return to.Typmod >= 0 && (from.Typmod < 0 || from.Typmod > to.Typmod || to.Oid == types.Numeric.Oid && from.Typmod != to.Typmod)
	}
	cast, ok := casts.Find(from.BaseType(), to.BaseType())
	return !ok || cast.Method != 'b' || to.Typmod >= 0
}

// volatileFunctions are those of defaults that give each row a value of its own.
var volatileFunctions = []string{"random", "gen_random_uuid", "clock_timestamp", "timeofday", "nextval", "unique_rowid", "uuid_generate_v4"}

// volatileDefault reports whether each row gets a value of its own in a new column.
func volatileDefault(def *ast.ColumnDef) bool {
	found := false
	for _, k := range def.Constraints {
		if k.Kind != ast.ConstrDefault || k.X == nil {
			continue
		}
		ast.Walk(k.X, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncCall)
			found = found || ok && slices.Contains(volatileFunctions, f.Name.Name)
			return !found
		})
	}
	return found
}

// eventTriggersOf notes the event triggers that call a function.
func (d *dropper) eventTriggersOf(t *catalog.Table, on string) {
	for _, g := range d.e.Coll.CurrentDatabase().EventTriggers {
		if g.Function == t.ID {
			d.events = append(d.events, droppedEvent{g.Name, "event trigger " + ast.QuoteIdent(g.Name), on})
		}
	}
}

// droppedEvent is an event trigger that goes with its function.
type droppedEvent struct{ name, text, on string }

// dropEvents drops the event triggers whose functions are dropped.
func (d *dropper) dropEvents(ctx context.Context) error {
	if len(d.events) == 0 {
		return nil
	}
	old, err := d.e.LockDatabaseTo(ctx, d.e.Coll.CurrentDatabase().Name, func(*catalog.Database) error { return nil })
	if err != nil || old == nil {
		return err
	}
	c := *old
	c.EventTriggers = slices.DeleteFunc(slices.Clone(old.EventTriggers), func(g catalog.EventTrigger) bool {
		return slices.ContainsFunc(d.events, func(x droppedEvent) bool { return x.name == g.Name })
	})
	return d.e.Coll.Put(ctx, &c)
}
