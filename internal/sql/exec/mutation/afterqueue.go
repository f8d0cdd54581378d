package mutation

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// afterQueue is what is left to do when a statement has written its rows: checks of
// deferrable keys and of foreign keys, and the actions of those that have some, which
// may add more.
type afterQueue struct {
	run     *operator.Run
	batches []afterBatch
	compile actionCompiler
	actions map[*plan.Cascade]*action
	finders map[*plan.Reference]*finder
	// fired are the triggers before the statement that have fired.
	fired map[firedKind]bool
}

// afterBatch are the keys that one operator noted for one constraint.
type afterBatch interface {
	process(q *afterQueue) error
	close()
}

// reset empties the queue.
func (q *afterQueue) reset(r *operator.Run) {
	q.run = r
	for _, b := range q.batches {
		b.close()
	}
	q.batches, q.fired = nil, nil
}

func (q *afterQueue) batch(w *keyWatch, width int) *keyBatch {
	b := &keyBatch{watch: w, seen: map[string]struct{}{}}
	b.rows.Open(&q.run.State, width)
	if m := q.run.Env.Constraints; m != nil && w.Key.Deferrable && (w.referrer == nil || w.referrer.Action == catalog.NoAction) {
		b.deferred = m.Deferred(w.Key.Oid, w.Key.Deferred)
	}
	q.batches = append(q.batches, b)
	return b
}

// drain does everything that is queued, in order.
func (q *afterQueue) drain() error {
	for len(q.batches) > 0 {
		b := q.batches[0]
		q.batches = q.batches[1:]
		err := b.process(q)
		b.close()
		if err != nil {
			return err
		}
		if err := q.run.Canceled(); err != nil {
			return err
		}
	}
	return nil
}

func (b *keyBatch) close() { b.rows.Close() }

func (b *keyBatch) process(q *afterQueue) error {
	switch w := b.watch; {
	case b.deferred:
		return q.postpone(b)
	case w.referrer == nil:
		return q.verify(b)
	case w.referrer.Action <= catalog.Restrict:
		return q.refuse(b)
	default:
		return q.cascade(b)
	}
}

// postpone leaves a batch to the end of the transaction.
func (q *afterQueue) postpone(b *keyBatch) error {
	w := b.watch
	for i, key := range b.keys {
		d := &operator.Deferred{Reference: w.Reference, Referrer: w.referrer != nil, Key: key}
		for _, v := range b.rows.Rows[i][:len(w.Ords)] {
			d.Values = append(d.Values, rowcontainer.CopyDatum(v))
		}
		if !d.Referrer {
			d.Row = b.children[i]
		}
		if err := q.run.Env.Constraints.Defer(d); err != nil {
			return err
		}
	}
	return nil
}

// verify locks the keys that rows refer to, so that they stay until the transaction
// ends, or fails if there is one missing.
func (q *afterQueue) verify(b *keyBatch) error {
	r := q.run
	for i, key := range b.keys {
		if i%scan.MaxAhead == 0 {
			if err := lockKeysAhead(r, b.keys[i:], lock.KeyShare); err != nil {
				return err
			}
		}
		res, err := r.Txn.Lock(r.Ctx, []byte(key), lock.KeyShare, lock.WaitBlock)
		if err != nil {
			return tableaccess.LockError(err, b.watch.Ref.Name)
		}
		if res.Found {
			continue
		}
		refers, err := q.stillRefers(b, i)
		if err != nil {
			return err
		}
		if refers {
			return b.watch.missing(b.rows.Rows[i], r)
		}
	}
	return nil
}

// stillRefers reports whether a row refers to key i: what the key was noted for may
// have been undone since, by another part of the statement or by a later one.
func (q *afterQueue) stillRefers(b *keyBatch, i int) (bool, error) {
	f, err := q.finder(b.watch.Reference)
	if err != nil {
		return false, err
	}
	q.run.Txn.BeginStatement()
	ok, err := f.rowRefers(q.run, []byte(b.children[i]), b.keys[i])
	if ok || err != nil {
		return ok, err
	}
	return f.find(q.run, &referredKeys{rows: b.rows.Rows[i : i+1], keys: b.keys[i : i+1]}, nil)
}

// refuse fails if rows refer to keys that went away.
func (q *afterQueue) refuse(b *keyBatch) error {
	f, err := q.finder(b.watch.Reference)
	if err != nil {
		return err
	}
	for {
		keys := &referredKeys{rows: b.rows.Rows, keys: b.keys}
		if err := q.refuseFound(f, b, keys); err != nil || !keys.missed {
			return err
		}
	}
}

// refuseFound fails if rows that the newest snapshot has refer to keys that went away.
func (q *afterQueue) refuseFound(f *finder, b *keyBatch, keys *referredKeys) error {
	r := q.run
	if r.Txn.Isolation() == kvpb.Serializable {
		// Whoever referred to the keys before they were locked is seen then.
		if err := r.Txn.Freshen(r.Ctx); err != nil {
			return err
		}
	}
	r.Txn.BeginCheck(false)
	defer r.Txn.EndCheck()
	at := 0
	found, err := f.find(r, keys, func(pk []byte, i int) (bool, error) {
		at = i
		return q.holds(f, b, pk, i)
	})
	if !found || err != nil {
		return err
	}
	return b.watch.stillReferred(b.rows.Rows[at], r)
}

// holds verifies that the row under key pk refers to key i, and that this is gone.
func (q *afterQueue) holds(f *finder, b *keyBatch, pk []byte, i int) (bool, error) {
	r := q.run
	pk = bytes.Clone(pk)
	res, err := f.op.table.Over(r.Txn).Lock(r.Ctx, pk, lock.KeyShare, lock.WaitBlock)
	if err != nil {
		return false, tableaccess.LockError(err, b.watch.Table.Name)
	}
	if !res.Found {
		f.stmt.keys.missed = true
		return false, nil
	}
	if res.Changed {
		same, err := f.same(r, pk, bytes.Clone(res.Value), b.keys[i])
		if !same || err != nil {
			return false, err
		}
	}
	if b.watch.referrer != nil && b.watch.referrer.Action == catalog.Restrict {
		return true, nil
	}
	_, again, err := r.Txn.Get(r.Ctx, []byte(b.keys[i]))
	return !again, err
}

// cascade runs a referential action.
func (q *afterQueue) cascade(b *keyBatch) error {
	a, err := q.action(b.watch.referrer.Cascade)
	if err != nil {
		return err
	}
	for {
		keys := &referredKeys{rows: b.rows.Rows, keys: b.keys}
		if err := q.act(a, keys); err != nil {
			return err
		}
		if !keys.missed {
			break
		}
	}
	if b.watch.referrer.Action != catalog.SetDefault {
		return nil
	}
	// A row whose defaults are the key that went away still refers to it.
	return q.refuse(b)
}

// actionCompiler compiles the plan of a referential action, whose operators work for st. What it
// returns runs the plan to its end.
type actionCompiler func(root plan.Node, st *Statement) (run func(env *operator.Env) error, err error)

// action is a compiled referential action.
type action struct {
	stmt *Statement
	run  func(env *operator.Env) error
}

// action returns the compiled form of a referential action.
func (q *afterQueue) action(c *plan.Cascade) (*action, error) {
	if a := q.actions[c]; a != nil {
		return a, nil
	}
	a := &action{stmt: &Statement{queue: q}}
	var err error
	if a.run, err = q.compile(c.Root, a.stmt); err != nil {
		return nil, err
	}
	if q.actions == nil {
		q.actions = map[*plan.Cascade]*action{}
	}
	q.actions[c] = a
	return a, nil
}

// act runs a referential action for the rows that the newest snapshot has.
func (q *afterQueue) act(a *action, keys *referredKeys) error {
	r := q.run
	if err := r.Txn.Freshen(r.Ctx); err != nil {
		return err
	}
	r.Txn.BeginStatement()
	env := *r.Env
	env.Ctx, env.Params, env.Copy = r.Ctx, nil, nil
	env.Builtin = r.Builtin.Within() // as PostgreSQL counts the triggers that keep foreign keys
	a.stmt.keys = keys
	return a.run(&env)
}

// finder returns what looks for the rows of a foreign key's table.
func (q *afterQueue) finder(ref *plan.Reference) (*finder, error) {
	if f := q.finders[ref]; f != nil {
		return f, nil
	}
	f, err := newFinder(ref)
	if err == nil {
		if q.finders == nil {
			q.finders = map[*plan.Reference]*finder{}
		}
		q.finders[ref] = f
	}
	return f, err
}

// finder looks for rows that refer to keys, for checks.
type finder struct {
	op   *referringOp
	src  *operator.Source
	run  operator.Run
	stmt Statement
	text rowcontainer.Scratch
}

func newFinder(ref *plan.Reference) (*finder, error) {
	f := &finder{}
	op, err := newReferringOp(&f.run, &f.stmt, ref, len(ref.Table.Columns))
	if err != nil {
		return nil, err
	}
	f.op, f.src = op, operator.NewSource(&f.run, op, len(ref.Table.Columns))
	return f, nil
}

// find calls f for rows that refer to one of the keys, with the row's key and the
// position of what it refers to, until f returns true; a nil f means the first.
func (f *finder) find(r *operator.Run, keys *referredKeys, each func(pk []byte, i int) (bool, error)) (bool, error) {
	f.run, f.stmt.keys = *r, keys
	defer func() { f.src.Stop(); f.run = operator.Run{} }()
	if err := f.src.Start(); err != nil {
		return false, err
	}
	for {
		ok, err := f.src.Fetch(rowcontainer.BatchRows)
		if !ok {
			return false, err
		}
		for i := range f.src.Batch.Len() {
			if each == nil {
				return true, nil
			}
			row := f.src.Batch.Row(i)
			pk, err := f.op.primaryKey(row)
			if err != nil {
				return false, err
			}
			if found, err := each(pk, f.op.matched[i]); found || err != nil {
				return found, err
			}
		}
	}
}

// rowRefers reports whether the row under a key exists and refers to want.
func (f *finder) rowRefers(r *operator.Run, pk []byte, want string) (bool, error) {
	value, found, err := f.op.table.Over(r.Txn).Get(r.Ctx, pk)
	if err != nil || !found {
		return false, err
	}
	f.text.Reset()
	return f.same(r, pk, f.text.Value(value), want)
}

// same reports whether the row that an entry holds refers to the key want.
func (f *finder) same(r *operator.Run, pk, value []byte, want string) (bool, error) {
	row := make(types.Row, len(f.op.ref.Table.Columns))
	if err := f.op.rowDec.Decode(pk, value, row); err != nil {
		return false, err
	}
	if nulls(row, f.op.ref.Ords) > 0 {
		return false, nil
	}
	key, err := f.op.key.referring(r, row)
	return err == nil && string(key) == want, err
}

// CheckDeferred makes the checks that were left to the end of the transaction.
func CheckDeferred(ctx context.Context, env *operator.Env, list []*operator.Deferred) error {
	e := *env
	e.Ctx, e.Constraints = ctx, nil
	r := &operator.Run{}
	r.Bind(ctx, &e)
	q := &afterQueue{run: r}
	defer q.reset(r)
	byRef := map[*plan.Reference][2]*keyBatch{}
	unique := map[*catalog.Index]*uniqueBatch{}
	for _, d := range list {
		if d.Firing != nil {
			q.deferredFiring(d.Firing)
			continue
		}
		if d.Reference == nil {
			if err := q.addUnique(unique, d); err != nil {
				return err
			}
			continue
		}
		if err := d.MayLock(env); err != nil {
			return err
		}
		pair := byRef[d.Reference]
		side := 0
		if d.Referrer {
			side = 1
		}
		if pair[side] == nil {
			k, err := newRefKey(d.Reference)
			if err != nil {
				return err
			}
			w := &keyWatch{refKey: k}
			if d.Referrer {
				w.referrer = &plan.Referrer{Reference: d.Reference}
			}
			pair[side] = q.batch(w, len(d.Values))
			byRef[d.Reference] = pair
		}
		var child []byte
		if !d.Referrer {
			child = []byte(d.Row)
		}
		if err := pair[side].add([]byte(d.Key), child, d.Values); err != nil {
			return err
		}
	}
	return q.drain()
}

// referredKeys are keys that rows refer to, as they are handed to a cascade.
type referredKeys struct {
	rows []types.Row // values of the key's columns; then perhaps what they changed to
	keys []string
	// missed: a row that refers to one of them was gone when it was to be locked. An update of its
	// primary key may have moved it to where the snapshot has nothing: who looks for such rows
	// looks again. This ends, as no new row can refer to a key that is locked for update.
	missed bool
}

// childIndex chooses the index through which the rows are found that refer to a
// key, and how many of its leading columns belong to the foreign key; nil means that
// all rows have to be looked at.
func childIndex(ref *plan.Reference) (*catalog.Index, int) {
	t := ref.Table
	var best *catalog.Index
	most := 0
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if ix.WriteOnly || !ix.EntriesByRow() || !ix.Total() {
			continue
		}
		n := 0
		for _, c := range ix.Columns {
			if !containsColumn(ref.Key.Columns, c.Column) || !sameKeys(ref, c.Column) {
				break
			}
			n++
		}
		if n > most && n >= ix.HashColumns {
			best, most = ix, n
		}
	}
	return best, most
}

// sameKeys reports whether a column of a foreign key has the same keys as the one it refers to.
func sameKeys(ref *plan.Reference, column catalog.ColumnID) bool {
	i := slices.Index(ref.Key.Columns, column)
	return rowcodec.SameKeys(ref.Table.Columns[ref.Ords[i]].Type, ref.Ref.Columns[ref.RefOrds[i]].Type)
}

func containsColumn(list []catalog.ColumnID, id catalog.ColumnID) bool {
	for _, c := range list {
		if c == id {
			return true
		}
	}
	return false
}

// lockKeysAhead locks the keys that rows refer to.
func lockKeysAhead(r *operator.Run, refs []string, s lock.Strength) error {
	if len(refs) < scan.MinAhead {
		return nil
	}
	keys := make([][]byte, 0, min(len(refs), scan.MaxAhead))
	for _, k := range refs[:cap(keys)] {
		keys = append(keys, []byte(k))
	}
	return r.Txn.LockAhead(r.Ctx, keys, s)
}
