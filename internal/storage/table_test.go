package storage

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

// oldState commits keys that an ingest is to replace, and some that it is not.
func oldState(t *testing.T, e *Engine) {
	t.Helper()
	b := e.NewBatch()
	defer b.Close()
	for i := range 50 {
		k := fmt.Appendf(nil, "k%02d", i)
		if err := errors.Join(b.Set(k, []byte("old")), b.SetVersion(k, hlc.Timestamp{WallTime: 5}, 1, []byte("old"))); err != nil {
			t.Fatal(err)
		}
		if err := b.Set(fmt.Appendf(nil, "l%02d", i), []byte("lock")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// writeTables writes what replaces k10 to k40 and l10 to l40.
func writeTables(e *Engine, f fs.FS) ([]string, error) {
	if err := f.MkdirAll("store/scratch", 0o700); err != nil {
		return nil, err
	}
	data, err := e.NewTable("store/scratch/1.sst")
	if err != nil {
		return nil, err
	}
	defer data.Close()
	for i := 10; i < 40; i += 2 {
		k := fmt.Appendf(nil, "k%02d", i)
		if err := data.SetEngineKey(AppendEngineKey(nil, k, hlc.Timestamp{WallTime: 9}), []byte("\x01new")); err != nil {
			return nil, err
		}
	}
	if err := data.Finish(); err != nil {
		return nil, err
	}
	locks, err := e.NewTable("store/scratch/2.sst")
	if err != nil {
		return nil, err
	}
	defer locks.Close()
	b := e.NewBatch()
	defer b.Close()
	err = errors.Join(b.DeleteRange([]byte("l10"), []byte("l40")), b.Set([]byte("l20"), []byte("1")), b.Set([]byte("l15"), []byte("2")),
		b.Set([]byte("l20"), []byte("3")), locks.AddBatch(b), locks.Finish())
	return []string{"store/scratch/1.sst", "store/scratch/2.sst"}, err
}

// replaced is what an ingest of writeTables makes of a state.
func replaced(state map[string]string) map[string]string {
	out := maps.Clone(state)
	maps.DeleteFunc(out, func(k, _ string) bool {
		key, _, _ := DecodeEngineKey([]byte(k))
		s := string(key)
		return s >= "k10" && s < "k40" || s >= "l10" && s < "l40"
	})
	for i := 10; i < 40; i += 2 {
		out[string(AppendEngineKey(nil, fmt.Appendf(nil, "k%02d", i), hlc.Timestamp{WallTime: 9}))] = "\x01new"
	}
	out[string(AppendEngineKey(nil, []byte("l15"), hlc.Timestamp{}))] = "2"
	out[string(AppendEngineKey(nil, []byte("l20"), hlc.Timestamp{}))] = "3"
	return out
}

// TestIngestCrash ingests with the power lost before each operation in turn: there is
// the old state or the new one then, and the new one once Ingest has returned.
func TestIngestCrash(t *testing.T) {
	for n := int64(0); ; n++ {
		mem := fs.NewCrashableMem()
		e, err := Open(Options{FS: sealedFS(mem), Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		oldState(t, e)
		before := contents(t, e)
		if err := errors.Join(e.Flush(), e.Close()); err != nil {
			t.Fatal(err)
		}
		power := &fs.PowerLoss{N: 1 << 40}
		failed := make(chan error, 1)
		e, err = Open(Options{FS: sealedFS(fs.WithHooks(mem, power.Hook)), Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10,
			OnFatal: func(err error) { failed <- err }})
		if err != nil {
			t.Fatal(err)
		}
		power.Allow(n)
		tables, err := writeTables(e, e.opts.FS)
		if err == nil {
			ingested := make(chan error, 1)
			go func() { ingested <- e.Ingest(tables, []byte("k10"), []byte("k40"), true) }()
			select {
			case err = <-ingested:
			case err = <-failed: // the goroutine that met it goes no further
			}
		}
		struck := !power.Spare() // what goes on in the background shall not meet it later
		if !struck {
			if got := contents(t, e); !maps.Equal(got, replaced(before)) {
				t.Fatalf("after the ingest: %d keys, want %d", len(got), len(replaced(before)))
			}
		}
		for _, keep := range []int{0, 50, 100} {
			after, oerr := Open(Options{FS: sealedFS(fs.CrashClone(mem, keep, uint64(n))), Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
			if oerr != nil {
				t.Fatalf("crash at operation %d, keeping %d%%: %v", n, keep, oerr)
			}
			got := contents(t, after)
			isOld, isNew := maps.Equal(got, before), maps.Equal(got, replaced(before))
			if !isNew && (err == nil || !isOld) {
				t.Fatalf("crash at operation %d, keeping %d%%, ingest returned %v: neither the old nor the new state (%d keys)", n, keep, err, len(got))
			}
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_ = e.Close()
		if !struck {
			if n < 10 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
	}
}

// What was committed before an ingest is durable with it, and order within a table is
// checked.
func TestIngestFlushes(t *testing.T) {
	mem := fs.NewCrashableMem()
	e, err := Open(Options{FS: mem, Dir: "store", CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	oldState(t, e)
	want := replaced(contents(t, e))
	tables, err := writeTables(e, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Ingest(tables, []byte("k10"), []byte("k40"), true); err != nil {
		t.Fatal(err)
	}
	after, err := Open(Options{FS: fs.CrashClone(mem, 0, 1), Dir: "store", CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if got := contents(t, after); !maps.Equal(got, want) {
		t.Fatalf("after a crash: %d keys, want %d", len(got), len(want))
	}
	w, err := e.NewTable("store/scratch/3.sst")
	if err != nil {
		t.Fatal(err)
	}
	k := AppendEngineKey(nil, []byte("x"), hlc.Timestamp{})
	if err := errors.Join(w.SetEngineKey(k, nil), w.SetEngineKey(k, nil)); !errors.Is(err, ErrKeyOrder) {
		t.Fatalf("the same key twice: %v", err)
	}
	w.Close()
	if _, err := mem.Stat("store/scratch/3.sst"); err == nil {
		t.Fatal("the file of a table that was given up is still there")
	}
}

// Without the flush an ingest takes nothing with it, and waits for what was committed to
// its own keys all the same.
func TestIngestAlone(t *testing.T) {
	for _, over := range []bool{false, true} {
		mem := fs.NewCrashableMem()
		e, err := Open(Options{FS: mem, Dir: "store", CacheBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		b := e.NewBatch()
		key := []byte("a")
		if over {
			key = []byte("k11")
		}
		if err := errors.Join(b.Set(key, []byte("old")), b.Commit()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		want := replaced(contents(t, e))
		tables, err := writeTables(e, mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Ingest(tables, []byte("k10"), []byte("k40"), false); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, e); !maps.Equal(got, want) {
			t.Fatalf("over %v: %d keys, want %d", over, len(got), len(want))
		}
		after, err := Open(Options{FS: fs.CrashClone(mem, 0, 1), Dir: "store", CacheBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if !over {
			delete(want, string(AppendEngineKey(nil, key, hlc.Timestamp{})))
		}
		if got := contents(t, after); !maps.Equal(got, want) {
			t.Errorf("over %v: after a crash %d keys, want %d", over, len(got), len(want))
		}
		if err := errors.Join(after.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
