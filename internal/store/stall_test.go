package store_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/store"
)

// TestStalledLeader: the disk of a leader stalls, under load or when idle. Other stores lead soon, although they go on
// supporting the store's node, which may have other stores. The store leads nothing until its disk is healthy.
func TestStalledLeader(t *testing.T) {
	for _, busy := range []bool{true, false} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testStalledLeader(t, busy) })
		})
	}
}

func testStalledLeader(t *testing.T, busy bool) {
	c := newCluster(t, 3)
	defer c.CloseAll()
	c.Replicate(1)
	slow := c.Nodes[1] // the test asks the first one's clock
	c.Transfer(1, slow)
	c.Put(1, "\x10k", "old")
	time.Sleep(5 * time.Second)
	s := slow.Store
	if err := slow.Clock.Refresh(); err != nil { // as a node does every second
		t.Fatal(err)
	}
	release := make(chan struct{})
	s.DiskWatch().SetFault(func(op *fs.Op) error {
		if op.Kind.Mutates() {
			<-release
		}
		return nil
	})
	begun := time.Now()
	if busy {
		go func() {
			r, _ := s.Replica(1)
			m := slow.Txn(1 << 40)
			m.Isolation = kvpb.ReadCommitted
			_ = r.Commit(t.Context(), &kvpb.CommitRequest{Txn: m, Writes: []kvpb.Write{{Key: []byte("\x10other"), Value: []byte("x")}}}, &kvpb.CommitResponse{})
		}()
	} else {
		go func() { _, _ = s.FS().Create(clustertest.Dir+"/probe", fs.WriteUnspecified) }()
	}
	for c.Leading(1) == slow || c.Leading(1) == nil {
		if time.Sleep(10 * time.Millisecond); time.Since(begun) > 10*time.Second {
			t.Fatal("nobody else leads")
		}
	}
	if took := time.Since(begun); took > store.StallAloneAfter+2*store.DiskEvery+100*time.Millisecond {
		t.Errorf("another node leads after %v", took)
	}
	if took := c.Put(1, "\x10k", "new"); took > 100*time.Millisecond {
		t.Errorf("a write took %v", took)
	}
	for _, nd := range c.Nodes {
		if nd != slow && !nd.KV.Live.Supports(kvpb.StoreID(slow.ID)) {
			t.Errorf("node %d does not support the stalled node any more", nd.ID)
		}
	}
	time.Sleep(2 * time.Second)
	if r, _ := s.Replica(1); r.Leads() {
		t.Error("the store with the stalled disk leads")
	}
	s.DiskWatch().SetFault(nil)
	close(release)
	time.Sleep(2 * store.WellAfter)
	if v := c.Get(1, "\x10k"); v != "new" {
		t.Errorf("k = %q", v)
	}
	if s.Disk().Stalled {
		t.Error("the disk still counts as stalled")
	}
}

// TestStallTogether: all disks stall at once, as on machines that are all busy. None counts as stalled before
// store.StallAfter, and no leadership moves.
func TestStallTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		leader := c.Leading(1)
		c.Put(1, "\x10k", "old")
		time.Sleep(5 * time.Second)
		const hang = store.StallAfter - 200*time.Millisecond
		for _, nd := range c.Nodes {
			nd.Store.DiskWatch().SetFault(func(op *fs.Op) error {
				if op.Kind.Mutates() {
					time.Sleep(hang)
				}
				return nil
			})
			go func() { _, _ = nd.Store.FS().Create(clustertest.Dir+"/probe", fs.WriteUnspecified) }()
		}
		time.Sleep(hang - store.DiskEvery)
		for _, nd := range c.Nodes {
			if nd.Store.Disk().Stalled {
				t.Errorf("the disk of node %d counts as stalled", nd.ID)
			}
			nd.Store.DiskWatch().SetFault(nil)
		}
		time.Sleep(store.WellAfter)
		if now := c.Leading(1); now != leader {
			t.Error("another node leads")
		}
	})
}

// TestResignTo: the store of a leader whose disk is slow gives its leadership to another store. Requests that wait for a
// command of the leader need not wait for that disk, and nothing is lost or done twice.
func TestResignTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		slow := c.Nodes[1]
		c.Transfer(1, slow)
		c.Put(1, "\x10k", "old")
		time.Sleep(time.Second)
		const each = 2 * time.Second
		slow.Store.DiskWatch().SetFault(func(op *fs.Op) error {
			if op.Kind.Mutates() {
				time.Sleep(each)
			}
			return nil
		})
		defer slow.Store.DiskWatch().SetFault(nil)
		r, _ := slow.Store.Replica(1)
		ended := make(chan error, 4)
		for i := range cap(ended) {
			go func() {
				m := slow.Txn(uint64(1<<40 + i))
				m.Isolation = kvpb.ReadCommitted
				key := fmt.Appendf(nil, "\x10other%d", i)
				ended <- r.Commit(t.Context(), &kvpb.CommitRequest{Txn: m, Writes: []kvpb.Write{{Key: key, Value: []byte("x")}}}, &kvpb.CommitResponse{})
			}()
		}
		time.Sleep(100 * time.Millisecond)
		begun := time.Now()
		target := c.Nodes[2]
		to, _ := r.Desc().Replica(kvpb.StoreID(target.ID))
		r.ResignTo(to)
		for range cap(ended) {
			if err := <-ended; err == nil {
				t.Error("a command was applied on a disk that had not written it yet")
			}
		}
		// One of them has the group's log on its hands, and is in the midst of a write.
		if took := time.Since(begun); took > 2*each+200*time.Millisecond {
			t.Errorf("the last one waited for %v", took)
		}
		for c.Leading(1) != target {
			if time.Sleep(10 * time.Millisecond); time.Since(begun) > 10*time.Second {
				t.Fatal("the target does not lead")
			}
		}
		if took := c.Put(1, "\x10k", "new"); took > 100*time.Millisecond {
			t.Errorf("a write took %v", took)
		}
		if v := c.Get(1, "\x10k"); v != "new" {
			t.Errorf("k = %q", v)
		}
	})
}
