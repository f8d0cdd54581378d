package backfill

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// changedRows is how many changed keys are followed at once.
const changedRows = 256

// online is a build while others change the table, as a statement.Step. The rows are read in a snapshot, and then
// followed from snapshot to snapshot:
//
//	snapshot 0   all rows are verified, and their entries ingested
//	snapshot 1   rows changed since 0: their entries as of 0 are deleted, then those as of 1 verified and written
//	…            until few rows change from one to the next
//	table locked rows changed since the last snapshot: likewise, by the statement's transaction
type online struct {
	*Builder
	program *exec.Program
	// at reads the snapshot that the indexes hold.
	at  *kv.Txn
	mem quota.Account // of the entries of changed rows
	// left are the spans of rows that are left to follow while the table is locked, if they are few.
	left []kvpb.Span
	few  bool
	// notes has the progress noted; again says that a move is made which another node has perhaps begun, so that entries may
	// be there already.
	notes *notes
	again bool
}

// follow makes the build a step that follows the rows. If the entries are few it does nothing and returns false: the table
// is better locked at once.
func (b *Builder) follow(ctx context.Context, program *exec.Program) (bool, error) {
	n, from, err := b.newNotes()
	if err != nil {
		return false, err
	}
	o := &online{Builder: b, program: program, notes: n}
	o.mem.Init(b.E.Memory())
	many := true
	if from != nil {
		o.at = SnapshotAt(b.E, from.At)
		if err = o.resume(ctx, from); err == nil {
			err = o.copied(ctx)
		}
		err = lostPast(err)
	} else {
		o.at = Snapshot(b.E)
		many, err = o.first(ctx)
	}
	if err != nil || !many {
		o.at.Rollback(ctx)
		return false, err
	}
	b.E.AddStep(o, slices.Contains(b.Spec.Indexes, 0))
	return true, nil
}

// Close implements statement.Step.
func (o *online) Close(ctx context.Context) {
	o.at.Rollback(ctx)
	o.sink.close()
	o.ids.close()
	o.mem.Close()
}

// Snapshot returns a transaction that reads the present, now and later.
func Snapshot(e *statement.Env) *kv.Txn { return SnapshotAt(e, e.Coll.Store().DB().Clock().Now()) }

// SnapshotAt returns a transaction that reads what was there at a time.
func SnapshotAt(e *statement.Env, at hlc.Timestamp) *kv.Txn {
	t := e.Coll.Store().DB().Begin(kv.TxnOptions{Isolation: kv.RepeatableRead, ReadOnly: true, AsOf: at})
	t.BeginStatement()
	return t
}

// first verifies all rows, and fills the indexes if the entries are many. What is computed anew each time is not
// computed before that is known: it may count.
func (o *online) first(ctx context.Context) (many bool, err error) {
	if (!o.repeatable || o.ids != nil) && !o.E.IngestAlways {
		if many, err := o.moreRows(ctx, ingest.FewEntries); err != nil || !many {
			return false, err
		}
	}
	if o.ids != nil {
		if many, err := o.moreRows(ctx, maxRowIDs); err != nil || many {
			return false, err
		}
	}
	if err := o.copyRows(ctx, nil); err != nil {
		return true, err
	}
	if len(o.Spec.Indexes) > 0 && !o.sink.w.Beside() {
		return false, nil
	}
	return true, o.copied(ctx)
}

// copied makes sure that the entries of all rows are there, and unique.
func (o *online) copied(ctx context.Context) error {
	if len(o.Spec.Indexes) > 0 {
		if err := o.sink.w.Finish(); err != nil {
			return o.sink.duplicated(err)
		}
	}
	if o.deferrable() {
		now := Snapshot(o.E) // the entries are later than the rows that they are of
		defer now.Rollback(ctx)
		if err := o.verifyUnique(ctx, now); err != nil {
			return err
		}
	}
	if !o.notes.due() {
		return nil
	}
	return o.notes.note(ctx, statement.Checkpoint{At: o.at.ReadTimestamp(), Copied: true, Rows: o.rows})
}

// moreRows reports whether the table has more rows than some.
func (o *online) moreRows(ctx context.Context, than int) (bool, error) {
	x, err := rowcodec.Compile(o.Spec.Old, o.Spec.Old.Primary())
	if err != nil {
		return false, err
	}
	var page kvpb.ScanResponse
	rows, end := 0, keys.PrefixEnd(x.Prefix())
	for start := x.Prefix(); start != nil && rows <= than; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := o.at.Scan(ctx, start, end, kv.ScanOptions{MaxRows: ingest.FewEntries}, &page); err != nil {
			return false, err
		}
		rows += page.Len()
	}
	return rows > than, nil
}

// Follow implements statement.Step.
func (o *online) Follow(ctx context.Context) (int, error) {
	if o.enforced() {
		return 0, nil
	}
	o.left, o.few = nil, false
	to := Snapshot(o.E)
	if err := o.notes.moves(ctx, o.at.ReadTimestamp(), to.ReadTimestamp(), o.rows); err != nil {
		to.Rollback(ctx)
		return 0, err
	}
	changed, err := o.move(ctx, to, func(f func(*kv.Txn) error) error { return o.beside(ctx, f) })
	o.at.Rollback(ctx)
	o.at = to
	return changed, err
}

// beside runs f in a transaction of its own, which commits later than those before and earlier than those after it: nobody reads
// the keys before they are written, so nothing but the clock puts the versions of one in order.
func (o *online) beside(ctx context.Context, f func(*kv.Txn) error) error {
	var last *kv.Txn
	db := o.E.Coll.Store().DB()
	err := db.Run(ctx, func(ctx context.Context, t *kv.Txn) (err error) {
		last = t
		if t.Renew, err = o.sink.lease(ctx); err != nil {
			return err
		}
		return f(t)
	})
	if err == nil {
		db.Clock().Forward(last.CommitTimestamp())
	}
	return err
}

// Look implements statement.Step.
func (o *online) Look(ctx context.Context) (bool, error) {
	if o.enforced() {
		return true, nil
	}
	now := Snapshot(o.E)
	defer now.Rollback(ctx)
	left, more, err := changes(ctx, o.Spec.Old, o.at, now)
	o.left, o.few = left, err == nil && !more
	return o.few, err
}

// Finish implements statement.Step.
func (o *online) Finish(ctx context.Context) error {
	e := o.E
	if !o.enforced() && !plant.On(plant.LastChangesUnfollowed) {
		in := func(f func(*kv.Txn) error) error {
			e.NextCommand() // it sees what it has deleted and written
			return f(e.Txn)
		}
		if err := o.finish(ctx, in); err != nil {
			return err
		}
	}
	if err := o.sink.keep(ctx); err != nil {
		return err
	}
	if e.Filled != nil && len(o.Spec.Indexes) > 0 {
		e.Filled(o.Table, o.rows, slices.Contains(o.Spec.Indexes, 0))
	}
	return nil
}

// enforced reports whether there is nothing to follow.
func (o *online) enforced() bool {
	return o.Spec.Enforced || plant.On(plant.EnforcedEarly) && len(o.Spec.Indexes) == 0
}

// write is what a transaction does about the entries that changed rows had and have.
type write func(ctx context.Context, t *kv.Txn, before, after entrySet) error

// writes returns how the entries of changed rows are written, each for all rows before the next: a key may go from one
// row to another, so all that is deleted goes first, unless the rows stay where they are.
func (o *online) writes() []write {
	switch {
	case len(o.Spec.Indexes) == 0:
		return []write{nil}
	case o.inPlace && len(o.indexes) == 1:
		return []write{replace}
	}
	list := []write{deleteOld, o.putNew}
	if o.inPlace { // the rows are written by themselves: another scan of what has changed may return others beside these
		list = []write{ofRows(replace), ofOthers(deleteOld), ofOthers(o.putNew)}
	}
	if o.deferrable() {
		list = append(list, o.verifyNew)
	}
	return list
}

// ofRows is w for the entries of the primary index, ofOthers for those of others.
func ofRows(w write) write {
	return func(ctx context.Context, t *kv.Txn, before, after entrySet) error {
		return w(ctx, t, before.of(0, 0), after.of(0, 0))
	}
}

func ofOthers(w write) write {
	return func(ctx context.Context, t *kv.Txn, before, after entrySet) error {
		return w(ctx, t, before.of(1, math.MaxInt), after.of(1, math.MaxInt))
	}
}

// finish makes the indexes hold what the statement's transaction sees, in one go if Look has found few rows.
func (o *online) finish(ctx context.Context, in func(func(*kv.Txn) error) error) error {
	if !o.few {
		_, err := o.move(ctx, o.E.Txn, in)
		return err
	}
	defer o.restore(o.rows)
	return o.sink.duplicated(o.apply(ctx, o.E.Txn, o.left, o.writes(), in))
}

// restore makes the builder what it was before rows were followed: rows counts those of the first snapshot.
func (o *online) restore(rows int64) { o.rows, o.out = rows, o.sink }

// move makes the indexes hold what to sees, and returns how many keys of rows may have changed. Transactions that in runs
// write the difference.
func (o *online) move(ctx context.Context, to *kv.Txn, in func(func(*kv.Txn) error) error) (changed int, err error) {
	defer o.restore(o.rows)
	spans, more, err := changes(ctx, o.Spec.Old, o.at, to)
	switch {
	case err != nil:
		return 0, err
	case !more:
		return len(spans), o.sink.duplicated(o.apply(ctx, to, spans, o.writes(), in))
	}
	for _, w := range o.writes() {
		changed, err = EachChange(ctx, o.Spec.Old, o.at, to, func(spans []kvpb.Span) error {
			return o.apply(ctx, to, spans, []write{w}, in)
		})
		if err != nil {
			return changed, o.sink.duplicated(err)
		}
	}
	return changed, nil
}

// apply makes the entries of changed rows in both snapshots, and has transactions write the difference.
func (o *online) apply(ctx context.Context, to *kv.Txn, spans []kvpb.Span, writes []write, in func(func(*kv.Txn) error) error) error {
	if len(spans) == 0 {
		return nil
	}
	defer func() { o.mem.Shrink(o.mem.Used()) }()
	before, after := entrySet{}, entrySet{}
	if writes[0] != nil {
		o.out = charged{before, &o.mem}
		if err := o.runIn(ctx, o.program, RowsOf(o.at, spans)); err != nil {
			return err
		}
	}
	o.out = charged{after, &o.mem}
	if err := o.runIn(ctx, o.program, RowsOf(to, spans)); err != nil {
		return err
	}
	for _, w := range writes {
		if w == nil {
			continue
		}
		if err := in(func(t *kv.Txn) error { return w(ctx, t, before, after) }); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the spans of rows of a table that may have changed from the snapshot of at to that of to, or some of them if
// there are more than changedRows.
func changes(ctx context.Context, table *catalog.Table, at, to *kv.Txn) (spans []kvpb.Span, more bool, err error) {
	x, err := rowcodec.Compile(table, table.Primary())
	if err != nil {
		return nil, false, err
	}
	var page kvpb.ScanResponse
	var last []byte
	end := keys.PrefixEnd(x.Prefix())
	for start := x.Prefix(); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := to.Scan(ctx, start, end, kv.ScanOptions{MaxRows: changedRows + 1, ChangedSince: since(at)}, &page); err != nil {
			return nil, false, err
		}
		if page.Len() == 0 {
			continue
		}
		spans = append(spans, rowSpans(&page, last)...)
		if len(spans) > changedRows {
			return spans, true, nil
		}
		last = append(last[:0], page.Key(page.Len()-1)...)
	}
	return spans, false, nil
}

// since is the time after which what at has not seen has changed.
func since(at *kv.Txn) hlc.Timestamp {
	if plant.On(plant.ChangesUnfollowed) {
		return hlc.Timestamp{WallTime: 1 << 62}
	}
	return at.ReadTimestamp()
}

// EachChange calls f with the spans of rows of a table that may have changed from the snapshot of at to that of to, some at a time, each once: all that
// have, and some others, which need not be the same in the next call.
func EachChange(ctx context.Context, table *catalog.Table, at, to *kv.Txn, f func([]kvpb.Span) error) (changed int, err error) {
	x, err := rowcodec.Compile(table, table.Primary())
	if err != nil {
		return 0, err
	}
	var page kvpb.ScanResponse
	var last []byte // the key before the page: its row may go on there
	end := keys.PrefixEnd(x.Prefix())
	for start := x.Prefix(); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := to.Scan(ctx, start, end, kv.ScanOptions{MaxRows: changedRows, ChangedSince: since(at)}, &page); err != nil {
			return changed, err
		}
		if page.Len() == 0 {
			continue
		}
		changed += page.Len()
		spans := rowSpans(&page, last)
		last = append(last[:0], page.Key(page.Len()-1)...)
		if err := f(spans); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// rowSpans returns the spans of the rows to which the keys of a page belong, but for the row of a key before it, if
// there is one.
func rowSpans(page *kvpb.ScanResponse, before []byte) []kvpb.Span {
	spans := make([]kvpb.Span, 0, page.Len())
	for i := range page.Len() {
		if i > 0 {
			before = page.Key(i - 1)
		}
		if before == nil || !rowcodec.SameRow(before, page.Key(i)) {
			spans = append(spans, rowSpan(page.Key(i)))
		}
	}
	return spans
}

// rowSpan returns the span of the row to which a key belongs.
func rowSpan(key []byte) kvpb.Span {
	start := bytes.Clone(rowcodec.RowStart(key))
	return kvpb.Span{Key: start, EndKey: keys.PrefixEnd(start)}
}

// RowsOf returns what reads, of all that a transaction sees, only the rows of a table that have their keys in sorted spans.
func RowsOf(txn tableaccess.Txn, spans []kvpb.Span) tableaccess.Txn { return &rowsOf{txn, spans} }

// rowsOf is a transaction that sees only some rows of the table, by the sorted spans of their keys.
type rowsOf struct {
	tableaccess.Txn
	spans []kvpb.Span
}

// Scan implements tableaccess.Txn.
func (r *rowsOf) Scan(ctx context.Context, start, end []byte, opts kv.ScanOptions, res *kvpb.ScanResponse) error {
	return r.ScanSpans(ctx, []kvpb.Span{{Key: start, EndKey: end}}, opts, res)
}

// ScanSpans implements tableaccess.Txn.
func (r *rowsOf) ScanSpans(ctx context.Context, spans []kvpb.Span, opts kv.ScanOptions, res *kvpb.ScanResponse) error {
	var in []kvpb.Span
	for _, s := range spans {
		start, end := s.Key, s.End()
		for _, row := range kvpb.Narrow(r.spans, start, end) {
			if part, ok := row.Clip(start, end); ok {
				in = append(in, part)
			}
		}
	}
	if len(in) == 0 {
		res.Reset()
		return nil
	}
	return r.Txn.ScanSpans(ctx, in, opts, res)
}

// ReadAhead implements tableaccess.Txn.
func (r *rowsOf) ReadAhead(context.Context, []kvpb.Span, kv.ScanOptions, *kvpb.ScanResponse, func()) *kv.ReadAhead {
	return nil
}

// entrySet is the entries of some rows in one snapshot, by their keys.
type entrySet map[string]entry

type entry struct {
	index  int
	value  []byte
	unique bool
}

func (s entrySet) add(index int, key, value []byte, unique bool) error {
	if _, there := s[string(key)]; there && unique {
		return &ingest.DuplicateError{Index: index, Key: bytes.Clone(key), Value: bytes.Clone(value)}
	}
	s[string(key)] = entry{index, bytes.Clone(value), unique}
	return nil
}

// of returns the entries of some indexes, by their positions.
func (s entrySet) of(first, last int) entrySet {
	out := entrySet{}
	for key, e := range s {
		if first <= e.index && e.index <= last {
			out[key] = e
		}
	}
	return out
}

// charged is an entrySet whose memory is charged to an account.
type charged struct {
	entrySet
	mem *quota.Account
}

// entryBytes is about what an entry takes beside its key and value.
const entryBytes = 128

func (c charged) add(index int, key, value []byte, unique bool) error {
	if err := c.mem.Grow(int64(len(key) + len(value) + entryBytes)); err != nil {
		return err
	}
	return c.entrySet.add(index, key, value, unique)
}

// without calls f for the entries of s that other does not have, in the order of their keys. Rows that have not changed
// have the same in both.
func (s entrySet) without(other entrySet, f func(key []byte, e entry) error) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		e := s[key]
		if o, ok := other[key]; ok && bytes.Equal(o.value, e.value) {
			continue
		}
		if err := f([]byte(key), e); err != nil {
			return err
		}
	}
	return nil
}

// deleteOld deletes the entries that are no more.
func deleteOld(_ context.Context, t *kv.Txn, before, after entrySet) error {
	return before.without(after, func(key []byte, _ entry) error { return t.Delete(key) })
}

// replace writes the entries of rows whose keys stay what they are, so that no two rows meet. All are written that the rows
// have: values may have been computed in another way before.
func replace(_ context.Context, t *kv.Txn, before, after entrySet) error {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, stays := after[key]; stays {
			continue
		}
		if err := t.Delete([]byte(key)); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if err := t.Put([]byte(key), after[key].value); err != nil {
			return err
		}
	}
	return nil
}

// putNew writes the entries that are new. A unique one whose key is there is that of another row: deleteOld has deleted
// those of rows that changed. Nobody else writes the keys, so they need no locks.
func (o *online) putNew(ctx context.Context, t *kv.Txn, before, after entrySet) error {
	var unique []kvpb.Span
	err := after.without(before, func(key []byte, e entry) error {
		if e.unique {
			unique = append(unique, kvpb.Span{Key: key, EndKey: keys.Next(key)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = eachFound(ctx, t, unique, func(key, value []byte) error {
		e := after[string(key)]
		if o.again && bytes.Equal(value, e.value) {
			return nil // it is the row's own
		}
		return &ingest.DuplicateError{Index: e.index, Key: bytes.Clone(key), Value: e.value}
	})
	if err != nil {
		return err
	}
	return after.without(before, func(key []byte, e entry) error { return t.Put(key, e.value) })
}

// eachFound calls f for those of some keys that are there, given as the sorted spans of one key each.
func eachFound(ctx context.Context, t *kv.Txn, spans []kvpb.Span, f func(key, value []byte) error) error {
	var page kvpb.ScanResponse
	for len(spans) > 0 {
		page.Reset()
		if err := t.ScanSpans(ctx, spans, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if err := f(page.Key(i), page.Value(i)); err != nil {
				return err
			}
		}
		if page.Resume == nil {
			return nil
		}
		n, _ := slices.BinarySearchFunc(spans, page.Resume, func(s kvpb.Span, key []byte) int { return bytes.Compare(s.Key, key) })
		spans = spans[n:]
	}
	return nil
}
