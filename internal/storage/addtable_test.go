package storage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

// addTable adds a table with a version at ts of the keys k00 to k99.
func addTable(e *Engine, ts int64) error {
	w, err := e.NewVersionTable()
	if err != nil {
		return err
	}
	defer w.Close()
	for i := range 100 {
		if err := w.SetVersion(fmt.Appendf(nil, "k%02d", i), hlc.Timestamp{WallTime: ts}, 1, fmt.Appendf(nil, "at %d", ts)); err != nil {
			return err
		}
	}
	return errors.Join(w.Finish(), e.AddTable(w))
}

// newestAfterTable reads a key, so that the cache has it, and again after a table has come that
// has a newer version of it.
func newestAfterTable(t *testing.T) error {
	e := open(t, Options{FS: fs.NewMem(), Dir: "store", CacheBytes: 16 << 20})
	if err := addTable(e, 5); err != nil {
		return err
	}
	read := func() (string, error) {
		if _, payload, _, ok := e.NewestVersion([]byte("k07"), hlc.Timestamp{WallTime: 100}, nil); ok {
			return string(payload), nil
		}
		it, err := e.AcquirePoint()
		if err != nil {
			return "", err
		}
		defer it.Release()
		if !it.SeekVersion([]byte("k07"), hlc.Timestamp{WallTime: 100}) {
			return "", it.Error()
		}
		stored, err := it.ValueAndErr()
		if err != nil {
			return "", err
		}
		_, ts, err := DecodeEngineKey(it.Key())
		it.Remember([]byte("k07"), ts, stored)
		return string(stored[1:]), err
	}
	for _, ts := range []int64{5, 9} {
		if ts > 5 {
			if err := addTable(e, ts); err != nil {
				return err
			}
		}
		for range 2 { // from the engine, from the cache
			if got, err := read(); err != nil || got != fmt.Sprint("at ", ts) {
				return fmt.Errorf("got %q, %v after the table at %d", got, err, ts)
			}
		}
	}
	return nil
}

func TestAddTable(t *testing.T) {
	if err := newestAfterTable(t); err != nil {
		t.Error(err)
	}
	f := fs.NewMem()
	e := open(t, Options{FS: f, Dir: "store"})
	if err := addTable(e, 5); err != nil {
		t.Fatal(err)
	}
	if n := e.db.Metrics().Ingest.Count; n != 1 {
		t.Errorf("%d tables were ingested", n)
	}
	left, err := f.List(f.PathJoin(e.opts.Dir, tablesDir))
	if err != nil || len(left) != 0 {
		t.Errorf("there is left: %v, %v", left, err)
	}
}
