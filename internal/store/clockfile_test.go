package store

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

// TestClockOnFullDisk: a clock whose log has no room keeps its bound in the clock file. A torn slot of that file
// loses no acknowledged bound.
func TestClockOnFullDisk(t *testing.T) {
	disk := fs.NewMem()
	open := func(now int64) *Store {
		c := hlc.New(func() int64 { return now }, 0)
		s, err := Open(Options{FS: disk, Dir: "s", Clock: c, Bootstrap: true, OnFatal: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(int64(time.Hour))
	s.DiskWatch().SetFault(func(op *fs.Op) error {
		if op.Kind == fs.OpWrite && strings.Contains(op.Path, "raftlog") {
			return syscall.ENOSPC
		}
		return nil
	})
	for _, bound := range []int64{int64(2 * time.Hour), int64(3 * time.Hour)} {
		if err := s.persistClock(bound); err != nil {
			t.Fatal(err)
		}
	}
	torn := 1 - s.clock.next
	s.DiskWatch().SetFault(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(int64(time.Hour))
	if got := s.opts.Clock.Now().WallTime; got < int64(3*time.Hour) {
		t.Errorf("the clock begins at %v", time.Duration(got))
	}
	if _, err := s.clock.f.WriteAt([]byte{1}, int64(torn)*clockSlotStep+9); err != nil {
		t.Fatal(err)
	}
	if err := s.closeFiles(); err != nil {
		t.Fatal(err)
	}
	if _, bound := openClockFile(&Options{FS: disk, Dir: "s", Logger: s.opts.Logger}); bound != int64(2*time.Hour) {
		t.Errorf("beside a torn slot the bound is %v", time.Duration(bound))
	}
}
