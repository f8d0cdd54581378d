package kv_test

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
)

// With a full disk writes fail with a clear error and reads go on; when there is
// room again, so do writes, and nothing that was acknowledged is lost.
func TestDiskFull(t *testing.T) {
	mem := fs.NewMem()
	quota := fs.NewQuota(1 << 30)
	s, db, err := openCrash(fs.WithHooks(mem, quota.Hook))
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	write := func() error {
		err := pair(db, n+1)
		if err == nil {
			n++
		}
		return err
	}
	for range 20 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		// No compaction is to be cut off between its tables and the manifest: that ends
		// the store (what free space is kept in reserve for; this file system has none).
		if err := s.Engine().CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		quota.Set(0)
		var full *kvpb.DiskFullError
		for i := 0; i < 100_000 && full == nil; i++ {
			if err := write(); err != nil && !errors.As(err, &full) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if full == nil {
			t.Fatal("the disk is full and writes go on")
		}
		if got := readPair(t, db); got != n {
			t.Fatalf("reads on a full disk: %d, want %d", got, n)
		}
		if err := write(); !errors.As(err, &full) {
			t.Fatalf("a second write on the full disk: %v", err)
		}
		quota.Set(1 << 30)
		// A flush that began on the full disk fails; one of the next does not.
		err := s.Engine().Flush()
		for i := 0; i < 1000 && err != nil; i++ {
			err = s.Engine().Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := write(); err != nil {
			t.Fatalf("with room again: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, db, err = openCrash(mem)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := readPair(t, db); got != n {
		t.Fatalf("after a restart: %d, want %d", got, n)
	}
}
