package fs

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A Watch knows how long an operation has been under way, how long the slowest took,
// and when the disk was full.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch(NewMem())
		f, err := w.Create("a", WriteUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if w.Oldest() != 0 {
			t.Errorf("nothing is under way, the oldest is %v", w.Oldest())
		}
		w.SetFault(func(op *Op) error {
			if op.Kind == OpSync {
				time.Sleep(3 * time.Second)
			}
			return nil
		})
		go func() {
			if err := f.SyncData(); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(2 * time.Second)
		if got := w.Oldest(); got != 2*time.Second {
			t.Errorf("the oldest operation is %v old", got)
		}
		time.Sleep(2 * time.Second)
		if w.Oldest() != 0 || w.Worst() != 3*time.Second || w.Worst() != 0 {
			t.Error("the operation has ended")
		}
		w.SetFault(func(op *Op) error {
			if op.Kind == OpWrite || op.Kind == OpDiskUsage {
				return syscall.ENOSPC
			}
			return nil
		})
		if _, err := f.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || !w.NoSpaceWithin(time.Second) {
			t.Errorf("a write on a full disk: %v", err)
		}
		w.SetFault(nil)
		time.Sleep(2 * time.Second)
		if _, err := f.Write([]byte("x")); err != nil || w.NoSpaceWithin(time.Second) {
			t.Errorf("a write with room again: %v", err)
		}
	})
}
