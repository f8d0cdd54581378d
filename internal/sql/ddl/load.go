package ddl

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
)

// loadLockWait bounds how long a Load waits for others who use its table. They wait behind it meanwhile.
const loadLockWait = time.Second

// Load is the loading of a table without rows: its entries are ingested into new indexes, which take the place of the
// present ones when all are there, as with TRUNCATE. So others see all rows or none, and what undoes the change of the
// descriptor undoes the rows. The table is locked for the exchange only. It implements operator.Load.
type Load struct {
	e     *statement.Env
	table *catalog.Table
	ids   []catalog.IndexID // of the new indexes
	// from and to are what the keys of the present and the new indexes begin with.
	from, to [][]byte
	keep     []func(context.Context) error
	out      *ingest.Writer
	key      []byte
}

// BeginLoad begins to load a table; nil: it can't be loaded, as it has rows or the transaction would not see what was written
// beside it.
func BeginLoad(ctx context.Context, e *statement.Env, t *catalog.Table) (*Load, error) {
	if !e.Coll.CanFreshen() || e.CheckUnused(t, "COPY") != nil {
		return nil, nil
	}
	if used, err := hasRows(ctx, e, t); used || err != nil {
		return nil, err
	}
	l := &Load{e: e, table: t.Clone()}
	for i := range t.Indexes {
		id, err := relations.TakeIndexID(ctx, e, l.table)
		if err != nil {
			return nil, err
		}
		to := l.span(id)
		span, err := e.Coll.ClearUnlessCommitted(ctx, to, 0)
		if err != nil {
			return nil, err
		}
		l.ids, l.keep = append(l.ids, id), append(l.keep, span.Keep)
		l.from, l.to = append(l.from, l.span(t.Indexes[i].ID).Start), append(l.to, to.Start)
	}
	var mem *quota.Pool
	if e.Exec != nil {
		mem = e.Exec.Mem
	}
	l.out = ingest.New(ctx, ingest.Options{Prefixes: l.to, Memory: mem, Txn: e.Txn, Many: func() (*ingest.Target, error) { return &ingest.Target{DB: e.Coll.Store().DB()}, nil }})
	return l, nil
}

func (l *Load) span(id catalog.IndexID) keys.Span {
	return keys.IndexSpan(uint64(l.table.Database), uint64(l.table.ID), uint64(id))
}

// hasRows reports whether the transaction sees a row of a table.
func hasRows(ctx context.Context, e *statement.Env, t *catalog.Table) (bool, error) {
	defer e.Txn.ReadApart()() // Finish looks again
	span := keys.IndexSpan(uint64(t.Database), uint64(t.ID), uint64(t.Primary().ID))
	var page kv.ScanResult
	for start := span.Start; start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := e.Txn.Scan(ctx, start, span.End, kv.ScanOptions{MaxRows: 1}, &page); err != nil || page.Len() > 0 {
			return true, err
		}
	}
	return false, nil
}

// Add implements operator.Load.
func (l *Load) Add(index int, key, value []byte, unique bool, row int64) error {
	l.key = append(append(l.key[:0], l.to[index]...), key[len(l.from[index]):]...)
	return l.duplicate(l.out.Add(index, l.key, value, unique, row))
}

// present returns the key that an entry has in the present index.
func (l *Load) present(index int, key []byte) []byte {
	l.key = append(append(l.key[:0], l.from[index]...), key[len(l.to[index]):]...)
	return l.key
}

func (l *Load) duplicate(err error) error {
	var d *ingest.DuplicateError
	if !errors.As(err, &d) {
		return err
	}
	return &operator.DuplicateEntry{Index: d.Index, Key: bytes.Clone(l.present(d.Index, d.Key)), Value: d.Value, Row: d.Row}
}

// Verify implements operator.Load.
func (l *Load) Verify() error { return l.duplicate(l.out.Verify()) }

// Finish implements operator.Load.
func (l *Load) Finish(ctx context.Context, rows int64) (bool, error) {
	if err := l.out.Finish(); err != nil {
		return false, l.duplicate(err)
	}
	locked, err := l.lock(ctx)
	if err != nil {
		return false, err
	}
	if err := l.e.Coll.Freshen(ctx); err != nil { // it sees now what was written beside it
		return false, err
	}
	l.e.NextCommand()
	if used, err := hasRows(ctx, l.e, l.table); used || err != nil || !locked {
		return false, err
	}
	a := &alter.Alteration{E: l.e, T: l.table}
	for i, id := range l.ids {
		if err := l.keep[i](ctx); err != nil {
			return false, err
		}
		if err := a.MoveAlike(ctx, i, id); err != nil {
			return false, err
		}
	}
	if err := l.e.Coll.Put(ctx, l.table); err != nil {
		return false, err
	}
	if l.e.Filled != nil {
		l.e.Filled(l.table, rows, true)
	}
	return true, nil
}

// lock locks the table, which others use or wait for only for a moment.
func (l *Load) lock(ctx context.Context) (bool, error) {
	before := l.e.Txn.LockTimeout
	defer func() { l.e.Txn.LockTimeout = before }()
	if before == 0 || before > loadLockWait {
		l.e.Txn.LockTimeout = loadLockWait
	}
	err := l.e.Coll.LockExclusive(ctx, l.table.ID)
	var busy *kvpb.LockNotAvailableError
	var dead *kvpb.DeadlockError
	if errors.As(err, &busy) || errors.As(err, &dead) {
		return false, nil
	}
	return err == nil, err
}

// Each implements operator.Load.
func (l *Load) Each(ctx context.Context, f func(key, value []byte) error) error {
	span := l.span(l.ids[0])
	var page kv.ScanResult
	for start := span.Start; start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := l.e.Txn.Scan(ctx, start, span.End, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if err := f(l.present(0, page.Key(i)), page.Value(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements operator.Load.
func (l *Load) Close() { l.out.Close() }
