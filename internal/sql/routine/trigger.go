package routine

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// triggerVars are the variables that the function of a trigger knows, from the slot of NEW on.
type triggerVars struct{ row, old, name *variable }

// triggerVar is a variable that says which trigger fires, and for what.
type triggerVar struct {
	name  string
	typ   *types.T
	value func(f *operator.Firing) types.Datum
}

// triggerVariables stand in slots behind those of NEW and OLD.
var triggerVariables = [...]triggerVar{
	{"tg_name", types.Name, func(f *operator.Firing) types.Datum { return types.NewString(f.Name) }},
	{"tg_when", types.Text, func(f *operator.Firing) types.Datum { return types.NewString(f.Timing.String()) }},
	{"tg_level", types.Text, func(f *operator.Firing) types.Datum {
		if f.Trigger.Row {
			return types.NewString("ROW")
		}
		return types.NewString("STATEMENT")
	}},
	{"tg_op", types.Text, func(f *operator.Firing) types.Datum { return types.NewString(eventName(f.Event)) }},
	{"tg_relid", types.Oid, func(f *operator.Firing) types.Datum { return types.NewInt(int64(f.Table.Oid)) }},
	{"tg_relname", types.Name, func(f *operator.Firing) types.Datum { return types.NewString(f.Table.Name) }},
	{"tg_table_name", types.Name, func(f *operator.Firing) types.Datum { return types.NewString(f.Table.Name) }},
	{"tg_table_schema", types.Name, func(f *operator.Firing) types.Datum { return types.NewString(f.Schema) }},
	{"tg_nargs", types.Int4, func(f *operator.Firing) types.Datum { return types.NewInt(int64(len(f.Args))) }},
	{"tg_argv", types.TextArray, triggerArgs},
}

// triggerArgs are the arguments of a trigger: an array that begins with 0.
func triggerArgs(f *operator.Firing) types.Datum {
	if len(f.Args) == 0 {
		return types.Null
	}
	elems := make([]types.Datum, len(f.Args))
	for i, a := range f.Args {
		elems[i] = types.NewString(a)
	}
	return types.NewArrayDims([]types.ArrayDim{{Len: int32(len(elems))}}, elems)
}

func eventName(e ast.TriggerEvents) string {
	for i, name := range ast.TriggerEventNames {
		if e == 1<<i {
			return name
		}
	}
	return ""
}

// declareTrigger declares the variables of a function of triggers.
func (p *program) declareTrigger() {
	p.trigger = &triggerVars{row: &variable{name: "new"}, old: &variable{name: "old"}}
	p.declare(p.top, p.trigger.row)
	p.declare(p.top, p.trigger.old)
	for _, v := range triggerVariables {
		d := &variable{name: v.name, typ: v.typ}
		p.declare(p.top, d)
		if p.trigger.name == nil {
			p.trigger.name = d
		}
	}
}

// openTrigger gives the variables of a function of triggers their values.
func (p *program) openTrigger(f *frame) {
	g, v := f.fires, p.trigger
	f.params[v.row.slot], f.records[v.row.slot] = g.New, g.Row
	f.params[v.old.slot], f.records[v.old.slot] = g.Old, g.Row
	for i := range triggerVariables {
		f.params[v.name.slot+i] = triggerVariables[i].value(g)
	}
}

// Trigger calls the function of a trigger and returns the row that it returns, NULL for none.
func (r *Runner) Trigger(c *call.Context, g *operator.Firing) (types.Datum, error) {
	if err := r.enter(); err != nil {
		return types.Null, err
	}
	defer r.leave()
	f := &frame{r: r, t: g.Fn, def: g.Fn.Routine, fresh: g.Fn.Routine.Volatility == 'v', fires: g}
	f.within(c)
	f.c.TriggerDepth, f.c.Transitions = c.TriggerDepth+1, g.Tables
	defer f.c.EndStatement()
	f.out.f = f
	if err := r.runBody(f, nil); err != nil {
		return types.Null, err
	}
	return f.out.d, nil
}

// triggerResult makes of what RETURN has given the row that the trigger returns.
func (f *frame) triggerResult() error {
	f.doing = "during function exit"
	if f.ret.typ == nil || f.ret.d.IsNull() {
		return nil
	}
	if f.ret.typ.Family != types.RecordFamily {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot return non-composite value from function returning composite type")
	}
	if !f.fires.Trigger.Row {
		return nil
	}
	f.out.d = f.ret.d
	if sameRow(f.ret.typ, f.fires.Row) {
		return nil
	}
	want, have := f.fires.Row.Fields(), types.RecordFields(f.ret.typ, f.ret.d, f.c.Format)
	bad := pgerr.New(pgerr.DatatypeMismatch, "returned row structure does not match the structure of the triggering table")
	if len(want) != len(have) {
		return bad.WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(have), len(want))
	}
	for i := range want {
		if want[i].Type.BaseType().Oid != have[i].Type.BaseType().Oid {
			return bad.WithDetail("Returned type %s does not match expected type %s in column %d.",
				types.FormatType(have[i].Type), types.FormatType(want[i].Type), i+1)
		}
	}
	return nil
}

// transitions is how the statements of a function of triggers find transition tables; nil in other functions.
func (p *program) transitions() func(name ast.Name) *types.T {
	if p.trigger == nil {
		return nil
	}
	return func(name ast.Name) *types.T {
		if t := p.cur.c.Transition(name); t != nil {
			return t.Row
		}
		return nil
	}
}

// triggerKey is what the body of a function of triggers is compiled for: each table has rows of its own, each trigger
// its transition tables.
type triggerKey struct {
	table   *catalog.Table
	trigger uint32
}

func triggerKeyOf(g *operator.Firing) triggerKey {
	k := triggerKey{table: g.Table}
	if g.OldTable != "" || g.NewTable != "" {
		k.trigger = g.Oid
	}
	return k
}
