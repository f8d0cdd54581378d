package store_test

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/store"
)

// A store on a full disk refuses writes and serves reads. It says so, and continues when there is room again.
func TestDiskFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.CloseAll()
		s := c.Nodes[0].Store
		c.Put(1, "\x10a", "1")
		s.DiskWatch().SetFault(func(op *fs.Op) error {
			switch op.Kind {
			case fs.OpCreate, fs.OpLink, fs.OpMkdirAll:
				return syscall.ENOSPC
			}
			return nil
		})
		if err := s.Engine().Flush(); err == nil {
			t.Error("a flush without room succeeded")
		}
		time.Sleep(2 * store.DiskEvery)
		var full *kvpb.DiskFullError
		if err := s.AdmitWrite(); !errors.As(err, &full) || !s.Disk().Full {
			t.Errorf("a write on a full disk: %v, %+v", err, s.Disk())
		}
		if v := c.Get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
		s.DiskWatch().SetFault(nil)
		time.Sleep(2 * store.WellAfter)
		if s.Disk().Full {
			t.Error("there is room again, and that was not noticed")
		}
		c.Put(1, "\x10a", "2")
	})
}
