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
	for range 3 {
		// No compaction is to be cut off between its tables and the manifest: that ends
		// the store (what free space is kept in reserve for; this file system has none).
		if err := s.Engine().CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		quota.Set(0)
		fill(t, write)
		if got := readPair(t, db); got != n {
			t.Fatalf("reads on a full disk: %d, want %d", got, n)
		}
		fill(t, write) // at once, unless the log was given room meanwhile: a segment of it is free again
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

// fill writes until the disk is full.
func fill(t *testing.T, write func() error) {
	t.Helper()
	var full *kvpb.DiskFullError
	for range 100_000 {
		if err := write(); errors.As(err, &full) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk is full and writes go on")
}
