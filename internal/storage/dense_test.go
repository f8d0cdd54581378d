package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"

	"github.com/lichendb/lichen/internal/hlc"
)

// Versions that a large transaction moves leave as many deletions behind, side by side with what took
// their place. Nobody has to open the store again to be rid of them.
func TestTablesDenseInDeletionsAreCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, Options{MinSeparatedValue: -1})
		defer func() { _ = e.Close() }()
		fillLowestLevel(t, e)
		moveVersions(t, e, 5000)
		synctest.Wait()
		if n := deletions(t, e); n > 0 {
			t.Errorf("%d deletions are left in the tables", n)
		}
	})
}

// fillLowestLevel writes so much that what is flushed next does not go to the lowest level at once.
func fillLowestLevel(t *testing.T, e *Engine) {
	t.Helper()
	r, value := rand.NewChaCha8([32]byte{}), make([]byte, 64<<10)
	write(t, e, 1100, func(b *Batch, i int) error {
		_, _ = r.Read(value) // never fails; compression finds nothing in it
		return b.SetVersion(fmt.Appendf(nil, "fill %08d", i), hlc.Timestamp{WallTime: 1}, 1, value)
	})
	compact(t, e, "fill", "fill~")
}

// moveVersions writes versions of n keys, compacts them, and replaces each by one of another time.
func moveVersions(t *testing.T, e *Engine, n int) {
	t.Helper()
	from, to := hlc.Timestamp{WallTime: 1}, hlc.Timestamp{WallTime: 2}
	key := func(i int) []byte { return fmt.Appendf(nil, "key %08d", i) }
	write(t, e, n, func(b *Batch, i int) error { return b.SetVersion(key(i), from, 1, []byte("a value")) })
	compact(t, e, "key", "key~")
	write(t, e, n, func(b *Batch, i int) error {
		return errors.Join(b.DeleteVersion(key(i), from, 0), b.SetVersion(key(i), to, 1, []byte("a value")))
	})
}

// write has fn write each of n keys, and flushes them.
func write(t *testing.T, e *Engine, n int, fn func(b *Batch, i int) error) {
	t.Helper()
	b := e.NewBatch()
	defer b.Close()
	for i := range n {
		if err := fn(b, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Commit(), e.Flush()); err != nil {
		t.Fatal(err)
	}
}

func compact(t *testing.T, e *Engine, start, end string) {
	t.Helper()
	from := AppendEngineKey(nil, []byte(start), hlc.Timestamp{})
	if err := e.db.Compact(t.Context(), from, AppendEngineKey(nil, []byte(end), hlc.Timestamp{}), false); err != nil {
		t.Fatal(err)
	}
}

func deletions(t *testing.T, e *Engine) (n uint64) {
	t.Helper()
	levels, err := e.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range levels {
		for _, table := range tables {
			n += table.Properties.NumDeletions
		}
	}
	return n
}
