package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

var errDisk = errors.New("the disk reports an error")

// logFault makes one operation on a raft log fail, and counts them.
type logFault struct {
	at    int64 // counted from 1; 0: none
	err   error
	count atomic.Int64
}

func (f *logFault) hook(op *fs.Op) error {
	if op.Kind != fs.OpWrite && op.Kind != fs.OpSync || !strings.Contains(op.Path, "raftlog") {
		return nil
	}
	if f.count.Add(1) == f.at {
		return f.err
	}
	return nil
}

// TestLogFails makes each write and sync of a raft log fail in turn, the leader's or a follower's, while two ranges are
// written, one of which a split has made and a merge removes. Afterwards the node loses everything that it had not
// made durable, and all nodes have every acknowledged write.
func TestLogFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		node   int
		err    error
		stride int64
	}{
		{"leader", 0, errDisk, 9}, {"follower", 1, errDisk, 9}, {"follower-full", 1, syscall.ENOSPC, 11}, {"leader-full", 0, syscall.ENOSPC, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stride := tc.stride
			if testing.Short() {
				stride *= 4
			}
			all := logFails(t, tc.node, &logFault{err: tc.err})
			if all < 20 {
				t.Fatalf("only %d operations of the log", all)
			}
			for at := int64(1); at <= all; at += stride {
				if logFails(t, tc.node, &logFault{at: at, err: tc.err}); t.Failed() {
					t.Fatalf("operation %d of %d failed", at, all)
				}
			}
		})
	}
}

// tryMerge merges a range with the one to its right, which needs all stores of both, or ends the attempt.
func (c *cluster) tryMerge(id kvpb.RangeID) {
	c.T.Helper()
	l := c.Leader(id)
	if l == nil {
		return
	}
	right := c.Of(l).Store.At(l.Desc().EndKey)
	if right == nil || !right.Leads() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if l.Merge(ctx, right) == nil {
		return
	}
	c.Do(id, func(l *replica.Replica) error {
		if l.Desc().Merging == 0 {
			return nil
		}
		return c.resolve(l)
	})
}

// logFails runs the script of TestLogFails with a fault in the log of a node, and returns
// how many operations that log has seen.
func logFails(t *testing.T, node int, f *logFault) (ops int64) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		hurt := c.Nodes[node]
		hurt.Store.DiskWatch().SetFault(f.hook)
		c.Do(1, func(r *replica.Replica) error {
			if !r.Desc().ContainsKey([]byte("\x10m")) {
				return nil // done, though its outcome was not known
			}
			return r.Split(context.Background(), []byte("\x10m"), 2)
		})
		key := func(p string, i int) string { return fmt.Sprintf("\x10%s%d", p, i) }
		for i := range 4 {
			c.Put(1, key("a", i), "1")
			c.Put(2, key("m", i), "1")
		}
		c.tryMerge(1)
		for i := range 4 {
			c.Put(1, key("a", i), "2")
			c.Put(c.holder(key("n", i)), key("n", i), "2")
		}
		time.Sleep(time.Second)
		ops = f.count.Load()
		hurt.Store.DiskWatch().SetFault(nil)
		c.Crash(hurt, 1)
		c.Start(hurt)
		c.Introduce()
		for i := range 4 {
			for k, want := range map[string]string{key("a", i): "2", key("m", i): "1", key("n", i): "2"} {
				if v := c.Get(c.holder(k), k); v != want {
					t.Errorf("%q = %q, not %q", k, v, want)
				}
			}
		}
		c.Put(c.holder("\x10z"), "\x10z", "3")
		c.agree()
	})
	return ops
}
