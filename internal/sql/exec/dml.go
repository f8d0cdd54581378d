package exec

import (
	"bytes"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// modifier is an operator that writes. Without RETURNING it does all its work in
// the first call of next, which yields no row.
type modifier interface {
	operator
	affected() int64
}

// dml is what INSERT, UPDATE and DELETE share.
type dml struct {
	run       *run
	name      string
	src       *source
	writer    *TableWriter
	returning []expr.Func
	hasReturn bool
	rows      int64 // affected
	text      scratch
	// ahead, if set, prepares for the rows of a batch of the input.
	ahead func(in *Batch) error
	// refs are the foreign keys of the table, referrers those that refer to it.
	refs      []*keyWatch
	referrers []*keyWatch
	claims    []*claimWatch // its deferrable keys
}

func (d *dml) affected() int64 { return d.rows }

func (d *dml) open() error {
	if err := d.run.env.mayWrite(d.writer.table, d.name); err != nil {
		return err
	}
	d.rows = 0
	d.forget()
	d.writer.SetFormat(d.run.Format())
	return d.src.start()
}

func (d *dml) close() { d.src.stop() }

// loop feeds the input's rows to step, which appends to b what is returned. It
// stops after a batch that returned rows.
func (d *dml) loop(b *Batch, step func(row types.Row, b *Batch) error) error {
	b.clear()
	for {
		d.text.reset()
		want := BatchRows
		if d.hasReturn {
			want = b.max
		}
		ok, err := d.src.fetch(want)
		if !ok {
			return err
		}
		if d.ahead != nil && d.src.batch.n >= minAhead {
			if err := d.ahead(&d.src.batch); err != nil {
				return err
			}
		}
		for i := 0; i < d.src.batch.n; i++ {
			if err := step(d.src.batch.Row(i), b); err != nil {
				return err
			}
		}
		if b.n > 0 {
			return nil
		}
		if err := d.run.Canceled(); err != nil {
			return err
		}
	}
}

// emit appends the RETURNING list for a row.
func (d *dml) emit(row types.Row, b *Batch) error {
	d.rows++
	if !d.hasReturn {
		return nil
	}
	out := b.add()
	for i, f := range d.returning {
		v, err := f(row)
		if err != nil {
			return err
		}
		if out[i], err = d.text.datum(v); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) returning(d *dml, r *plan.Returning, s expr.Scope) error {
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
	claim    *rowClaim
	old      []int
	set      []setter
	checks   []check
	combined types.Row // input row, then the new row
	width    int       // of the input
	oldRow   types.Row
}

// setter assigns to a column.
type setter struct {
	ord   int
	value expr.Func
}

func (c *compiler) setters(list []plan.SetCol, s expr.Scope) ([]setter, error) {
	out := make([]setter, len(list))
	for i, sc := range list {
		f, err := c.Expr(sc.Value, s)
		if err != nil {
			return nil, err
		}
		out[i] = setter{sc.Ord, f}
	}
	return out, nil
}

func (c *compiler) update(n *plan.Update) (operator, error) {
	u := &updateOp{dml: dml{run: c.run, name: "UPDATE"}}
	var s expr.Scope
	var err error
	if u.src, s, err = c.input(n.Input); err != nil {
		return nil, err
	}
	if u.writer, err = NewTableWriter(n.Table); err != nil {
		return nil, err
	}
	if u.old, err = s.Positions(n.Old); err != nil {
		return nil, err
	}
	if u.set, err = c.setters(n.Set, s); err != nil {
		return nil, err
	}
	all := append(s[:len(s):len(s)], n.New...)
	if u.checks, err = c.checks(n.Checks, all); err != nil {
		return nil, err
	}
	u.width = len(s)
	u.combined = make(types.Row, len(all))
	u.oldRow = make(types.Row, len(n.Table.Columns))
	u.claim = newRowClaim(c, n.Input, u.writer, claimStrength(n))
	u.writer.schema, u.writer.always = n.Schema, !u.claim.locked
	if err := c.derive(u.writer, n.Derived); err != nil {
		return nil, err
	}
	if err := c.watches(&u.dml, n.References, n.Referrers); err != nil {
		return nil, err
	}
	if !u.claim.locked {
		u.ahead = func(in *Batch) error { return u.claim.lockAhead(in, u.old, u.oldRow) }
	}
	return u, c.returning(&u.dml, n.Returning, all)
}

// claimStrength is the lock an UPDATE needs: the weaker one unless it changes a key.
func claimStrength(n *plan.Update) kvpb.Strength {
	if n.ChangesKey() {
		return kvpb.LockUpdate
	}
	return kvpb.LockNoKeyUpdate
}

func (u *updateOp) next(b *Batch) error { return u.loop(b, u.step) }

func (u *updateOp) step(in types.Row, b *Batch) error {
	copySlots(u.oldRow, in, u.old)
	if ok, err := u.claim.take(u.oldRow); !ok {
		return err
	}
	row := u.combined[u.width:]
	copy(u.combined, in)
	copy(row, u.oldRow)
	for i := range u.set {
		v, err := u.set[i].value(in)
		if err != nil {
			return err
		}
		row[u.set[i].ord] = v
	}
	if err := u.writer.computeOld(u.oldRow); err != nil {
		return err
	}
	if err := u.writer.compute(row); err != nil {
		return err
	}
	if err := u.writer.CheckNotNull(row); err != nil {
		return err
	}
	if err := u.writer.runChecks(u.checks, u.combined, row); err != nil {
		return err
	}
	if err := u.writer.Update(u.run.Ctx, u.run.txn, u.oldRow, row); err != nil {
		return err
	}
	if err := u.wrote(u.oldRow, row); err != nil {
		return err
	}
	if err := u.writer.runOptions(u.checks, u.combined, row); err != nil {
		return err
	}
	return u.emit(u.combined, b)
}

// deleteOp deletes rows.
type deleteOp struct {
	dml
	claim  *rowClaim
	old    []int
	oldRow types.Row
}

func (c *compiler) delete(n *plan.Delete) (operator, error) {
	d := &deleteOp{dml: dml{run: c.run, name: "DELETE"}}
	var s expr.Scope
	var err error
	if d.src, s, err = c.input(n.Input); err != nil {
		return nil, err
	}
	if d.writer, err = NewTableWriter(n.Table); err != nil {
		return nil, err
	}
	if d.old, err = s.Positions(n.Old); err != nil {
		return nil, err
	}
	d.oldRow = make(types.Row, len(n.Table.Columns))
	d.claim = newRowClaim(c, n.Input, d.writer, kvpb.LockUpdate)
	if err := c.derive(d.writer, n.Derived); err != nil {
		return nil, err
	}
	if err := c.watches(&d.dml, nil, n.Referrers); err != nil {
		return nil, err
	}
	if !d.claim.locked {
		d.ahead = func(in *Batch) error { return d.claim.lockAhead(in, d.old, d.oldRow) }
	}
	return d, c.returning(&d.dml, n.Returning, s)
}

func (d *deleteOp) next(b *Batch) error { return d.loop(b, d.step) }

func (d *deleteOp) step(in types.Row, b *Batch) error {
	copySlots(d.oldRow, in, d.old)
	if ok, err := d.claim.take(d.oldRow); !ok {
		return err
	}
	if err := d.writer.computeOld(d.oldRow); err != nil {
		return err
	}
	if err := d.writer.Delete(d.run.Ctx, d.run.txn, d.oldRow); err != nil {
		return err
	}
	if err := d.gone(d.oldRow, nil); err != nil {
		return err
	}
	return d.emit(in, b)
}

// rowClaim makes a row ready to be changed. An input that locks the rows of the
// table itself and yields each once needs nothing more; any other row is locked
// here.
type rowClaim struct {
	run      *run
	writer   *TableWriter
	strength kvpb.Strength
	locked   bool
}

func newRowClaim(c *compiler, input plan.Node, w *TableWriter, s kvpb.Strength) *rowClaim {
	return &rowClaim{run: c.run, writer: w, strength: s, locked: locksRows(input)}
}

// locksRows reports whether a plan is a locking scan of one table, perhaps
// below filters and projections.
func locksRows(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Locking != nil && n.Locking.Strength >= plan.ForNoKeyUpdate
	case *plan.IndexJoin:
		return n.Locking != nil && n.Locking.Strength >= plan.ForNoKeyUpdate
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
func (k *rowClaim) take(old types.Row) (bool, error) {
	if k.locked {
		return true, nil
	}
	key, err := k.writer.PrimaryKey(old)
	if err != nil {
		return false, err
	}
	res, err := k.writer.rows(k.run.txn).Lock(k.run.Ctx, key, k.strength, kvpb.WaitBlock)
	if err != nil || res.Self {
		return false, err
	}
	if !res.Found {
		if keys := k.run.env.keys; keys != nil {
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
	return false, errRowChanged(key)
}

// errRowChanged makes the session run the statement again, with a new snapshot.
func errRowChanged(key []byte) error {
	return &kvpb.RetryError{Reason: "a row changed while the statement was reading it", Key: bytes.Clone(key)}
}

func errAffectTwice() error {
	return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
		WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}
