package exec

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// afterQueue is what is left to do when a statement has written its rows: checks of
// deferrable keys and of foreign keys, and the actions of those that have some, which
// may add more.
type afterQueue struct {
	run      *run
	batches  []afterBatch
	programs map[*plan.Cascade]*Program
	finders  map[*plan.Reference]*finder
}

// afterBatch are the keys that one operator noted for one constraint.
type afterBatch interface {
	process(q *afterQueue) error
	close()
}

// reset empties the queue.
func (q *afterQueue) reset(r *run) {
	q.run = r
	for _, b := range q.batches {
		b.close()
	}
	q.batches = nil
}

func (q *afterQueue) batch(w *keyWatch, width int) *keyBatch {
	b := &keyBatch{watch: w, seen: map[string]struct{}{}}
	b.rows.open(q.run, width)
	if m := q.run.env.Constraints; m != nil && w.Key.Deferrable && (w.referrer == nil || w.referrer.Action == catalog.NoAction) {
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

func (b *keyBatch) close() { b.rows.close() }

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
		d := &Deferred{ref: w.Reference, referrer: w.referrer != nil, key: key}
		for _, v := range b.rows.rows[i][:len(w.Ords)] {
			d.values = append(d.values, copyValue(v))
		}
		if !d.referrer {
			d.row = b.children[i]
		}
		if err := q.run.env.Constraints.Defer(d); err != nil {
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
		if i%maxAhead == 0 {
			if err := lockKeysAhead(r, b.keys[i:], kvpb.LockKeyShare); err != nil {
				return err
			}
		}
		res, err := r.txn.Lock(r.Ctx, []byte(key), kvpb.LockKeyShare, kvpb.WaitBlock)
		if err != nil {
			return lockError(err, b.watch.Ref.Name)
		}
		if res.Found {
			continue
		}
		refers, err := q.stillRefers(b, i)
		if err != nil {
			return err
		}
		if refers {
			return b.watch.missing(b.rows.rows[i], r.Format())
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
	q.run.txn.BeginStatement()
	ok, err := f.rowRefers(q.run, []byte(b.children[i]), b.keys[i])
	if ok || err != nil {
		return ok, err
	}
	return f.find(q.run, &referredKeys{rows: b.rows.rows[i : i+1], keys: b.keys[i : i+1]}, nil)
}

// refuse fails if rows refer to keys that went away.
func (q *afterQueue) refuse(b *keyBatch) error {
	f, err := q.finder(b.watch.Reference)
	if err != nil {
		return err
	}
	for {
		keys := &referredKeys{rows: b.rows.rows, keys: b.keys}
		if err := q.refuseFound(f, b, keys); err != nil || !keys.missed {
			return err
		}
	}
}

// refuseFound fails if rows that the newest snapshot has refer to keys that went away.
func (q *afterQueue) refuseFound(f *finder, b *keyBatch, keys *referredKeys) error {
	r := q.run
	if r.txn.Isolation() == kvpb.Serializable {
		// Whoever referred to the keys before they were locked is seen then.
		if err := r.txn.Freshen(r.Ctx); err != nil {
			return err
		}
	}
	r.txn.BeginCheck(false)
	defer r.txn.EndCheck()
	at := 0
	found, err := f.find(r, keys, func(pk []byte, i int) (bool, error) {
		at = i
		return q.holds(f, b, pk, i)
	})
	if !found || err != nil {
		return err
	}
	return b.watch.stillReferred(b.rows.rows[at], r.Format())
}

// holds verifies that the row under key pk refers to key i, and that this is gone.
func (q *afterQueue) holds(f *finder, b *keyBatch, pk []byte, i int) (bool, error) {
	r := q.run
	pk = bytes.Clone(pk)
	res, err := f.op.table.over(r.txn).Lock(r.Ctx, pk, kvpb.LockKeyShare, kvpb.WaitBlock)
	if err != nil {
		return false, lockError(err, b.watch.Table.Name)
	}
	if !res.Found {
		f.env.keys.missed = true
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
	_, again, err := r.txn.Get(r.Ctx, []byte(b.keys[i]))
	return !again, err
}

// cascade runs a referential action.
func (q *afterQueue) cascade(b *keyBatch) error {
	p, err := q.program(b.watch.referrer.Cascade)
	if err != nil {
		return err
	}
	for {
		keys := &referredKeys{rows: b.rows.rows, keys: b.keys}
		if err := q.act(p, keys); err != nil {
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

// program returns the compiled program of a referential action.
func (q *afterQueue) program(c *plan.Cascade) (*Program, error) {
	if p := q.programs[c]; p != nil {
		return p, nil
	}
	p, err := CompileNode(c.Root, nil)
	if err != nil {
		return nil, err
	}
	if q.programs == nil {
		q.programs = map[*plan.Cascade]*Program{}
	}
	q.programs[c] = p
	return p, nil
}

// act runs the program of a referential action for the rows that the newest snapshot has.
func (q *afterQueue) act(p *Program, keys *referredKeys) error {
	r := q.run
	if err := r.txn.Freshen(r.Ctx); err != nil {
		return err
	}
	r.txn.BeginStatement()
	env := *r.env
	env.Ctx, env.Params, env.Copy = r.Ctx, nil, nil
	env.after, env.keys = q, keys
	_, err := p.Run(&env, nil)
	return err
}

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
	src  *source
	env  Env
	run  run
	text scratch
}

func newFinder(ref *plan.Reference) (*finder, error) {
	f := &finder{}
	op, err := newReferringOp(&f.run, ref, len(ref.Table.Columns))
	if err != nil {
		return nil, err
	}
	f.op, f.src = op, newSource(&f.run, op, len(ref.Table.Columns))
	return f, nil
}

// find calls f for rows that refer to one of the keys, with the row's key and the
// position of what it refers to, until f returns true; a nil f means the first.
func (f *finder) find(r *run, keys *referredKeys, each func(pk []byte, i int) (bool, error)) (bool, error) {
	f.env, f.run = *r.env, *r
	f.env.keys = keys
	f.run.env = &f.env
	defer func() { f.src.stop(); f.run = run{} }()
	if err := f.src.start(); err != nil {
		return false, err
	}
	for {
		ok, err := f.src.fetch(BatchRows)
		if !ok {
			return false, err
		}
		for i := range f.src.batch.n {
			if each == nil {
				return true, nil
			}
			row := f.src.batch.Row(i)
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
func (f *finder) rowRefers(r *run, pk []byte, want string) (bool, error) {
	value, found, err := f.op.table.over(r.txn).Get(r.Ctx, pk)
	if err != nil || !found {
		return false, err
	}
	f.text.reset()
	return f.same(r, pk, f.text.bytes(value), want)
}

// same reports whether the row that an entry holds refers to the key want.
func (f *finder) same(r *run, pk, value []byte, want string) (bool, error) {
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
func CheckDeferred(ctx context.Context, env *Env, list []*Deferred) error {
	e := *env
	e.Ctx, e.Constraints = ctx, nil
	p := &Program{}
	r := &p.run
	r.bind(ctx, &e)
	q := &p.after
	q.run = r
	defer q.reset(r)
	byRef := map[*plan.Reference][2]*keyBatch{}
	unique := map[*catalog.Index]*claimBatch{}
	for _, d := range list {
		if d.ref == nil {
			if err := q.addClaim(unique, d); err != nil {
				return err
			}
			continue
		}
		if err := d.mayLock(env); err != nil {
			return err
		}
		pair := byRef[d.ref]
		side := 0
		if d.referrer {
			side = 1
		}
		if pair[side] == nil {
			k, err := newRefKey(d.ref)
			if err != nil {
				return err
			}
			w := &keyWatch{refKey: k}
			if d.referrer {
				w.referrer = &plan.Referrer{Reference: d.ref}
			}
			pair[side] = q.batch(w, len(d.values))
			byRef[d.ref] = pair
		}
		var child []byte
		if !d.referrer {
			child = []byte(d.row)
		}
		if err := pair[side].add([]byte(d.key), child, d.values); err != nil {
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
		if ix.WriteOnly || ix.Inverted != "" || !ix.Total() {
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
