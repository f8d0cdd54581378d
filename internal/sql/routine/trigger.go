package routine

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
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
	g, v, a := f.fires, p.trigger, f.act
	f.records[v.row.slot], f.records[v.old.slot] = g.Row, g.Row
	if g.New != nil {
		f.lend(v.row, g.New)
	}
	if g.Old != nil {
		f.lend(v.old, g.Old)
	}
	if a.of != g.Trigger || a.on != g.Event {
		a.of, a.on = g.Trigger, g.Event
		for i := range triggerVariables {
			a.told[i] = triggerVariables[i].value(g)
		}
	}
	copy(f.params[v.name.slot:], a.told[:])
}

// computes reports whether a statement without others in it does nothing but compute.
func computes(s plpgsql.Stmt) bool {
	switch s := s.(type) {
	case *plpgsql.Null, *plpgsql.Return:
		return true
	case *plpgsql.Raise:
		return s.Level == "exception"
	}
	return false
}

// Computes reports whether the function of a trigger for rows does nothing but compute what it returns.
func (r *Runner) Computes(c *call.Context, g *operator.Firing) bool {
	if g.Fn.Routine.Definer || len(g.Fn.Routine.Settings) > 0 {
		return false
	}
	f := r.firingFrame(c, g)
	defer f.c.EndStatement()
	b, err := r.body(f, nil)
	p, ok := b.(*program)
	if err != nil || !ok || p.acts {
		return false // the error will come as the trigger fires
	}
	f.open(p)
	defer p.release(f.act)
	for _, q := range p.queries {
		if !q.ready(f) && q.plan(f) != nil || !q.computes() {
			return false
		}
	}
	return !slices.ContainsFunc(p.slots, func(v *variable) bool { return checked(p.typeIn(f, v)) })
}

// computes reports whether an expression does nothing else.
func (q *query) computes() bool {
	return q.simple != nil && plan.Computes(q.simple) && !checked(q.typ)
}

// checked reports whether values of a type belong to a domain, whose checks may call any function.
func checked(t *types.T) bool {
	if domainOf(t) != nil {
		return true
	}
	return slices.ContainsFunc(t.Fields(), func(f types.FieldDef) bool { return checked(f.Type) })
}

// Trigger calls the function of a trigger, and sets in g the row that it returns.
func (r *Runner) Trigger(c *call.Context, g *operator.Firing) error {
	if err := r.enter(); err != nil {
		return err
	}
	g.HasReturned = false
	defer r.leave()
	f := r.firingFrame(c, g)
	defer f.c.EndStatement()
	return r.runBody(f, nil)
}

// firingFrame prepares the call of the function of a trigger.
func (r *Runner) firingFrame(c *call.Context, g *operator.Firing) *frame {
	f := &frame{r: r, t: g.Fn, def: g.Fn.Routine, fresh: g.Fn.Routine.Volatility == 'v', fires: g}
	f.within(c)
	f.c.TriggerDepth, f.c.Transitions = c.TriggerDepth+1, g.Tables
	f.out.f = f
	return f
}

// triggerResult makes of what RETURN has given the row that the trigger returns.
func (f *frame) triggerResult() error {
	f.doing = "during function exit"
	if f.ret.typ == nil || f.ret.row == nil && f.ret.d.IsNull() {
		return nil
	}
	if f.ret.typ.Family != types.RecordFamily {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot return non-composite value from function returning composite type")
	}
	if !f.fires.Trigger.Row {
		return nil
	}
	g, row := f.fires, f.ret.row
	var have []types.FieldDef
	if row != nil {
		have = f.ret.typ.Fields()
	} else {
		for _, v := range types.RecordFields(f.ret.typ, f.ret.d, f.c.Format) {
			row, have = append(row, v.Datum), append(have, types.FieldDef{Type: v.Type})
		}
	}
	if want := g.Row.Fields(); !sameRow(f.ret.typ, g.Row) || len(have) != len(want) {
		if err := returnable(have, want); err != nil {
			return err
		}
	}
	g.Returned, g.HasReturned = append(g.Returned[:0], row...), true
	return nil
}

// rowApart returns the value of an expression that is a variable, in a function of triggers, if it is a row taken apart; nil if not.
func (q *query) rowApart(f *frame) (types.Row, *types.T) {
	if f.fires == nil {
		return nil, nil
	}
	x, ok := q.simple.(*plan.Param)
	if !ok || !q.ready(f) || len(f.act.rows[x.Index]) == 0 {
		return nil, nil
	}
	return f.act.rows[x.Index], q.typ
}

// returnable refuses a row that the triggering table can't have.
func returnable(have, want []types.FieldDef) error {
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
