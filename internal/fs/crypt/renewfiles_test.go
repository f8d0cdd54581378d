package crypt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
)

// plainStore returns a disk with files from before encryption, and what is in them.
func plainStore(t *testing.T) (*fs.MemFS, map[string]string) {
	t.Helper()
	mem := fs.NewMem()
	if err := mem.MkdirAll(dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for i := range 4 {
		name := fmt.Sprintf("%s/%d", dir, i)
		if i == 3 {
			name = dir + "/sub/3"
		}
		want[name] = strings.Repeat(fmt.Sprintf("secret %d ", i), 100*i)
		write(t, mem, name, want[name])
	}
	return mem, want
}

// rewrite writes the store's files anew.
func rewrite(f fs.FS) error {
	o := options()
	o.Rewriting = true
	s, err := crypt.Open(f, o)
	if err != nil {
		return err
	}
	c := crypt.New(f, s)
	return errors.Join(c.RewriteFiles(s, func(string, int64) {}), c.Close())
}

// TestRewriteFiles: afterwards nothing of the store is under an old key, or plain, and a power loss at any moment loses nothing.
func TestRewriteFiles(t *testing.T) {
	mem, want := plainStore(t)
	if err := mount(t, mem, options()).Close(); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(mem); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, "rewritten", mem, want)
	for name := range want {
		if b, err := read(mem, name); err != nil || strings.Contains(b, "secret") {
			t.Errorf("%s has the plaintext (%v)", name, err)
		}
	}
	again := 0
	o := options()
	o.Rewriting = true
	c := mount(t, mem, o)
	if err := c.RewriteFiles(c.Stores()[0], func(string, int64) { again++ }); err != nil || again > 0 {
		t.Errorf("%d files are written anew again, %v", again, err)
	}
}

// TestRewriteFilesCrash cuts the power at each operation: what was there is there, once the command has gone on; the store is not opened for
// use before.
func TestRewriteFilesCrash(t *testing.T) {
	newDisk := func() (*fs.MemFS, map[string]string) {
		mem := fs.NewCrashableMem()
		want := map[string]string{}
		if err := mem.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			name := fmt.Sprintf("%s/%d", dir, i)
			want[name] = strings.Repeat(fmt.Sprintf("secret %d ", i), 50)
			write(t, mem, name, want[name])
		}
		if err := errors.Join(fs.SyncDir(mem, dir), fs.SyncDir(mem, "/")); err != nil {
			t.Fatal(err)
		}
		if err := mount(t, mem, options()).Close(); err != nil {
			t.Fatal(err)
		}
		return mem, want
	}
	count := &fs.Counter{}
	disk, _ := newDisk()
	if err := rewrite(fs.WithHooks(disk, count.Hook)); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := range count.Count() {
		mem, want := newDisk()
		if err := rewrite(fs.WithHooks(mem, (&fs.PowerLoss{N: n}).Hook)); !errors.Is(err, fs.ErrPowerLoss) {
			t.Fatalf("operation %d: %v", n, err)
		}
		for variant, keep := range []int{0, 50, 100} {
			label := fmt.Sprintf("power lost after operation %d, keeping %d%%", n, keep)
			clone := fs.CrashClone(mem, keep, uint64(n)*7+uint64(variant))
			s, err := crypt.Open(clone, options())
			switch {
			case errors.Is(err, crypt.ErrRewriting):
				refused++
			case err != nil:
				t.Fatalf("%s: %v", label, err)
			default:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := rewrite(clone); err != nil {
				t.Fatalf("%s: going on: %v", label, err)
			}
			checkFiles(t, label, clone, want)
		}
	}
	if refused == 0 {
		t.Error("no interrupted store was refused")
	}
}

// checkFiles opens the store, finishing what was interrupted, and compares its files.
func checkFiles(t *testing.T, label string, disk fs.FS, want map[string]string) {
	t.Helper()
	c := mount(t, disk, options())
	defer func() { _ = c.Close() }()
	for name, text := range want {
		if got, err := read(c, name); err != nil || got != text {
			t.Errorf("%s: %s: %d bytes, %v", label, name, len(got), err)
		}
	}
}
