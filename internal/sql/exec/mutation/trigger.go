package mutation

import (
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// firing fires the triggers of one kind of change that an operator makes. A nil firing has none.
type firing struct {
	*plan.Triggers
	run   *operator.Run
	stmt  *Statement
	conds map[*plan.Trigger]expr.Pred
	both  types.Row // the old row, then the new one: for conditions
	old   types.Row // scratch: rows as functions see them
	new   types.Row
	fired operator.Firing // scratch: the trigger that fires, and its rows
	// after is what this execution of the operator leaves to the end of the statement, nil for nothing; at is the place of
	// the firing in it.
	after *triggerBatch
	at    int
}

// compileTriggers compiles triggers; nil stands for none.
func compileTriggers(c *operator.Compiler, st *Statement, t *plan.Triggers) (*firing, error) {
	if !t.Any() {
		return nil, nil
	}
	f := &firing{Triggers: t, run: c.Run, stmt: st, conds: map[*plan.Trigger]expr.Pred{}, both: make(types.Row, len(t.Old)+len(t.New))}
	s := append(append(expr.Scope{}, t.Old...), t.New...)
	for _, list := range [...][]*plan.Trigger{t.BeforeStatement, t.BeforeRow, t.InsteadOf, t.AfterRow, t.AfterStatement} {
		for _, g := range list {
			cond, err := c.Pred(g.When, s)
			if err != nil {
				return nil, err
			}
			if cond != nil {
				f.conds[g] = cond
			}
		}
	}
	f.fired = operator.Firing{Event: t.Event, Row: t.Row}
	f.old, f.new = make(types.Row, 0, len(t.Ords)), make(types.Row, 0, len(t.Ords))
	return f, nil
}

// fires reports whether a trigger fires for the rows in both.
func (f *firing) fires(g *plan.Trigger) (bool, error) {
	if !g.Fires(f.run.Env.Triggers.Replica()) {
		return false, nil
	}
	if cond := f.conds[g]; cond != nil {
		return cond(f.both)
	}
	return true, nil
}

// rows sets the rows that conditions look at; nil stands for none.
func (f *firing) rows(old, row types.Row) {
	n := len(f.Old)
	set := func(to, from types.Row) {
		if from == nil {
			clear(to)
			return
		}
		copy(to, from[:n])
	}
	set(f.both[:n], old)
	set(f.both[n:], row)
}

// shown appends to a row what the functions of triggers see of one; nil of none.
func (f *firing) shown(to, row types.Row) types.Row {
	if row == nil {
		return nil
	}
	for _, ord := range f.Ords {
		to = append(to, row[ord])
	}
	return to
}

// kept is shown with memory of its own.
func (f *firing) kept(row types.Row) types.Row {
	own := f.shown(make(types.Row, 0, len(f.Ords)), row)
	for i := range own {
		own[i] = own[i].Clone()
	}
	return own
}

// call calls the function of a trigger, which sets in fired what it returns.
func (f *firing) call(r *operator.Run, g *plan.Trigger, old, row types.Row, tables []call.Transition) error {
	f.fired.Trigger, f.fired.Tables = g, tables
	f.fired.Old, f.fired.New = f.shown(f.old[:0], old), f.shown(f.new[:0], row)
	err := r.Env.Triggers.Fire(r.Builtin, &f.fired)
	f.fired.Tables = nil
	return err
}

// beginTriggers prepares for rows, and fires the triggers before the statement.
func (d *dml) beginTriggers() error {
	if len(d.firings) == 0 {
		return nil
	}
	d.after = newTriggerBatch(d)
	for i, f := range d.firings {
		f.after, f.at = d.after, i
	}
	for _, f := range d.firings {
		if err := f.begin(); err != nil {
			return err
		}
	}
	return nil
}

// begin fires the triggers before the statement.
func (f *firing) begin() error {
	if !f.stmt.queue.first(f) {
		return nil
	}
	return f.statement(f.BeforeStatement)
}

// statement fires triggers for a statement, one after another.
func (f *firing) statement(list []*plan.Trigger) error {
	f.rows(nil, nil)
	for _, g := range list {
		if ok, err := f.fires(g); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := f.call(f.run, g, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// before fires the triggers before a row is written, which may change it; false if one of them has the row left
// alone. row is the one to store, nil for a deletion.
func (f *firing) before(old, row types.Row) (bool, error) {
	if f == nil {
		return true, nil
	}
	return f.each(f.BeforeRow, old, row)
}

// changes reports whether there are triggers before rows.
func (f *firing) changes() bool { return f != nil && len(f.BeforeRow) > 0 }

// each fires triggers for a row one after another, of which each gets the row that the one before has returned.
func (f *firing) each(list []*plan.Trigger, old, row types.Row) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	f.withoutGenerated(row)
	for _, g := range list {
		if len(f.conds) > 0 {
			f.rows(old, row)
		}
		if ok, err := f.fires(g); err != nil {
			return false, err
		} else if !ok {
			continue
		}
		if err := f.call(f.run, g, old, row, nil); err != nil || !f.fired.HasReturned {
			return false, err
		}
		if row == nil {
			continue
		}
		for i, ord := range f.Ords {
			row[ord] = f.fired.Returned[i]
		}
		f.withoutGenerated(row)
	}
	return true, nil
}

// withoutGenerated leaves out of a row what is computed when it is written.
func (f *firing) withoutGenerated(row types.Row) {
	for i := range row {
		if i < len(f.Table.Columns) && f.Table.Columns[i].Generated != "" {
			row[i] = types.Null
		}
	}
}

// changed notes a row that was written for the triggers after it: old is the row it replaces, row the new one, nil
// for none.
func (f *firing) changed(old, row types.Row) error {
	if f == nil {
		return nil
	}
	return f.after.add(f, old, row)
}

// endTriggers leaves the triggers after the rows, and after the statement, to its end.
func (d *dml) endTriggers() error {
	b := d.after
	if b == nil {
		return nil
	}
	for _, f := range slices.Backward(d.firings) {
		f.rows(nil, nil)
		for _, g := range f.AfterStatement {
			ok, err := f.fires(g)
			if err != nil {
				return err
			}
			if ok {
				b.statement = append(b.statement, statementTrigger{f, g})
			}
		}
	}
	d.after = nil
	d.stmt.queue.after(d, b)
	return nil
}

// stopTriggers ends an execution that did not come to its end.
func (d *dml) stopTriggers() {
	if d.after != nil {
		d.after.close()
		d.after = nil
	}
}

// triggerBatch is what one operator has left to triggers after the statement.
type triggerBatch struct {
	rows    rowcontainer.Store // the old row, then the new one
	present []rowsPresent      // of each row
	events  []triggerEvent
	// tables are the transition tables of each firing, whose rows are in values: the last store gets more.
	tables    []*transitions
	values    []*rowcontainer.Store
	acc       quota.Account // of present, events and the headers of tables
	statement []statementTrigger
}

// transitions are the rows before and after a change.
type transitions struct{ old, row []types.Row }

// statementTrigger is a trigger that fires for the statement.
type statementTrigger struct {
	f *firing
	g *plan.Trigger
}

// rowsPresent says which of two rows there are.
type rowsPresent uint8

const (
	hasOld rowsPresent = 1 << iota
	hasNew
)

// triggerEvent is a trigger, by its position in AfterRow of a firing, that fires for a row.
type triggerEvent struct {
	f            *firing
	row, trigger int32
}

// eventSize is roughly what an event, or the header of a row, takes.
const eventSize = 24

func newTriggerBatch(d *dml) *triggerBatch {
	b, r := &triggerBatch{}, d.stmt.queue.run // the operator's own execution may end before
	values := &rowcontainer.Store{}
	b.rows.Open(&r.State, len(d.firings[0].both))
	values.Open(&r.State, len(d.firings[0].Ords))
	b.values = append(b.values, values)
	for range d.firings {
		b.tables = append(b.tables, &transitions{})
	}
	b.acc.Init(r.Mem)
	return b
}

func (b *triggerBatch) close() {
	b.rows.Close()
	for _, v := range b.values {
		v.Close()
	}
	b.acc.Close()
}

// add notes a row: for the transition tables, and for those triggers whose conditions it meets.
func (b *triggerBatch) add(f *firing, old, row types.Row) error {
	if err := b.addTransition(f, f.OldTable, old, &b.tables[f.at].old); err != nil {
		return err
	}
	if err := b.addTransition(f, f.NewTable, row, &b.tables[f.at].row); err != nil {
		return err
	}
	if len(f.AfterRow) == 0 {
		return nil
	}
	f.rows(old, row)
	at := -1
	for i, g := range f.AfterRow {
		ok, err := f.fires(g)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if at < 0 {
			if _, err := b.rows.Add(f.both); err != nil {
				return err
			}
			at = b.rows.Len() - 1
			b.present = append(b.present, presence(old, row))
		}
		if err := b.acc.Grow(eventSize); err != nil {
			return expr.MemoryError(err)
		}
		b.events = append(b.events, triggerEvent{f: f, row: int32(at), trigger: int32(i)})
	}
	return nil
}

func presence(old, row types.Row) (p rowsPresent) {
	if old != nil {
		p |= hasOld
	}
	if row != nil {
		p |= hasNew
	}
	return p
}

// addTransition adds a row to a transition table, if it is wanted and there is one.
func (b *triggerBatch) addTransition(f *firing, want bool, row types.Row, to *[]types.Row) error {
	if !want || row == nil {
		return nil
	}
	kept, err := b.values[len(b.values)-1].Add(f.shown(f.new[:0], row))
	if err != nil {
		return err
	}
	if err := b.acc.Grow(eventSize); err != nil {
		return expr.MemoryError(err)
	}
	*to = append(*to, kept)
	return nil
}

// transitions returns the transition tables that a trigger names.
func (b *triggerBatch) transitions(f *firing, g *plan.Trigger) []call.Transition {
	var out []call.Transition
	if g.OldTable != "" {
		out = append(out, call.Transition{Name: g.OldTable, Row: f.Row, Rows: b.tables[f.at].old})
	}
	if g.NewTable != "" {
		out = append(out, call.Transition{Name: g.NewTable, Row: f.Row, Rows: b.tables[f.at].row})
	}
	return out
}

// process implements afterBatch: it fires the triggers of the rows in their order, then those of the statement.
func (b *triggerBatch) process(q *afterQueue) error {
	for _, e := range b.events {
		if err := q.run.Canceled(); err != nil {
			return err
		}
		both, has := b.rows.Rows[e.row], b.present[e.row]
		n := len(e.f.Old)
		var old, row types.Row
		if has&hasOld != 0 {
			old = both[:n]
		}
		if has&hasNew != 0 {
			row = both[n:]
		}
		if err := b.fire(q, e.f, e.f.AfterRow[e.trigger], old, row); err != nil {
			return err
		}
	}
	for _, s := range b.statement {
		if err := s.f.call(q.run, s.g, nil, nil, b.transitions(s.f, s.g)); err != nil {
			return err
		}
	}
	return nil
}

// fire fires a trigger for a row, or leaves it to the end of the transaction.
func (b *triggerBatch) fire(q *afterQueue, f *firing, g *plan.Trigger, old, row types.Row) error {
	if m := q.run.Env.Constraints; g.Deferrable && m != nil && m.Deferred(g.ConstraintOid, g.Deferred) {
		return m.Defer(&operator.Deferred{Firing: &operator.Firing{
			Trigger: g, Event: f.Event, Row: f.Row, Old: f.kept(old), New: f.kept(row),
		}})
	}
	return f.call(q.run, g, old, row, b.transitions(f, g))
}

// firedKind tells the triggers of a statement that fire once, however many of its parts change a table.
type firedKind struct {
	table uint32
	event uint8
}

func kindOf(f *firing) firedKind { return firedKind{f.Table.Oid, uint8(f.Event)} }

// first reports whether no other part of the statement has changed the table in this way.
func (q *afterQueue) first(f *firing) bool {
	k := kindOf(f)
	if q.fired[k] {
		return false
	}
	if q.fired == nil {
		q.fired = map[firedKind]bool{}
	}
	q.fired[k] = true
	return true
}

// after queues what the part d of the statement has left to triggers. Those of the statement fire behind its last part that
// changes the table in the same way, and see what all have changed.
func (q *afterQueue) after(d *dml, b *triggerBatch) {
	for _, o := range q.batches {
		o, ok := o.(*triggerBatch)
		if !ok {
			continue
		}
		for _, f := range d.firings {
			o.leaveTo(b, f)
		}
	}
	q.batches = append(q.batches, b)
}

// leaveTo leaves the triggers of the statement that are like those of f to b, with the transition tables.
func (b *triggerBatch) leaveTo(to *triggerBatch, f *firing) {
	same := func(s statementTrigger) bool { return kindOf(s.f) == kindOf(f) }
	i := slices.IndexFunc(b.statement, same)
	if i < 0 {
		return
	}
	from, all := b.tables[b.statement[i].f.at], to.tables[f.at]
	all.old, all.row = append(from.old, all.old...), append(from.row, all.row...)
	*from = *all // the triggers for rows see them too
	to.values, b.values = append(b.values, to.values...), nil
	b.statement = slices.DeleteFunc(b.statement, same)
}

// deferredFirings are constraint triggers that fire at the end of the transaction.
type deferredFirings []*operator.Firing

func (deferredFirings) close() {}

func (l deferredFirings) process(q *afterQueue) error {
	for _, f := range l {
		if err := q.run.Canceled(); err != nil {
			return err
		}
		if err := q.run.Env.Triggers.Fire(q.run.Builtin, f); err != nil {
			return err
		}
	}
	return nil
}

// deferredFiring queues a constraint trigger that was left to the end of the transaction.
func (q *afterQueue) deferredFiring(f *operator.Firing) {
	if n := len(q.batches); n > 0 {
		if l, ok := q.batches[n-1].(deferredFirings); ok {
			q.batches[n-1] = append(l, f)
			return
		}
	}
	q.batches = append(q.batches, deferredFirings{f})
}

// StatementTriggers are the triggers of a statement that is none of this package.
type StatementTriggers struct {
	run  operator.Run
	stmt *Statement
	f    *firing
}

// NewStatementTriggers prepares triggers; nil stands for none.
func NewStatementTriggers(t *plan.Triggers) (*StatementTriggers, error) {
	s := &StatementTriggers{}
	s.stmt = NewStatement(&s.run, nil)
	c := operator.NewCompiler(&s.run, nil, nil)
	var err error
	s.f, err = compileTriggers(c, s.stmt, t)
	return s, err
}

// Fire fires the triggers before the statement, or those after it.
func (s *StatementTriggers) Fire(env *operator.Env, after bool) error {
	if s.f == nil {
		return nil
	}
	s.run.Bind(env.Ctx, env)
	defer s.run.Unbind()
	list := s.f.BeforeStatement
	if after {
		list = s.f.AfterStatement
	}
	return s.f.statement(list)
}
