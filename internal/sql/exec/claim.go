package exec

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Several rows may have the key of a deferrable UNIQUE, PRIMARY KEY or exclusion
// constraint until it is checked: their entries are those of an index that is not
// unique. The check locks the claim, the key without what makes the entries distinct,
// and counts the rows that have it. Whoever has the lock and finds one row only has
// settled the claim until its transaction ends: others that store such a row, and
// verify it, wait for the lock.
//
// A constraint that is deferred is verified at the end of the statement too, but
// without waiting; only what that leaves open waits for the end of the transaction.

// claimWatch is a deferrable key of the rows that an operator writes.
type claimWatch struct {
	writer *TableWriter
	index  int // in writer.indexes
	ords   []int
	batch  *claimBatch // of this execution
}

func claimWatches(w *TableWriter) (out []*claimWatch) {
	for i := range w.indexes {
		if x := w.indexes[i].Index; x.Desc.Deferrable {
			out = append(out, &claimWatch{writer: w, index: i, ords: keyOrds(x)})
		}
	}
	return out
}

// note remembers the claim of a row that was stored, unless the row old, which it
// replaces, had it already.
func (w *claimWatch) note(d *dml, old, row types.Row) error {
	x := &w.writer.indexes[w.index]
	in, err := x.has(row)
	if err != nil || !in || !x.Claims(row) {
		return err
	}
	if old != nil && !differ(old, row, w.ords) {
		if was, err := x.has(old); was || err != nil {
			return err
		}
	}
	if w.batch == nil {
		w.batch = d.run.after.claims(w.writer, x.Index)
	}
	w.writer.probe, err = x.AppendClaim(w.writer.probe[:0], row)
	if err != nil {
		return err
	}
	return w.batch.add(w.writer.probe)
}

// claimBatch are the claims to verify of one constraint.
type claimBatch struct {
	writer   *TableWriter // for errors
	x        *rowcodec.Index
	deferred bool
	acc      quota.Account
	keys     []string // in the order in which the rows were stored
	seen     map[string]struct{}
}

// claims begins a batch of claims.
func (q *afterQueue) claims(w *TableWriter, x *rowcodec.Index) *claimBatch {
	b := &claimBatch{writer: w, x: x, seen: map[string]struct{}{}}
	b.acc.Init(q.run.Mem)
	if m := q.run.env.Constraints; m != nil {
		b.deferred = m.Deferred(x.Desc.ConstraintOid, x.Desc.Deferred)
	}
	q.batches = append(q.batches, b)
	return b
}

func (b *claimBatch) close() { b.acc.Close() }

func (b *claimBatch) add(claim []byte) error {
	if _, ok := b.seen[string(claim)]; ok {
		return nil
	}
	if err := b.acc.Grow(int64(len(claim) + keyOverhead)); err != nil {
		return expr.MemoryError(err)
	}
	s := string(claim)
	b.seen[s] = struct{}{}
	b.keys = append(b.keys, s)
	return nil
}

// addClaim puts a deferred claim into the batch of its index.
func (q *afterQueue) addClaim(batches map[*catalog.Index]*claimBatch, d *Deferred) error {
	b := batches[d.index]
	if b == nil {
		w, err := NewTableWriter(d.table)
		if err != nil {
			return err
		}
		w.schema = d.schema
		w.SetFormat(q.run.Format())
		x, err := rowcodec.Compile(d.table, d.index)
		if err != nil {
			return err
		}
		b = q.claims(w, x)
		batches[d.index] = b
	}
	return b.add([]byte(d.key))
}

// process locks the claims, then looks for those that several rows have.
func (b *claimBatch) process(q *afterQueue) error {
	r := q.run
	wait := kvpb.WaitBlock
	if b.deferred {
		wait = kvpb.WaitSkip
	}
	var locked []string
	for _, key := range b.keys {
		if plant.On(plant.SkipClaim) {
			locked = append(locked, key)
			continue
		}
		res, err := r.txn.Lock(r.Ctx, []byte(key), kvpb.LockUpdate, wait)
		if err != nil {
			return lockError(err, b.writer.table.Name)
		}
		if !res.Skipped {
			locked = append(locked, key)
		} else if err := b.postpone(r, key); err != nil {
			return err
		}
	}
	r.txn.BeginCheck(true) // whoever had a claim before it was locked is seen
	defer r.txn.EndCheck()
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

// postpone leaves a claim to the end of the transaction.
func (b *claimBatch) postpone(r *run, key string) error {
	w := b.writer
	return r.env.Constraints.Defer(&Deferred{key: key, table: w.table, index: b.x.Desc, schema: w.schema})
}

// claimSpan are the entries of the rows that have a claim.
func claimSpan(key string) kvpb.Span {
	prefix := []byte(key[:len(key)-1]) // without the family
	return kvpb.Span{Key: prefix, EndKey: appendPrefixEnd(nil, prefix)}
}

// shared returns those of the claims that have several entries.
func (b *claimBatch) shared(r *run, list []string) (map[string]bool, error) {
	out := map[string]bool{}
	list = slices.Clone(list)
	slices.Sort(list)
	for len(list) > 0 {
		n := min(len(list), maxPageSpans)
		if err := sharedAmong(r, list[:n], out); err != nil {
			return nil, err
		}
		list = list[n:]
	}
	return out, nil
}

// sharedAmong is shared for as many claims, sorted, as one request takes.
func sharedAmong(r *run, list []string, out map[string]bool) error {
	spans := make([]kvpb.Span, len(list))
	for i, key := range list {
		spans[i] = claimSpan(key)
	}
	at, count := 0, 0
	return scanClaims(r, spans, func(key, _ []byte) (bool, error) {
		for !bytes.HasPrefix(key, spans[at].Key) {
			at, count = at+1, 0
		}
		if count++; count > 1 {
			out[list[at]] = true
		}
		return true, nil
	})
}

// scanClaims calls f for the entries in sorted spans until it returns false.
func scanClaims(r *run, spans []kvpb.Span, f func(key, value []byte) (bool, error)) error {
	var page kvpb.ScanResponse
	for len(spans) > 0 {
		if err := r.Canceled(); err != nil {
			return err
		}
		page.Reset()
		if err := r.txn.ScanSpans(r.Ctx, spans, kv.ScanOptions{MaxRows: BatchRows}, &page); err != nil {
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
		for len(spans) > 0 && spans[0].Before(page.Resume) {
			spans = spans[1:]
		}
		if len(spans) > 0 && bytes.Compare(spans[0].Key, page.Resume) < 0 {
			spans = slices.Clone(spans)
			spans[0].Key = bytes.Clone(page.Resume)
		}
	}
	return nil
}

// refuse fails if several rows have a claim. It waits for those who change or delete
// such rows: a row that is locked keeps the claim or has lost it.
func (b *claimBatch) refuse(r *run, key string) error {
	for {
		settled, err := b.count(r, key)
		if settled || err != nil {
			return err
		}
		r.txn.EndCheck()
		r.txn.BeginCheck(true)
	}
}

// count locks the rows that have a claim, and fails if there are two. It returns false
// if one changed before it was locked.
func (b *claimBatch) count(r *run, key string) (settled bool, err error) {
	var entries []claimEntry
	err = scanClaims(r, []kvpb.Span{claimSpan(key)}, func(k, v []byte) (bool, error) {
		entries = append(entries, claimEntry{bytes.Clone(k), bytes.Clone(v)})
		return len(entries) < maxPageSpans, nil
	})
	if err != nil {
		return false, err
	}
	pk := b.x.NewDecoder(keyOrds(b.writer.indexes[0].Index))
	rows := 0
	for _, e := range entries {
		row := make(types.Row, len(b.writer.table.Columns))
		if err := e.decode(pk, b.writer.indexes[0].Index, row); err != nil {
			return false, err
		}
		rowKey, err := b.writer.PrimaryKey(row)
		if err != nil {
			return false, err
		}
		res, err := b.writer.rows(r.txn).Lock(r.Ctx, rowKey, kvpb.LockKeyShare, kvpb.WaitBlock)
		switch {
		case err != nil:
			return false, lockError(err, b.writer.table.Name)
		case res.Found && res.Changed:
			return false, nil
		case res.Found:
			rows++
		}
		if rows > 1 {
			if err := e.decode(b.x.NewDecoder(keyOrds(b.x)), b.x, row); err != nil {
				return false, err
			}
			return false, b.writer.duplicateError(b.x, row)
		}
	}
	return len(entries) < maxPageSpans, nil
}

// claimEntry is an entry of a deferrable index.
type claimEntry struct{ key, value []byte }

// decode sets the key columns of x in row, which dec reads from the entry.
func (e *claimEntry) decode(dec *rowcodec.Decoder, x *rowcodec.Index, row types.Row) error {
	values := make(types.Row, x.Declared)
	if err := dec.Decode(e.key, e.value, values); err != nil {
		return err
	}
	for i, v := range values {
		row[x.Key[i].Ord] = v
	}
	return nil
}
