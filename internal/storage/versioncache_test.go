package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

// seekNewest finds the newest version of key with an iterator and remembers it.
func seekNewest(t *testing.T, e *Engine, key []byte) (at hlc.Timestamp, value string) {
	it, err := e.AcquirePoint()
	if err != nil {
		t.Error(err)
		return at, ""
	}
	defer it.Release()
	if !it.SeekVersion(key, hlc.MaxTimestamp) {
		return at, ""
	}
	_, at, err = DecodeEngineKey(it.Key())
	stored, verr := it.ValueAndErr()
	if err := errors.Join(err, verr); err != nil {
		t.Error(err)
		return at, ""
	}
	it.Remember(key, at, stored)
	return at, string(stored)
}

// TestVersionCache does to a small engine whatever a store does, and compares what the
// cache answers with what an iterator finds.
func TestVersionCache(t *testing.T) {
	mem := fs.NewMem()
	e := open(t, Options{FS: mem, VersionCacheBytes: minCacheShardBytes})
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, 24)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "k%02d", i)
	}
	now := int64(1)
	value := func() []byte { return make([]byte, rng.IntN(900)+rng.IntN(2)*rng.IntN(9000)) }
	write := func(b *Batch) error {
		now++
		key, at := keys[rng.IntN(len(keys))], hlc.Timestamp{WallTime: now}
		switch rng.IntN(12) {
		case 0: // an older one comes
			at.WallTime = rng.Int64N(now) + 1
			return b.SetVersion(key, at, 1, value())
		case 1, 2: // some version goes, perhaps the newest
			at, _ = seekNewest(t, e, key)
			if at.IsEmpty() {
				return nil
			}
			return b.DeleteVersion(key, at, 0)
		case 3: // the same version again
			if at, _ = seekNewest(t, e, key); at.IsEmpty() {
				return nil
			}
			return b.SetVersion(key, at, 1, value())
		case 4:
			return b.Set(key, value())
		default:
			return b.SetVersion(key, at, byte(rng.IntN(2)), value())
		}
	}
	answers := 0
	for step := range 1200 {
		switch n := rng.IntN(200); {
		case n == 0:
			b := e.NewBatch()
			if err := errors.Join(b.DeleteRange(keys[3], keys[rng.IntN(10)+4]), b.Commit()); err != nil {
				t.Fatal(err)
			}
			b.Close()
		case n == 1:
			now++
			ingestVersion(t, e, keys[rng.IntN(len(keys))], hlc.Timestamp{WallTime: now})
		case n == 2:
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
		default:
			b := e.NewBatch()
			for range rng.IntN(4) + 1 {
				if err := write(b); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			b.Close()
		}
		for _, key := range keys {
			at, stored := seekNewest(t, e, key)
			header, payload, got, ok := e.NewestVersion(key, hlc.MaxTimestamp, nil)
			if !ok {
				continue
			}
			answers++
			if got != at || string(header)+string(payload) != stored {
				t.Fatalf("step %d: the cache has %s at %v, the engine at %v", step, key, got, at)
			}
			if _, ok := e.NewestTimestamp(key, at.Prev()); ok {
				t.Fatalf("step %d: the cache answers a read before the newest version", step)
			}
		}
	}
	if answers < 5000 {
		t.Errorf("the cache answered %d times only", answers)
	}
}

// ingestVersion replaces all that the engine has of one key by a version in a table.
func ingestVersion(t *testing.T, e *Engine, key []byte, at hlc.Timestamp) {
	t.Helper()
	path := "store/ingest"
	w, err := e.NewTable(path)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.SetEngineKey(AppendEngineKey(nil, key, at), []byte{1, 2, 3}), w.Finish(),
		e.Ingest([]string{path}, key, append(key, 1), true))
	if err != nil {
		t.Fatal(err)
	}
}

// TestVersionCacheIsFresh has some readers use the cache and some only iterators while a
// writer counts up: each sees at least what was committed, or seen by anyone, before.
func TestVersionCacheIsFresh(t *testing.T) {
	e := open(t, Options{})
	key := []byte("n")
	const last = 2000
	var seen, hits atomic.Int64
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for n := int64(0); n < last; raise(&seen, n) {
				floor := seen.Load()
				if at, ok := e.NewestTimestamp(key, hlc.MaxTimestamp); ok && reader%2 == 0 {
					n = at.WallTime
					hits.Add(1)
				} else {
					at, _ := seekNewest(t, e, key)
					n = at.WallTime
				}
				if n < floor {
					t.Errorf("reader %d: %d after %d was seen", reader, n, floor)
					return
				}
			}
		})
	}
	for n := int64(1); n <= last; n++ {
		b := e.NewBatch()
		err := b.SetVersion(key, hlc.Timestamp{WallTime: n}, 1, make([]byte, n%100))
		if n > 1 && n%3 == 0 {
			err = errors.Join(err, b.DeleteVersion(key, hlc.Timestamp{WallTime: n - 1}, 0))
		}
		if err := errors.Join(err, b.Commit()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		raise(&seen, n)
		for yields := 0; n == last/2 && hits.Load() == 0 && yields < 1e6; yields++ {
			runtime.Gosched() // the readers may not have begun
		}
		if n%500 == 0 {
			if err := e.StartFlush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	if hits.Load() == 0 {
		t.Error("the cache never answered")
	}
}

// What an iterator found is not remembered once somebody has written since, be it that
// the commit is not through yet.
func TestVersionCacheRefusesTheOld(t *testing.T) {
	e := open(t, Options{})
	key := []byte("n")
	put := func(n int64) {
		b := e.NewBatch()
		defer b.Close()
		if err := errors.Join(b.SetVersion(key, hlc.Timestamp{WallTime: n}, 1, nil), b.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	remember := func(between func()) bool {
		e.versions.clear()
		it, err := e.AcquirePoint()
		if err != nil {
			t.Fatal(err)
		}
		defer it.Release()
		if !it.SeekVersion(key, hlc.MaxTimestamp) {
			t.Fatal("no version")
		}
		between()
		it.Remember(key, hlc.Timestamp{WallTime: 1}, []byte{1})
		_, ok := e.NewestTimestamp(key, hlc.MaxTimestamp)
		return ok
	}
	put(1)
	if !remember(func() {}) {
		t.Error("nobody wrote, and nothing was remembered")
	}
	if remember(e.commits.begin) {
		t.Error("remembered while a commit was under way")
	}
	e.commits.end()
	if remember(func() { put(2) }) {
		t.Error("remembered after a commit")
	}
}

// A store that closes while its cache is read takes the memory from nobody.
func TestVersionCacheCloses(t *testing.T) {
	e := open(t, Options{})
	key := []byte("n")
	b := e.NewBatch()
	if err := errors.Join(b.SetVersion(key, hlc.Timestamp{WallTime: 1}, 1, []byte("value")), b.Commit()); err != nil {
		t.Fatal(err)
	}
	b.Close()
	seekNewest(t, e, key)
	var wg sync.WaitGroup
	started := make(chan struct{}, 2)
	for range 2 {
		wg.Go(func() {
			for tell := true; ; tell = false {
				_, payload, _, ok := e.NewestVersion(key, hlc.MaxTimestamp, nil)
				if ok && string(payload) != "value" {
					t.Errorf("read %q", payload)
				}
				if tell {
					started <- struct{}{}
				}
				if !ok {
					return
				}
			}
		})
	}
	<-started
	<-started
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
