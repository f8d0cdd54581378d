package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/cockroachkvs"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/plant"
)

// tableBytesPerSync is how much of a table is written between two hints to the
// disk to begin with it, so that the sync at its end is short.
const tableBytesPerSync = 1 << 20

// ErrKeyOrder says that the keys of a table did not come in order.
var ErrKeyOrder = errors.New("storage: the keys of a table are not in order")

// TableWriter writes a sorted table beside the engine, which Ingest makes part of
// it. A deletion of a span in it concerns what the engine holds, not the table's own
// keys. It is not safe for concurrent use; Close must be called in the end.
type TableWriter struct {
	fs   fs.FS
	path string
	e    *Engine
	w    *sstable.Writer
	last []byte
	size int64
	// versions are the hashes of the keys that have versions in the table, for the cache of versions.
	versions []uint64
	key      []byte // scratch of SetVersion
	value    []byte
}

// NewTable begins a table in a file of that name, which must be on the engine's
// file system.
func (e *Engine) NewTable(path string) (*TableWriter, error) {
	f, err := e.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("storage: create table %s: %w", path, e.writeError(err))
	}
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: tableBytesPerSync})
	po := e.pebbleOptions()
	po.EventListener = nil // it is for the engine's own
	po.EnsureDefaults()
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), po.MakeWriterOptions(0, e.db.TableFormat()))
	return &TableWriter{fs: e.opts.FS, path: path, e: e, w: w}, nil
}

// Size is roughly how many bytes of keys and values are in the table.
func (t *TableWriter) Size() int64 { return t.size }

// SetEngineKey adds a key as the engine holds it. Keys must come in ascending order.
func (t *TableWriter) SetEngineKey(key, value []byte) error {
	if t.last != nil && cockroachkvs.Compare(t.last, key) >= 0 {
		return ErrKeyOrder
	}
	t.last = append(t.last[:0], key...)
	t.size += int64(len(key) + len(value))
	return t.e.writeError(t.w.Set(key, value))
}

// SetVersion adds the version of key at ts, as Batch.SetVersion does. Keys must come in ascending order.
func (t *TableWriter) SetVersion(key []byte, ts hlc.Timestamp, header byte, payload []byte) error {
	must.True(!ts.IsEmpty(), "storage 5: a version without a timestamp")
	t.key = AppendEngineKey(t.key[:0], key, ts)
	t.value = append(append(t.value[:0], header), payload...)
	if t.e.versions != nil {
		hash, _ := t.e.versions.shard(key)
		t.versions = append(t.versions, hash)
	}
	return t.SetEngineKey(t.key, t.value)
}

// DeleteRange removes what the engine holds of the keys from start up to but not
// including end. Deletions must come in ascending order and not overlap.
func (t *TableWriter) DeleteRange(start, end []byte) error {
	return t.w.DeleteRange(AppendEngineKey(nil, start, hlc.Timestamp{}), AppendEngineKey(nil, end, hlc.Timestamp{}))
}

// AddBatch adds the writes of a batch that only sets keys, after it has deleted spans,
// in any order of the keys.
func (t *TableWriter) AddBatch(b *Batch) error {
	type kv struct{ key, value []byte }
	var all, spans []kv
	for r := b.b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch kind {
		case pebble.InternalKeyKindSet:
			all = append(all, kv{key, value})
		case pebble.InternalKeyKindRangeDelete:
			spans = append(spans, kv{key, value})
		default:
			return fmt.Errorf("storage: an operation of kind %v can't be put into a table", kind)
		}
	}
	slices.SortFunc(spans, func(a, b kv) int { return cockroachkvs.Compare(a.key, b.key) })
	for _, s := range spans {
		if err := t.w.DeleteRange(s.key, s.value); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b kv) int { return cockroachkvs.Compare(a.key, b.key) })
	for i, e := range all {
		if i+1 < len(all) && bytes.Equal(e.key, all[i+1].key) {
			continue // a later write of the same key follows
		}
		if err := t.SetEngineKey(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// Finish makes the table complete and durable, under a name that is not.
func (t *TableWriter) Finish() error {
	w := t.w
	t.w = nil
	if err := w.Close(); err != nil {
		return fmt.Errorf("storage: table %s: %w", t.path, t.e.writeError(err))
	}
	return nil
}

// Close gives up a table that is not finished and removes its file.
func (t *TableWriter) Close() {
	if t.w == nil {
		return
	}
	_ = t.w.Close() // the file goes
	t.w = nil
	t.Remove()
}

// Remove removes the file of a table that the engine did not take.
func (t *TableWriter) Remove() {
	_ = t.fs.Remove(t.path) // who made the directory removes it with what is in it
}

// Prefix returns the part of an engine key that all versions of its key share.
func Prefix(engineKey []byte) []byte { return engineKey[:cockroachkvs.Split(engineKey)] }

// CompareEngineKeys orders engine keys as the engine does.
func CompareEngineKeys(a, b []byte) int { return cockroachkvs.Compare(a, b) }

// Ingest makes tables part of the engine in one step, which is durable when it returns;
// the files are gone then. The same step removes all user keys from start up to but not
// including end, to which nobody may write meanwhile. The tables must not overlap.
//
// If after is set, everything that was committed before the call becomes durable first.
// Otherwise a crash may leave the tables and take earlier commits to other keys; it
// never takes those to keys that the tables cover. After an error nothing has changed.
func (e *Engine) Ingest(tables []string, start, end []byte, after bool) error {
	if err := e.WriteStatus(); err != nil {
		return err
	}
	if after {
		if err := e.Flush(); err != nil {
			return err
		}
	}
	holds, err := e.Holds(start, end)
	if err != nil {
		return err
	}
	e.commits.begin()
	e.versions.clear()
	if holds {
		span := pebble.KeyRange{
			Start: AppendEngineKey(nil, start, hlc.Timestamp{}),
			End:   AppendEngineKey(nil, end, hlc.Timestamp{}),
		}
		_, err = e.db.IngestAndExcise(context.Background(), tables, nil, nil, span)
	} else { // an excise would cut every table that reaches across the span
		err = e.db.Ingest(context.Background(), tables)
	}
	e.commits.end()
	if err != nil {
		return fmt.Errorf("storage: ingest: %w", e.writeError(err))
	}
	e.signal() // iterators opened before are to go
	return nil
}

// tablesDir is the subdirectory of the store for tables of versions that are not in the engine yet.
const tablesDir = "tables"

// NewVersionTable begins a table of versions, which AddTable makes part of the engine.
func (e *Engine) NewVersionTable() (*TableWriter, error) {
	if err := e.WriteStatus(); err != nil {
		return nil, err
	}
	dir := e.opts.FS.PathJoin(e.opts.Dir, tablesDir)
	if !e.tablesDirMade.Load() { // nor if the disk was full when one was to be made first
		if err := e.opts.FS.MkdirAll(dir, 0o700); err != nil {
			return nil, e.writeError(err)
		}
		e.tablesDirMade.Store(true)
	}
	return e.NewTable(e.opts.FS.PathJoin(dir, fmt.Sprintf("%d.sst", e.tables.Add(1))))
}

// dropTables removes the tables of versions that a crash has left.
func (e *Engine) dropTables() error {
	err := e.opts.FS.RemoveAll(e.opts.FS.PathJoin(e.opts.Dir, tablesDir))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return err
}

// AddTable makes a finished table of versions part of the engine, and durable. It may be durable before
// earlier commits to other keys are, but not before those to keys between its first and its last one. After
// an error nothing has changed.
func (e *Engine) AddTable(t *TableWriter) error {
	if err := e.WriteStatus(); err != nil {
		return err
	}
	e.commits.begin()
	if !plant.On(plant.TableUnheard) {
		e.versions.forget(t.versions)
	}
	err := e.db.Ingest(context.Background(), []string{t.path})
	e.commits.end()
	if err != nil {
		return fmt.Errorf("storage: ingest: %w", e.writeError(err))
	}
	e.signal() // iterators opened before are to go
	return nil
}

// Holds reports whether there is any of the user keys from start up to but not
// including end.
func (e *Engine) Holds(start, end []byte) (bool, error) {
	it, err := e.NewIter(IterOptions{Lower: start, Upper: end})
	if err != nil {
		return false, err
	}
	found := it.First()
	return found, e.ReadError(errors.Join(it.Error(), it.Close()))
}

// writeError marks the error of a full disk as ErrDiskFull.
func (e *Engine) writeError(err error) error {
	if fs.IsDiskFull(err) || vfs.IsNoSpaceError(err) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}
