package store

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A disk whose operations do not return is stalled until they have been fast for a
// while.
func TestDiskStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 1)
		defer c.closeAll()
		s := c.nodes[0].s
		f, err := s.opts.FS.Create("s/probe", fs.WriteUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const stall = 10 * time.Second
		s.DiskWatch().SetFault(func(op *fs.Op) error {
			if strings.HasSuffix(op.Path, "probe") {
				time.Sleep(stall)
			}
			return nil
		})
		go func() { _ = f.Sync() }()
		time.Sleep(StallAfter / 2)
		if s.Disk().Stalled {
			t.Error("a sync of a second is no stall")
		}
		time.Sleep(StallAfter/2 + 2*diskEvery)
		if !s.Disk().Stalled {
			t.Error("the disk does not answer, and that was not noticed")
		}
		s.DiskWatch().SetFault(nil)
		time.Sleep(stall)
		if !s.Disk().Stalled {
			t.Error("the disk counts as well right after the stall")
		}
		time.Sleep(wellAfter)
		if s.Disk().Stalled {
			t.Error("the disk answers again, and that was not noticed")
		}
	})
}

// What operations took while the process stood still says nothing about the disk.
func TestPausedProcess(t *testing.T) {
	var d disk
	now := time.Now()
	look := func(after, took time.Duration) time.Duration {
		now = now.Add(after)
		return d.fair(now, took)
	}
	look(0, 0)
	if got := look(diskEvery, 3*time.Second); got != 3*time.Second {
		t.Errorf("a process that goes on: %v", got)
	}
	if got := look(10*time.Second, 13*time.Second); got != 0 {
		t.Errorf("right after a pause: %v", got)
	}
	for range 9 {
		look(diskEvery, 13*time.Second)
	}
	if got := look(diskEvery, 14*time.Second); got != 10*diskEvery {
		t.Errorf("%v after the pause: %v", 10*diskEvery, got)
	}
}

// A full disk refuses writes and serves reads; the store says so, and goes on when
// there is room.
func TestDiskFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 1)
		defer c.closeAll()
		s := c.nodes[0].s
		c.put(1, "\x10a", "1")
		s.DiskWatch().SetFault(func(op *fs.Op) error {
			switch op.Kind {
			case fs.OpCreate, fs.OpLink, fs.OpMkdirAll:
				return syscall.ENOSPC
			}
			return nil
		})
		if err := s.eng.Flush(); err == nil {
			t.Error("a flush without room succeeded")
		}
		time.Sleep(2 * diskEvery)
		var full *kvpb.DiskFullError
		if err := s.admitWrite(); !errors.As(err, &full) || !s.Disk().Full {
			t.Errorf("a write on a full disk: %v, %+v", err, s.Disk())
		}
		if v := c.get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
		s.DiskWatch().SetFault(nil)
		time.Sleep(2 * wellAfter)
		if s.Disk().Full {
			t.Error("there is room again, and that was not noticed")
		}
		c.put(1, "\x10a", "2")
	})
}
