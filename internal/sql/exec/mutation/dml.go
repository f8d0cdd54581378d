package mutation

import (
	"bytes"
	"errors"

	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// dml is what INSERT, UPDATE and DELETE share.
type dml struct {
	run       *operator.Run
	stmt      *Statement
	name      string
	src       *operator.Source
	writer    *tableaccess.Writer
	returning []expr.Func
	hasReturn bool
	rows      int64 // affected
	at        int   // position of the row at hand in the batch
	text      rowcontainer.Scratch
	// prepare, if set, gets every batch of the input first, ahead those of several rows then.
	prepare func(in *rowcontainer.Batch)
	ahead   func(in *rowcontainer.Batch) error
	// refs are the foreign keys of the table, referrers those that refer to it.
	refs      []*keyWatch
	referrers []*keyWatch
	uniques   []*uniqueWatch // its deferrable keys
	// fire fires the triggers of what the operator does; firings are all that there are, in the order in which those
	// before the statement fire.
	fire    *firing
	firings []*firing
	after   *triggerBatch // of this execution
	// single says that the input is read row by row, so that triggers run between what the rows are computed of.
	single bool
}

// Affected implements operator.Modifier.
func (d *dml) Affected() int64 { return d.rows }

func (d *dml) Open() error {
	if err := d.run.Env.MayWrite(d.writer.Table(), d.name); err != nil {
		return err
	}
	d.rows = 0
	d.forget()
	d.writer.SetFormat(d.run.Format())
	d.writer.SetShown(d.run.Env.Shown)
	if err := d.beginTriggers(); err != nil {
		return err
	}
	return d.src.Start()
}

func (d *dml) Close() {
	d.stopTriggers()
	d.src.Stop()
}

// triggers compiles the triggers of one kind of change.
func (d *dml) triggers(c *operator.Compiler, t *plan.Triggers) (*firing, error) {
	f, err := compileTriggers(c, d.stmt, t)
	if f != nil {
		d.firings = append(d.firings, f)
	}
	return f, err
}

// loop feeds the input's rows to step, which appends to b what is returned. It
// stops after a batch that returned rows.
func (d *dml) loop(b *rowcontainer.Batch, step func(row types.Row, b *rowcontainer.Batch) error) error {
	b.Clear()
	for {
		d.text.Reset()
		want := rowcontainer.BatchRows
		if d.hasReturn {
			want = b.Max
		}
		if d.single {
			want = 1
		}
		ok, err := d.src.Fetch(want)
		if !ok {
			if err != nil && d.src.Batch.Err != nil { // the row behind those of the batch before
				d.failedAt(d.src.Batch.Len(), err)
			}
			if err == nil {
				err = d.endTriggers()
			}
			return err
		}
		if d.prepare != nil {
			d.prepare(&d.src.Batch)
		}
		if d.ahead != nil && d.src.Batch.Len() >= scan.MinAhead {
			if err := d.ahead(&d.src.Batch); err != nil {
				return err
			}
		}
		for i := 0; i < d.src.Batch.Len(); i++ {
			d.at = i
			if err := step(d.src.Batch.Row(i), b); err != nil {
				d.failedAt(i, err)
				return err
			}
		}
		if b.Len() > 0 {
			return nil
		}
		if err := d.run.Canceled(); err != nil {
			return err
		}
	}
}

// failedAt tells the source of COPY FROM which row of its batch could not be stored. Of one with a key that is there it
// shows the number alone, as PostgreSQL does.
func (d *dml) failedAt(n int, err error) {
	c := d.run.Env.Copy
	if c == nil {
		return
	}
	var e *pgerr.Error
	if errors.As(err, &e) && (e.Code == pgerr.UniqueViolation || e.Code == tableaccess.ExclusionViolation) && n < d.src.Batch.Len() {
		c.FailedAtNumber(c.Number(n))
		return
	}
	c.FailedAt(n)
}

// emit appends the RETURNING list for a row.
func (d *dml) emit(row types.Row, b *rowcontainer.Batch) error {
	d.rows++
	if !d.hasReturn {
		return nil
	}
	out := b.Add()
	for i, f := range d.returning {
		v, err := f(row)
		if err != nil {
			return err
		}
		out[i] = d.text.Datum(v)
	}
	return nil
}

func compileReturning(c *operator.Compiler, d *dml, r *plan.Returning, s expr.Scope) error {
	if r == nil {
		return nil
	}
	d.hasReturn = true
	var err error
	d.returning, err = c.Exprs(r.Exprs, s)
	return err
}

// updateOp changes rows.
type updateOp struct {
	dml
	locker   *rowLocker
	old      []int
	set      []tableaccess.Setter
	checks   []tableaccess.Check
	combined types.Row // input row, then the new row
	width    int       // of the input
	oldRow   types.Row
}

// CompileUpdate compiles an UPDATE.
func CompileUpdate(c *operator.Compiler, st *Statement, n *plan.Update) (operator.Operator, error) {
	u := &updateOp{dml: dml{run: c.Run, stmt: st, name: "UPDATE"}}
	var s expr.Scope
	var err error
	if u.src, s, err = c.Input(n.Input); err != nil {
		return nil, err
	}
	if u.writer, err = tableaccess.NewWriter(n.Table); err != nil {
		return nil, err
	}
	if u.old, err = s.Positions(n.Old); err != nil {
		return nil, err
	}
	if u.set, err = tableaccess.CompileSetters(&c.Compiler, n.Set, s); err != nil {
		return nil, err
	}
	all := append(s[:len(s):len(s)], n.New...)
	if u.checks, err = tableaccess.CompileChecks(&c.Compiler, n.Checks, all); err != nil {
		return nil, err
	}
	u.width = len(s)
	u.combined = make(types.Row, len(all))
	u.oldRow = make(types.Row, len(n.Table.Columns))
	u.locker = newRowLocker(st, c.Run, n.Input, u.writer, updateStrength(n), "updated")
	u.writer.Schema, u.writer.Always = n.Schema, !u.locker.locked
	u.writer.SetGiven(func(i int) bool { return n.New[i] != n.Old[i] })
	if err := u.writer.Derive(&c.Compiler, n.Derived); err != nil {
		return nil, err
	}
	if err := watch(c, &u.dml, n.References, n.Referrers); err != nil {
		return nil, err
	}
	if u.fire, err = u.triggers(c, n.Triggers); err != nil {
		return nil, err
	}
	if !u.locker.locked {
		u.ahead = func(in *rowcontainer.Batch) error { return u.locker.lockAhead(in, u.old, u.oldRow) }
	}
	return u, compileReturning(c, &u.dml, n.Returning, all)
}

// updateStrength is the lock an UPDATE needs: the weaker one unless it changes a key.
func updateStrength(n *plan.Update) lock.Strength {
	if n.ChangesKey() {
		return lock.Update
	}
	return lock.NoKeyUpdate
}

func (u *updateOp) Next(b *rowcontainer.Batch) error { return u.loop(b, u.step) }

func (u *updateOp) step(in types.Row, b *rowcontainer.Batch) error {
	rowcontainer.CopySlots(u.oldRow, in, u.old)
	if ok, err := u.locker.take(u.oldRow); !ok {
		return err
	}
	row := u.combined[u.width:]
	copy(u.combined, in)
	copy(row, u.oldRow)
	for i := range u.set {
		v, err := u.set[i].Value(in)
		if err != nil {
			return err
		}
		row[u.set[i].Ord] = v
	}
	if err := u.writer.ComputeOld(u.oldRow); err != nil {
		return err
	}
	if ok, err := u.fire.before(u.oldRow, row); !ok {
		return err
	}
	if err := u.writer.Compute(row); err != nil {
		return err
	}
	if err := u.writer.CheckRow(u.checks, u.combined, row); err != nil {
		return err
	}
	if err := u.locker.unchangedWithin(u.oldRow, "updated"); err != nil {
		return err
	}
	if err := u.writer.Update(u.run.Ctx, u.run.Txn, u.oldRow, row); err != nil {
		return err
	}
	if err := u.wrote(u.oldRow, row); err != nil {
		return err
	}
	if err := u.fire.changed(u.oldRow, row); err != nil {
		return err
	}
	if err := u.writer.RunCheckOptions(u.checks, u.combined, row); err != nil {
		return err
	}
	return u.emit(u.combined, b)
}

// deleteOp deletes rows.
type deleteOp struct {
	dml
	locker *rowLocker
	old    []int
	oldRow types.Row
}

// CompileDelete compiles a DELETE.
func CompileDelete(c *operator.Compiler, st *Statement, n *plan.Delete) (operator.Operator, error) {
	d := &deleteOp{dml: dml{run: c.Run, stmt: st, name: "DELETE"}}
	var s expr.Scope
	var err error
	if d.src, s, err = c.Input(n.Input); err != nil {
		return nil, err
	}
	if d.writer, err = tableaccess.NewWriter(n.Table); err != nil {
		return nil, err
	}
	if d.old, err = s.Positions(n.Old); err != nil {
		return nil, err
	}
	d.oldRow = make(types.Row, len(n.Table.Columns))
	d.locker = newRowLocker(st, c.Run, n.Input, d.writer, lock.Update, n.Verb())
	if err := d.writer.Derive(&c.Compiler, n.Derived); err != nil {
		return nil, err
	}
	if err := watch(c, &d.dml, nil, n.Referrers); err != nil {
		return nil, err
	}
	if d.fire, err = d.triggers(c, n.Triggers); err != nil {
		return nil, err
	}
	if !d.locker.locked {
		d.ahead = func(in *rowcontainer.Batch) error { return d.locker.lockAhead(in, d.old, d.oldRow) }
	}
	return d, compileReturning(c, &d.dml, n.Returning, s)
}

func (d *deleteOp) Next(b *rowcontainer.Batch) error { return d.loop(b, d.step) }

func (d *deleteOp) step(in types.Row, b *rowcontainer.Batch) error {
	rowcontainer.CopySlots(d.oldRow, in, d.old)
	if ok, err := d.locker.take(d.oldRow); !ok {
		return err
	}
	if err := d.writer.ComputeOld(d.oldRow); err != nil {
		return err
	}
	if ok, err := d.fire.before(d.oldRow, nil); !ok {
		return err
	}
	if err := d.locker.unchangedWithin(d.oldRow, "deleted"); err != nil {
		return err
	}
	if err := d.writer.Delete(d.run.Ctx, d.run.Txn, d.oldRow); err != nil {
		return err
	}
	if err := d.gone(d.oldRow, nil); err != nil {
		return err
	}
	if err := d.fire.changed(d.oldRow, nil); err != nil {
		return err
	}
	return d.emit(in, b)
}

// rowLocker locks rows before they are changed. It has nothing to do if the input locks
// the rows of the table itself and yields each once.
type rowLocker struct {
	stmt     *Statement
	run      *operator.Run
	writer   *tableaccess.Writer
	strength lock.Strength
	locked   bool
	done     string // what the statement does with rows
}

func newRowLocker(st *Statement, r *operator.Run, input plan.Node, w *tableaccess.Writer, s lock.Strength, done string) *rowLocker {
	return &rowLocker{stmt: st, run: r, writer: w, strength: s, locked: locksRows(input), done: done}
}

// locksRows reports whether a plan is a locking scan of one table, perhaps
// below filters and projections.
func locksRows(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Locking != nil && n.Locking.Strength.Writes()
	case *plan.IndexJoin:
		return n.Locking != nil && n.Locking.Strength.Writes()
	case *plan.Filter:
		return locksRows(n.Input)
	case *plan.Project:
		return locksRows(n.Input)
	}
	return false
}

// take locks a row and reports whether to go on with it: not if this statement
// has changed it already or if it is gone. A row that changed since it was read
// cannot be looked at again below joins: the statement starts over.
func (k *rowLocker) take(old types.Row) (bool, error) {
	if k.locked {
		return true, nil
	}
	key, err := k.writer.PrimaryKey(old)
	if err != nil {
		return false, err
	}
	res, err := k.writer.Whole(k.run.Txn).LockUnchanged(k.run.Ctx, key, k.strength, lock.WaitBlock)
	if err != nil {
		return false, err
	}
	if res.Self {
		return false, tableaccess.SeenWithin(k.run.Txn, key, k.done)
	}
	if !res.Found {
		if keys := k.stmt.keys; keys != nil {
			keys.missed = true
		}
		return false, nil
	}
	if !res.Changed {
		return true, nil
	}
	now := bytes.Clone(res.Value)
	was, err := k.writer.PrimaryValue(old)
	if err != nil {
		return false, err
	}
	if bytes.Equal(now, was) {
		return true, nil // the input saw this version when it locked the row
	}
	return false, tableaccess.ErrRowChanged(key)
}

// unchangedWithin returns 27000 if a function or a trigger that the statement calls has changed the row that is about to
// be changed: what it wrote would be lost. done says what the statement does with the row, which it has not written itself.
func (k *rowLocker) unchangedWithin(old types.Row, done string) error {
	txn, ok := k.run.Txn.(tableaccess.WithinTxn)
	if !ok || !txn.WroteWithin() {
		return nil
	}
	key, err := k.writer.PrimaryKey(old)
	if err != nil {
		return err
	}
	for i := range max(k.writer.Indexes[0].Families(), 1) {
		if k.writer.Indexes[0].HasFamilies() {
			k.writer.Indexes[0].SetFamily(key, i)
		}
		written, known := txn.WrittenWithin(key)
		if !known {
			if written, err = txn.SpilledWithin(k.run.Ctx, key); err != nil {
				return err
			}
		}
		if written {
			return tableaccess.ErrChangedWithin(done)
		}
	}
	return nil
}

func errAffectTwice() error {
	return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
		WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

// lockAhead locks the rows of a batch of the input, whose columns stand at positions old of it;
// row has room for one.
func (k *rowLocker) lockAhead(in *rowcontainer.Batch, old []int, row types.Row) error {
	keys := make([][]byte, 0, in.Len())
	for i := range in.Len() {
		rowcontainer.CopySlots(row, in.Row(i), old)
		key, err := k.writer.PrimaryKey(row)
		if err != nil {
			break // take will say so
		}
		keys = append(keys, bytes.Clone(key))
	}
	return k.writer.Whole(k.run.Txn).LockUnchangedAhead(k.run.Ctx, keys, k.strength)
}
