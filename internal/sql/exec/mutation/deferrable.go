package mutation

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Several rows may have the same key of a deferrable UNIQUE, PRIMARY KEY or exclusion
// constraint until it is checked, so its index is not unique: the primary key makes the
// entries distinct. The check locks the unique key, which is the entry's key without that
// part, and counts the rows that have it. A transaction that finds one row keeps the lock
// until it ends: others that store such a row wait for the lock when they check theirs.
//
// A deferred constraint is checked at the end of the statement too, but without waiting.
// What that leaves open is checked at the end of the transaction.

// uniqueWatch notes the unique keys that an operator writes into a deferrable index.
type uniqueWatch struct {
	writer *tableaccess.Writer
	index  int // in writer.indexes
	ords   []int
	batch  *uniqueBatch // of this execution
	key    []byte       // scratch
}

func uniqueWatches(w *tableaccess.Writer) (out []*uniqueWatch) {
	for i := range w.Indexes {
		if x := w.Indexes[i].Index; x.Desc.Deferrable {
			out = append(out, &uniqueWatch{writer: w, index: i, ords: tableaccess.KeyOrds(x)})
		}
	}
	return out
}

// note remembers the unique key of a row that was stored, unless the row old, which it
// replaces, had it already.
func (w *uniqueWatch) note(d *dml, old, row types.Row) error {
	x := &w.writer.Indexes[w.index]
	in, err := x.Has(row)
	if err != nil || !in || !x.MustBeUnique(row) {
		return err
	}
	if old != nil && !differ(old, row, w.ords) {
		if was, err := x.Has(old); was || err != nil {
			return err
		}
	}
	if w.batch == nil {
		w.batch = d.stmt.queue.newUniqueBatch(w.writer, x.Index)
	}
	w.key, err = x.AppendUniqueKey(w.key[:0], row)
	if err != nil {
		return err
	}
	return w.batch.add(w.key)
}

// uniqueBatch holds the unique keys of one constraint that are to be checked.
type uniqueBatch struct {
	writer   *tableaccess.Writer // for errors
	x        *rowcodec.Index
	deferred bool
	acc      quota.Account
	keys     []string // in the order in which the rows were stored
	seen     map[string]struct{}
}

// newUniqueBatch begins the batch of a constraint.
func (q *afterQueue) newUniqueBatch(w *tableaccess.Writer, x *rowcodec.Index) *uniqueBatch {
	b := &uniqueBatch{writer: w, x: x, seen: map[string]struct{}{}}
	b.acc.Init(q.run.Mem)
	if m := q.run.Env.Constraints; m != nil {
		b.deferred = m.Deferred(x.Desc.ConstraintOid, x.Desc.Deferred)
	}
	q.batches = append(q.batches, b)
	return b
}

func (b *uniqueBatch) close() { b.acc.Close() }

func (b *uniqueBatch) add(key []byte) error {
	if _, ok := b.seen[string(key)]; ok {
		return nil
	}
	if err := b.acc.Grow(int64(len(key) + keyOverhead)); err != nil {
		return expr.MemoryError(err)
	}
	s := string(key)
	b.seen[s] = struct{}{}
	b.keys = append(b.keys, s)
	return nil
}

// addUnique puts a deferred check into the batch of its index.
func (q *afterQueue) addUnique(batches map[*catalog.Index]*uniqueBatch, d *operator.Deferred) error {
	b := batches[d.Index]
	if b == nil {
		w, err := tableaccess.NewWriter(d.Table)
		if err != nil {
			return err
		}
		w.Schema = d.Schema
		w.SetFormat(q.run.Format())
		w.SetShown(q.run.Env.Shown)
		x, err := rowcodec.Compile(d.Table, d.Index)
		if err != nil {
			return err
		}
		b = q.newUniqueBatch(w, x)
		batches[d.Index] = b
	}
	return b.add([]byte(d.Key))
}

// process locks the keys, then looks for those that several rows have.
func (b *uniqueBatch) process(q *afterQueue) error {
	r := q.run
	wait := lock.WaitBlock
	if b.deferred {
		wait = lock.WaitSkip
	}
	var locked []string
	for _, key := range b.keys {
		if plant.On(plant.SkipUniqueLock) {
			locked = append(locked, key)
			continue
		}
		res, err := r.Txn.Lock(r.Ctx, []byte(key), lock.Update, wait)
		if err != nil {
			return tableaccess.LockError(err, b.writer.Table().Name)
		}
		if !res.Skipped {
			locked = append(locked, key)
		} else if err := b.postpone(r, key); err != nil {
			return err
		}
	}
	r.Txn.BeginCheck(true) // sees rows that were stored before their key was locked
	defer r.Txn.EndCheck()
	shared, err := b.shared(r, locked)
	if err != nil {
		return err
	}
	for _, key := range locked {
		if !shared[key] {
			continue
		}
		if b.deferred {
			err = b.postpone(r, key)
		} else {
			err = b.refuse(r, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// postpone leaves a key to the end of the transaction.
func (b *uniqueBatch) postpone(r *operator.Run, key string) error {
	w := b.writer
	return r.Env.Constraints.Defer(&operator.Deferred{Key: key, Table: w.Table(), Index: b.x.Desc, Schema: w.Schema})
}

// uniqueSpan holds the entries of the rows that have a unique key.
func uniqueSpan(key string) kvpb.Span {
	prefix := []byte(key[:len(key)-1]) // without the family
	return kvpb.Span{Key: prefix, EndKey: keys.PrefixEnd(prefix)}
}

// shared returns those of the keys that have several entries.
func (b *uniqueBatch) shared(r *operator.Run, list []string) (map[string]bool, error) {
	out := map[string]bool{}
	list = slices.Clone(list)
	slices.Sort(list)
	for len(list) > 0 {
		n := min(len(list), scan.MaxPageSpans)
		if err := sharedAmong(r, list[:n], out); err != nil {
			return nil, err
		}
		list = list[n:]
	}
	return out, nil
}

// sharedAmong is shared for as many keys, sorted, as one request takes.
func sharedAmong(r *operator.Run, list []string, out map[string]bool) error {
	spans := make([]kvpb.Span, len(list))
	for i, key := range list {
		spans[i] = uniqueSpan(key)
	}
	at, count := 0, 0
	return scanUnique(r, spans, func(key, _ []byte) (bool, error) {
		for !bytes.HasPrefix(key, spans[at].Key) {
			at, count = at+1, 0
		}
		if count++; count > 1 {
			out[list[at]] = true
		}
		return true, nil
	})
}

// scanUnique calls f for the entries in sorted spans until it returns false.
func scanUnique(r *operator.Run, spans []kvpb.Span, f func(key, value []byte) (bool, error)) error {
	var page kvpb.ScanResponse
	for len(spans) > 0 {
		if err := r.Canceled(); err != nil {
			return err
		}
		page.Reset()
		if err := r.Txn.ScanSpans(r.Ctx, spans, kv.ScanOptions{MaxRows: rowcontainer.BatchRows}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if more, err := f(page.Key(i), page.Value(i)); !more || err != nil {
				return err
			}
		}
		if page.Resume == nil {
			return nil
		}
		spans = kvpb.Rest(spans, bytes.Clone(page.Resume))
	}
	return nil
}

// refuse fails if several rows have a key. It waits for those who change or delete
// such rows: a row that is locked keeps the key or has lost it.
func (b *uniqueBatch) refuse(r *operator.Run, key string) error {
	for {
		settled, err := b.count(r, key)
		if settled || err != nil {
			return err
		}
		r.Txn.EndCheck()
		r.Txn.BeginCheck(true)
	}
}

// count locks the rows that have a key, and fails if there are two. It returns false
// if one changed before it was locked.
func (b *uniqueBatch) count(r *operator.Run, key string) (settled bool, err error) {
	var entries []uniqueEntry
	err = scanUnique(r, []kvpb.Span{uniqueSpan(key)}, func(k, v []byte) (bool, error) {
		entries = append(entries, uniqueEntry{bytes.Clone(k), bytes.Clone(v)})
		return len(entries) < scan.MaxPageSpans, nil
	})
	if err != nil {
		return false, err
	}
	pk := b.x.NewDecoder(tableaccess.KeyOrds(b.writer.Indexes[0].Index))
	rows := 0
	for _, e := range entries {
		row := make(types.Row, len(b.writer.Table().Columns))
		if err := e.decode(pk, b.writer.Indexes[0].Index, row); err != nil {
			return false, err
		}
		rowKey, err := b.writer.PrimaryKey(row)
		if err != nil {
			return false, err
		}
		res, err := b.writer.Whole(r.Txn).Lock(r.Ctx, rowKey, lock.KeyShare, lock.WaitBlock)
		switch {
		case err != nil:
			return false, tableaccess.LockError(err, b.writer.Table().Name)
		case res.Found && res.Changed:
			return false, nil
		case res.Found:
			rows++
		}
		if rows > 1 {
			if err := e.decode(b.x.NewDecoder(tableaccess.KeyOrds(b.x)), b.x, row); err != nil {
				return false, err
			}
			return false, b.writer.DuplicateError(b.x, row)
		}
	}
	return len(entries) < scan.MaxPageSpans, nil
}

// uniqueEntry is an entry of a deferrable index.
type uniqueEntry struct{ key, value []byte }

// decode sets the key columns of x in row, which dec reads from the entry.
func (e *uniqueEntry) decode(dec *rowcodec.Decoder, x *rowcodec.Index, row types.Row) error {
	values := make(types.Row, x.Declared)
	if err := dec.Decode(e.key, e.value, values); err != nil {
		return err
	}
	for i, v := range values {
		row[x.Key[i].Ord] = v
	}
	return nil
}
