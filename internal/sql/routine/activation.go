package routine

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// activation is what a run of a program works with: its variables, by their slots, and its expressions, compiled over these.
// A program keeps those that are idle for its next runs.
//
// The value of a variable that is a row lies in one of two forms, or in both: as one datum in params, and taken apart into
// its fields in rows. So a row that a query or a trigger hands over, and whose fields are read and assigned one by one,
// is put together only where somebody reads it as a whole.
type activation struct {
	state   expr.State
	exprs   []compiled // by query.n
	params  []types.Datum
	records []*types.T
	rows    []types.Row // empty: the row is in params alone
	stale   []bool      // the row is in rows alone
	room    []types.Row // what rows lie in
	// told are the values of the variables that say which trigger fires: the trigger of, on an event.
	told [len(triggerVariables)]types.Datum
	of   *plan.Trigger
	on   ast.TriggerEvents
}

// maxIdle bounds the activations that a program keeps.
const maxIdle = 100

// compiled is a version of a simple expression in an activation, in the forms in which that has needed it.
type compiled struct {
	version int
	fn      expr.Func
	into    expr.Into
}

// activate returns an activation that is idle.
func (p *program) activate() *activation {
	if n := len(p.idle); n > 0 {
		a := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return a
	}
	n := len(p.slots)
	a := &activation{
		exprs: make([]compiled, len(p.queries)), params: make([]types.Datum, n), records: make([]*types.T, n),
		rows: make([]types.Row, n), stale: make([]bool, n), room: make([]types.Row, n),
	}
	a.state.Rows = a.rows
	return a
}

// release makes an activation idle: its variables have no values.
func (p *program) release(a *activation) {
	a.state.Unbind()
	clear(a.params)
	clear(a.records)
	clear(a.stale)
	clear(a.rows)
	for _, room := range a.room {
		clear(room)
	}
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, a)
	}
}

// put gives a variable that may be a row a value.
func (f *frame) put(v *variable, d types.Datum) {
	f.params[v.slot], f.act.rows[v.slot], f.act.stale[v.slot] = d, nil, false
}

// putRow gives a variable a row, of which it keeps copies.
func (f *frame) putRow(v *variable, vals types.Row) {
	if len(vals) == 0 {
		f.put(v, types.NewRecord(nil, nil))
		return
	}
	row := f.fields(v, len(vals))
	for i := range vals {
		row[i] = vals[i].Clone()
	}
	f.act.stale[v.slot] = true
}

// lend gives a variable a row whose values stay as long as the frame.
func (f *frame) lend(v *variable, row types.Row) {
	if len(row) == 0 {
		f.putRow(v, row)
		return
	}
	copy(f.fields(v, len(row)), row)
	f.act.stale[v.slot] = true
}

// fields returns room for the n fields of the value of a variable.
func (f *frame) fields(v *variable, n int) types.Row {
	a := f.act
	if cap(a.room[v.slot]) < n {
		a.room[v.slot] = make(types.Row, n)
	}
	a.rows[v.slot] = a.room[v.slot][:n]
	return a.rows[v.slot]
}

// apart takes the value of a variable, a row of type t, apart; nil if its fields are not those of t.
func (f *frame) apart(v *variable, t *types.T) types.Row {
	if row := f.act.rows[v.slot]; len(row) > 0 {
		return row
	}
	vals, _ := f.rowValues(f.params[v.slot], t)
	if len(vals) == 0 || len(vals) != len(t.Fields()) {
		return nil
	}
	row := f.fields(v, len(vals))
	copy(row, vals)
	return row
}

// pack has the value of a variable in params too.
func (f *frame) pack(slot int) {
	if a := f.act; a.stale[slot] {
		t := f.prog.typeIn(f, f.prog.slots[slot])
		a.params[slot], a.stale[slot] = types.NewRecord(typesOf(t.Fields()), a.rows[slot]), false
	}
}

// packed returns the values of all variables, for statements in SQL.
func (f *frame) packed() []types.Datum {
	for slot, stale := range f.act.stale {
		if stale {
			f.pack(slot)
		}
	}
	return f.params
}

// value returns the value of a variable.
func (f *frame) value(v *variable) types.Datum {
	f.pack(v.slot)
	return f.params[v.slot]
}
