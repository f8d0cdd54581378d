package mutation

import (
	"bytes"

	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// mergeOp runs MERGE. Changes and deletions have foreign keys of their own to look
// after, so there is a dml for each.
type mergeOp struct {
	dml         // inserts and changes
	deletes dml // deletions
	// deleting and updating fire the triggers of deletions and changes, dml.fire those of insertions.
	deleting, updating *firing
	old                []int
	actions            []mergeAction
	checks             []tableaccess.Check
	locker             *rowLocker // for what it verifies
	oldRow             types.Row
	row                types.Row
}

type mergeAction struct {
	matched bool
	cond    expr.Pred
	kind    plan.MergeKind
	set     []tableaccess.Setter
	values  []expr.Func
	// ofOld and ofNew are what policies demand of the row that matches and of the one that is stored.
	ofOld, ofNew []tableaccess.Check
}

// CompileMerge compiles a MERGE.
func CompileMerge(c *operator.Compiler, st *Statement, n *plan.Merge) (operator.Operator, error) {
	m := &mergeOp{dml: dml{run: c.Run, stmt: st, name: "MERGE"}}
	var s expr.Scope
	var err error
	if m.src, s, err = c.Input(n.Input); err != nil {
		return nil, err
	}
	if m.writer, err = tableaccess.NewWriter(n.Table); err != nil {
		return nil, err
	}
	m.writer.Schema, m.writer.Always = n.Schema, true
	if err := m.writer.Derive(&c.Compiler, n.Derived); err != nil {
		return nil, err
	}
	if m.old, err = s.Positions(n.Old); err != nil {
		return nil, err
	}
	m.deletes = dml{run: c.Run, stmt: st, writer: m.writer}
	m.locker = &rowLocker{stmt: st, run: c.Run, writer: m.writer, strength: lock.Update, done: "updated"}
	if err := watch(c, &m.dml, n.References, n.Updated); err != nil {
		return nil, err
	}
	if err := watch(c, &m.deletes, nil, n.Deleted); err != nil {
		return nil, err
	}
	if m.fire, err = m.triggers(c, n.Inserting); err != nil {
		return nil, err
	}
	if m.updating, err = m.triggers(c, n.Updating); err != nil {
		return nil, err
	}
	if m.deleting, err = m.triggers(c, n.Deleting); err != nil {
		return nil, err
	}
	for i := range n.Actions {
		a, err := newMergeAction(c, &n.Actions[i], s, n.New)
		if err != nil {
			return nil, err
		}
		m.actions = append(m.actions, a)
	}
	m.checks, err = tableaccess.CompileChecks(&c.Compiler, n.Checks, n.New)
	m.oldRow, m.row = make(types.Row, len(n.Table.Columns)), make(types.Row, len(n.Table.Columns))
	return m, err
}

func newMergeAction(c *operator.Compiler, a *plan.MergeAction, s, row expr.Scope) (mergeAction, error) {
	out := mergeAction{matched: a.Matched, kind: a.Kind}
	var err error
	if out.cond, err = c.Pred(a.Cond, s); err != nil {
		return out, err
	}
	if out.set, err = tableaccess.CompileSetters(&c.Compiler, a.Set, s); err != nil {
		return out, err
	}
	if out.ofOld, err = tableaccess.CompileChecks(&c.Compiler, a.OldChecks, s); err != nil {
		return out, err
	}
	if out.ofNew, err = tableaccess.CompileChecks(&c.Compiler, a.NewChecks, row); err != nil {
		return out, err
	}
	out.values, err = c.Exprs(a.Values, s)
	return out, err
}

func (m *mergeOp) Open() error {
	m.deletes.forget()
	return m.dml.Open()
}

func (m *mergeOp) Next(b *rowcontainer.Batch) error { return m.loop(b, m.step) }

func (m *mergeOp) step(in types.Row, b *rowcontainer.Batch) error {
	rowcontainer.CopySlots(m.oldRow, in, m.old)
	matched := !m.oldRow[m.writer.Indexes[0].Key[0].Ord].IsNull()
	for i := range m.actions {
		a := &m.actions[i]
		if a.matched != matched {
			continue
		}
		if a.cond != nil {
			if ok, err := a.cond(in); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		if a.kind == plan.MergeNothing {
			return nil
		}
		if err := tableaccess.RunPolicies(a.ofOld, in); err != nil {
			return err
		}
		if done, err := m.do(a, in); !done {
			return err
		}
		return m.emit(nil, b)
	}
	return nil
}

// do does an action; false if a trigger has the row left alone.
func (m *mergeOp) do(a *mergeAction, in types.Row) (bool, error) {
	switch a.kind {
	case plan.MergeInsert:
		return m.insert(a, in)
	case plan.MergeUpdate:
		return m.update(a, in)
	}
	return m.delete()
}

func (m *mergeOp) delete() (bool, error) {
	if err := m.lock(); err != nil {
		return false, err
	}
	if err := m.writer.ComputeOld(m.oldRow); err != nil {
		return false, err
	}
	if ok, err := m.deleting.before(m.oldRow, nil); !ok {
		return false, err
	}
	if err := m.locker.unchangedWithin(m.oldRow, "deleted"); err != nil {
		return false, err
	}
	if err := m.writer.Delete(m.run.Ctx, m.run.Txn, m.oldRow); err != nil {
		return false, err
	}
	if err := m.deletes.gone(m.oldRow, nil); err != nil {
		return false, err
	}
	return true, m.deleting.changed(m.oldRow, nil)
}

// lock locks the row that is changed. One that this statement has changed already is
// an error, one that changed since it was read starts the statement over.
func (m *mergeOp) lock() error {
	key, err := m.writer.PrimaryKey(m.oldRow)
	if err != nil {
		return err
	}
	res, err := m.writer.Whole(m.run.Txn).Lock(m.run.Ctx, key, lock.Update, lock.WaitBlock)
	switch {
	case err != nil:
		return err
	case res.Self:
		if err := tableaccess.SeenWithin(m.run.Txn, key, m.locker.done); err != nil {
			return err
		}
		return pgerr.New(pgerr.CardinalityViolation, "MERGE command cannot affect row a second time").
			WithHint("Ensure that not more than one source row matches any one target row.")
	case !res.Found:
		return tableaccess.ErrRowChanged(key)
	case !res.Changed:
		return nil
	}
	now := bytes.Clone(res.Value)
	was, err := m.writer.PrimaryValue(m.oldRow)
	if err == nil && !bytes.Equal(now, was) {
		err = tableaccess.ErrRowChanged(key)
	}
	return err
}

// verify completes the row that an action stores and checks it.
func (m *mergeOp) verify(a *mergeAction) error {
	if err := m.writer.Compute(m.row); err != nil {
		return err
	}
	if err := tableaccess.RunPolicies(a.ofNew, m.row); err != nil {
		return err
	}
	return m.writer.CheckRow(m.checks, m.row, m.row)
}

func (m *mergeOp) update(a *mergeAction, in types.Row) (bool, error) {
	if err := m.lock(); err != nil {
		return false, err
	}
	copy(m.row, m.oldRow)
	for i := range a.set {
		v, err := a.set[i].Value(in)
		if err != nil {
			return false, err
		}
		m.row[a.set[i].Ord] = v
	}
	if err := m.writer.ComputeOld(m.oldRow); err != nil {
		return false, err
	}
	if ok, err := m.updating.before(m.oldRow, m.row); !ok {
		return false, err
	}
	if err := m.verify(a); err != nil {
		return false, err
	}
	if err := m.locker.unchangedWithin(m.oldRow, "updated"); err != nil {
		return false, err
	}
	if err := m.writer.Update(m.run.Ctx, m.run.Txn, m.oldRow, m.row); err != nil {
		return false, err
	}
	if err := m.wrote(m.oldRow, m.row); err != nil {
		return false, err
	}
	return true, m.updating.changed(m.oldRow, m.row)
}

func (m *mergeOp) insert(a *mergeAction, in types.Row) (bool, error) {
	for i, f := range a.values {
		var err error
		if m.row[i], err = f(in); err != nil {
			return false, err
		}
	}
	if ok, err := m.fire.before(nil, m.row); !ok {
		return false, err
	}
	if err := m.verify(a); err != nil {
		return false, err
	}
	if err := m.writer.Insert(m.run.Ctx, m.run.Txn, m.row); err != nil {
		return false, err
	}
	if err := m.wrote(nil, m.row); err != nil {
		return false, err
	}
	return true, m.fire.changed(nil, m.row)
}
