package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/raftlog"
)

// lone opens and starts a store that is a cluster by itself.
func lone(t *testing.T, f fs.FS, dir string, fatal func(error)) *Store {
	t.Helper()
	clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 0)
	s, err := Open(Options{FS: f, Dir: dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, Bootstrap: true, OnFatal: fatal})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// misplacements are what can happen to a store's files.
var misplacements = []struct {
	name string
	do   func(dir string) error
}{
	{"CLOCK removed", func(dir string) error { return os.Remove(filepath.Join(dir, ClockFile)) }},
	{"CLOCK replaced", func(dir string) error {
		path := filepath.Join(dir, ClockFile)
		return errors.Join(os.WriteFile(path+".new", make([]byte, 2*clockSlotStep), 0o600), os.Rename(path+".new", path))
	}},
	{"LOCK removed", func(dir string) error { return os.Remove(filepath.Join(dir, "LOCK")) }},
	{"state removed", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "state")) }},
	{"state emptied", func(dir string) error { return empty(filepath.Join(dir, "state")) }},
	{"state moved", func(dir string) error { return os.Rename(filepath.Join(dir, "state"), filepath.Join(dir, "away")) }},
	{"raftlog removed", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "raftlog")) }},
	{"segments removed", func(dir string) error {
		all, err := filepath.Glob(filepath.Join(dir, "raftlog", "*.rlog"))
		for _, path := range all {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}},
	{"store moved", func(dir string) error { return os.Rename(dir, dir+".away") }},
	{"store replaced", func(dir string) error { return errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)) }},
}

func empty(dir string) error {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

// TestMisplacedOnDisk: a store notices each of its files that is removed, moved or replaced.
func TestMisplacedOnDisk(t *testing.T) {
	for _, m := range misplacements {
		t.Run(m.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "s")
			s := lone(t, fs.Disk(), dir, func(error) {}) // the engine may notice too
			defer func() { _ = s.Close() }()             // its files are gone
			all := *s.placed.Load()
			if err := s.misplaced(all); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := m.do(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.misplaced(all); !errors.Is(err, raftlog.ErrMisplaced) {
				t.Errorf("not noticed: %v", err)
			}
		})
	}
}

// TestMisplaced: a store whose files are removed ends soon and says what to do. A store whose disk reports errors does
// not take its files for removed.
func TestMisplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := fs.NewMem()
		var fatal atomic.Pointer[error]
		s := lone(t, disk, "s", func(err error) { fatal.CompareAndSwap(nil, &err) })
		defer func() { _ = s.Close() }()
		s.DiskWatch().SetFault(func(op *fs.Op) error {
			if op.Kind == fs.OpStat {
				return errors.New("the disk reports an error")
			}
			return nil
		})
		time.Sleep(3 * PlaceEvery)
		s.DiskWatch().SetFault(nil)
		if err := fatal.Load(); err != nil {
			t.Fatalf("files that are there: %v", *err)
		}
		if err := disk.RemoveAll("s/raftlog"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(PlaceEvery + time.Millisecond)
		var gone *MisplacedError
		if err := fatal.Load(); err == nil || !errors.As(*err, &gone) {
			t.Fatalf("the raft log was removed: %v", err)
		}
		for _, word := range []string{"s/raftlog", "put it back", "start the node with an empty store"} {
			if !strings.Contains(gone.Error(), word) {
				t.Errorf("%q is not in: %v", word, gone)
			}
		}
	})
}
