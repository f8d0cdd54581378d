package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
)

// The log of a merged range stays until the merge is durable, even if an earlier replica of the range has left a
// tombstone on the store: otherwise a power loss would leave a range without a log.
func TestMergedLogAndOldTombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("f")
		last := c.Nodes[2]
		c.gather(c.Nodes[0], 1, 2)
		change := func(k replica.ChangeKind) {
			c.Change(2, k, last)
			time.Sleep(2 * time.Second)
			if err := last.Store.Engine().Flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		change(replica.Remove)
		if floor, err := last.Store.Tombstone(2); err != nil || floor == 0 {
			t.Fatalf("no tombstone of the replica that was removed: %d, %v", floor, err)
		}
		change(replica.AddLearner)
		change(replica.Promote)
		c.merge(1)
		time.Sleep(100 * time.Millisecond)
		if _, ok := last.Store.Replica(2); ok {
			t.Fatal("the merge has not come to the last node")
		}
		last.Store.DestroyLogs()
		if _, ok := last.Store.Log().State(raftlog.GroupID(2)); !ok {
			t.Error("the log is gone before the merge is durable")
		}
		c.Crash(last, 1)
		c.Start(last)
		c.Introduce()
		c.Put(1, "\x10z", "after")
		c.agree()
		if err := last.Store.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, ok := last.Store.Log().State(raftlog.GroupID(2)); ok {
			t.Error("the log is still there though the merge is durable")
		}
	})
}

// A node that is down prevents merges, but no request waits for it.
func TestNoMergeWithoutAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("f")
		c.gather(c.Nodes[0], 1, 2)
		c.Nodes[2].Port.SetDown(true)
		time.Sleep(3 * time.Second)
		left, right := c.Leader(1), c.Leader(2)
		began := time.Now()
		if err := left.Merge(context.Background(), right); !errors.Is(err, replica.ErrNotNow) {
			t.Errorf("a merge without one of the nodes: %v", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v to say so", took)
		}
		if d := right.Desc(); left.Desc().Changing() || d.Changing() {
			t.Errorf("something was begun: %+v, %+v", *left.Desc(), *d)
		}
		c.Nodes[2].Port.SetDown(false)
		time.Sleep(3 * time.Second)
		c.merge(1)
	})
}

// Renew protects a boundary until the merge has happened: before that the merge fails, afterwards the error names the
// range that holds the keys.
func TestRenewAgainstMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("f")
		c.gather(c.Nodes[0], 1, 2)
		time.Sleep(time.Second)
		ctx := context.Background()
		left, right := c.Leader(1), c.Leader(2)
		err := left.MergeIf(ctx, right, func(ctx context.Context) error {
			return right.Renew(ctx) // just after it was found that the boundary may go
		})
		if err == nil {
			t.Fatal("the ranges were merged although the right one was renewed")
		}
		if left.Desc().Merging != 0 {
			if err := c.resolve(left); err != nil {
				t.Fatal(err)
			}
		}
		if d := right.Desc(); d.Changing() || left.Desc().Changing() {
			t.Errorf("left over: %+v, %+v", *left.Desc(), *d)
		}
		for after := range 60 { // from the first moment of a merge to its end
			merged := make(chan error, 1)
			go func() { merged <- left.Merge(ctx, right) }()
			time.Sleep(time.Duration(after) * time.Millisecond)
			renewed := right.Renew(ctx)
			for errors.Is(renewed, replica.ErrBusy) {
				time.Sleep(time.Millisecond)
				renewed = right.Renew(ctx)
			}
			err := <-merged
			var moved *kvpb.RangeMismatchError
			if gone := errors.As(renewed, &moved); gone != (err == nil) || renewed != nil && !gone {
				t.Fatalf("after %d: the merge returned %v, and renewing the right range %v", after, err, renewed)
			}
			if err == nil {
				return
			}
			if left.Desc().Merging != 0 {
				if err := c.resolve(left); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Error("no merge was quick enough")
	})
}

// A replica that is alive but receives nothing keeps the range frozen for a moment only.
func TestShortFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("f")
		c.gather(c.Nodes[0], 1, 2)
		time.Sleep(time.Second)
		left, right := c.Leader(1), c.Leader(2)
		merged := make(chan error, 1)
		go func() { merged <- left.Merge(context.Background(), right) }()
		for left.Desc().Merging == 0 { // announced: cut the link before the freeze arrives
			time.Sleep(100 * time.Microsecond)
		}
		c.Net.Cut(1, 3, true)
		began := time.Now()
		if err := <-merged; err == nil {
			t.Fatal("merged without the third replica")
		}
		if err := c.resolve(left); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 600*time.Millisecond {
			t.Errorf("frozen for %v", took)
		}
		if d := right.Desc(); d.Changing() || left.Desc().Changing() {
			t.Errorf("left over: %+v", *d)
		}
	})
}

// The right half of a split has a leader with the locks at once, even if the other stores apply the split after its
// first call for votes.
func TestSplitLeadsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		lead := c.Leader(1)
		nd := c.Of(lead)
		ctx := context.Background()
		var held kvpb.LockResponse
		holder := nd.Txn(1 << 40)
		if err := lead.Lock(ctx, &kvpb.LockRequest{Txn: holder, Key: []byte("\x10z"), Strength: lock.Update}, &held); err != nil {
			t.Fatal(err)
		}
		if err := lead.Split(ctx, []byte("\x10m"), 2); err != nil {
			t.Fatal(err)
		}
		others := func(cut bool) {
			for _, o := range c.Nodes {
				if o != nd {
					c.Net.Cut(nd.ID, o.ID, cut)
				}
			}
		}
		others(true) // what was sent now gets lost
		time.Sleep(20 * time.Millisecond)
		if right, ok := nd.Store.Replica(2); !ok || right.Leads() || !right.ClaimsLeadership() {
			t.Error("the replica of the new range does not say that it is about to lead")
		}
		others(false)
		began := time.Now()
		for c.Leader(2) == nil {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took > 250*time.Millisecond {
			t.Errorf("the new range has a leader after %v", took)
		}
		if c.Of(c.Leader(2)) != nd {
			t.Error("another node leads the new range")
		}
		err := c.Leader(2).Commit(ctx, &kvpb.CommitRequest{
			Txn: holder, Writes: []kvpb.Write{{Key: []byte("\x10z"), Value: []byte("x")}},
			Locks: [][]byte{[]byte("\x10z")}, LockTableIDs: []uint64{held.LockTableID}, AllReadsHere: true,
		}, &kvpb.CommitResponse{})
		if err != nil {
			t.Errorf("the commit under a lock from before the split: %v", err)
		}
	})
}
