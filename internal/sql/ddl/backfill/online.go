package backfill

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

const (
	// fewChanges is how many rows may be left to follow while the table is locked, maxRounds how often the build
	// tries to get there.
	fewChanges = 256
	maxRounds  = 16
	// changedRows is how many changed keys are followed at once.
	changedRows = 256
)

// BuildOnline is Build of secondary indexes while others read and change the table, which nobody may alter
// (statement.Env.ShareTable): it locks the table at its end only. The index is filled in a snapshot, and then follows
// the table from snapshot to snapshot:
//
//	snapshot 0   the entries of all rows are ingested
//	snapshot 1   rows changed since 0: their entries as of 0 are deleted, then those as of 1 written
//	…            until few rows change from one to the next
//	table locked rows changed since the last snapshot: likewise, by the statement's transaction
//
// If the rows are few it does nothing and returns false.
func BuildOnline(ctx context.Context, e *statement.Env, spec Spec) (bool, error) {
	b, program, err := prepare(ctx, e, spec)
	if err != nil || e.WithoutRows {
		return e.WithoutRows, err
	}
	defer b.sink.close()
	o := &online{Builder: b, program: program, db: e.Coll.Store().DB()}
	o.at = o.snapshot()
	defer func() { o.at.Rollback(ctx) }()
	switch many, err := o.first(ctx); {
	case err != nil || !many:
		return false, err
	}
	if err := o.follow(ctx); err != nil {
		return false, err
	}
	if err := o.lock(ctx); err != nil {
		return false, err
	}
	if err := o.last(ctx); err != nil {
		return false, err
	}
	if e.Filled != nil {
		e.Filled(spec.Table, o.rows, false)
	}
	return true, nil
}

// online is a build while others change the table.
type online struct {
	*Builder
	program *exec.Program
	db      *kv.DB
	// at reads the snapshot that the indexes hold.
	at *kv.Txn
}

// snapshot returns a transaction that reads the present, now and later.
func (o *online) snapshot() *kv.Txn {
	t := o.db.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead, ReadOnly: true, AsOf: o.db.Clock().Now()})
	t.BeginStatement()
	return t
}

// first fills the indexes with all rows, if they are many.
func (o *online) first(ctx context.Context) (many bool, err error) {
	if err := o.runIn(ctx, o.program, o.at); err != nil {
		return false, err
	}
	w := o.sink.w
	if !w.Beside() {
		return false, nil
	}
	return true, o.sink.duplicated(w.Finish())
}

// follow moves the indexes to the present, until few rows are left to follow.
func (o *online) follow(ctx context.Context) error {
	for range maxRounds {
		to := o.snapshot()
		rows, err := o.move(ctx, to, func(f func(*kv.Txn) error) error { return o.beside(ctx, f) })
		o.at.Rollback(ctx)
		o.at = to
		if err != nil || rows <= fewChanges {
			return err
		}
	}
	return nil
}

// beside runs f in a transaction of its own, which commits later than those before and earlier than those after it: nobody reads
// the keys before they are written, so nothing but the clock puts the versions of one in order.
func (o *online) beside(ctx context.Context, f func(*kv.Txn) error) error {
	var last *kv.Txn
	err := o.db.Run(ctx, func(_ context.Context, t *kv.Txn) error {
		last = t
		return f(t)
	})
	if err == nil {
		o.db.Clock().Forward(last.CommitTimestamp())
	}
	return err
}

// last moves the indexes to what the statement's transaction sees of the table, which it has locked.
func (o *online) last(ctx context.Context) error {
	e := o.E
	if err := e.Coll.Freshen(ctx); err != nil {
		return err
	}
	e.NextCommand()
	if _, err := o.move(ctx, e.Txn, func(f func(*kv.Txn) error) error { return f(e.Txn) }); err != nil {
		return err
	}
	for _, keep := range o.sink.keep {
		if err := keep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// move makes the indexes hold what to sees, and returns how many keys of rows may have changed. Transactions that in runs
// write the difference: all that is deleted before anything is written, as a key may go from one row to another.
func (o *online) move(ctx context.Context, to *kv.Txn, in func(func(*kv.Txn) error) error) (changed int, err error) {
	rows := o.rows // those of the first snapshot
	defer func() { o.rows, o.out = rows, o.sink }()
	for _, write := range []func(context.Context, *kv.Txn, entrySet, entrySet) error{deleteOld, putNew} {
		changed, err = o.eachChange(ctx, to, func(spans []kvpb.Span) error {
			before, after := entrySet{}, entrySet{}
			o.out = before
			if err := o.runIn(ctx, o.program, &rowsOf{o.at, spans}); err != nil {
				return err
			}
			o.out = after
			if err := o.runIn(ctx, o.program, &rowsOf{to, spans}); err != nil {
				return err
			}
			return in(func(t *kv.Txn) error { return write(ctx, t, before, after) })
		})
		if err != nil || changed == 0 {
			return changed, o.sink.duplicated(err)
		}
	}
	return changed, nil
}

// eachChange calls f with the spans of rows that may have changed from at to to, some at a time, each once: all that
// have, and some others, which need not be the same in the next call.
func (o *online) eachChange(ctx context.Context, to *kv.Txn, f func([]kvpb.Span) error) (changed int, err error) {
	since := o.at.ReadTimestamp()
	if plant.On(plant.ChangesUnfollowed) {
		since = hlc.Timestamp{WallTime: 1 << 62}
	}
	x, err := rowcodec.Compile(o.Spec.Old, o.Spec.Old.Primary())
	if err != nil {
		return 0, err
	}
	var page kvpb.ScanResponse
	var last []byte // the key before the page: its row may go on there
	end := keys.PrefixEnd(x.Prefix())
	for start := x.Prefix(); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := to.Scan(ctx, start, end, kv.ScanOptions{MaxRows: changedRows, ChangedSince: since}, &page); err != nil {
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

// putNew writes the entries that are new. A unique one whose key is there is that of another row: deleteOld has deleted
// those of rows that changed.
func putNew(ctx context.Context, t *kv.Txn, before, after entrySet) error {
	return after.without(before, func(key []byte, e entry) error {
		if e.unique {
			there, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock)
			if err != nil {
				return err
			}
			if there.Found {
				return &ingest.DuplicateError{Index: e.index, Key: key, Value: e.value}
			}
		}
		return t.Put(key, e.value)
	})
}

// How long the build waits for those who use the table. Later users wait behind it meanwhile, so it lets them pass
// and tries again; where transactions overlap all the time it waits longer after some attempts. They wait for
// a fifth of the time at most.
const (
	lockDelay     = 40 * time.Millisecond
	maxLockDelay  = time.Second
	attemptsAlike = 16
	pauseRatio    = 4
)

// lock locks the table, which the indexes follow meanwhile. It heeds lock_timeout.
func (o *online) lock(ctx context.Context) error {
	e, delay := o.E, lockDelay
	left := e.Txn.LockTimeout
	for attempt := 1; ; attempt++ {
		wait := delay
		if e.Txn.LockTimeout > 0 {
			wait = min(wait, left)
		}
		err := e.Coll.LockBriefly(ctx, o.Spec.Old.ID, wait)
		if !inUse(err) {
			return err
		}
		if left -= wait; e.Txn.LockTimeout > 0 && left <= 0 {
			return err
		}
		if err := sleep.For(ctx, pauseRatio*wait); err != nil {
			return err
		}
		if err := o.follow(ctx); err != nil {
			return err
		}
		if attempt%attemptsAlike == 0 {
			delay = min(2*delay, maxLockDelay)
		}
	}
}

// inUse reports whether an error of a lock says that others use the object.
func inUse(err error) bool {
	var busy *kvpb.LockNotAvailableError
	var dead *kvpb.DeadlockError
	return errors.As(err, &busy) || errors.As(err, &dead)
}
