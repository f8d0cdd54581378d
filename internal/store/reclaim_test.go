package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// TestReclaim has a leader offer its leadership to a replica that does not hear it: it
// must not serve in this term any more, and serves again in a later one.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		c.put(1, "\x10a", "1")
		lead, target := c.leader(1), c.nodes[2]
		if lead.ReplicaID() == kvpb.ReplicaID(target.id) {
			target = c.nodes[1]
		}
		rep, ok := lead.Desc().Replica(kvpb.StoreID(target.id))
		if !ok {
			t.Fatal("no replica to hand over to")
		}
		told := make(chan []replica.FollowerProgress, 1)
		lead.Progress(func(list []replica.FollowerProgress) { told <- list })
		if list := <-told; len(list) != 2 || list[0].Match == 0 || list[1].Match == 0 {
			t.Errorf("progress: %+v", list)
		}
		lead.TransferLeader(rep.Replica)
		synctest.Wait() // it is decided, and the message on its way
		target.port.down.Store(true)
		if lead.Leads() {
			t.Error("the leader serves though it gave its leadership away")
		}
		time.Sleep(5 * time.Second) // long enough for raft to give the transfer up
		lead.Reclaim()
		if took := c.put(1, "\x10a", "2"); took > 3*time.Second {
			t.Errorf("writes took %v to succeed again", took)
		}
		if v := c.get(1, "\x10a"); v != "2" {
			t.Errorf("a = %q", v)
		}
		target.port.down.Store(false)
	})
}

// TestCollectAtTheRangesTTL: old versions go soon after the TTL of their range, however
// long the store's is.
func TestCollectAtTheRangesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 1)
		defer c.closeAll()
		for _, v := range []string{"1", "2", "3"} {
			c.put(1, "\x10a", v)
		}
		stats := c.leader(1).Stats()
		time.Sleep(DefaultGCTTL / 2)
		if n := stats.Collected.Load(); n != 0 {
			t.Errorf("%d versions went before their time", n)
		}
		c.ttl.Store(int64(20 * time.Second))
		c.put(1, "\x10b", "1")
		time.Sleep(20*time.Second + 2*collectTick + time.Second)
		if n := stats.Collected.Load(); n != 2 {
			t.Errorf("%d versions were collected, want 2", n)
		}
	})
}

// TestSplitStaysCommitted: a store that has applied a split and lost its power, and whose replica
// of the range that was split has been taken away meanwhile, has its replica of the new range.
func TestSplitStaysCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		c.split("m")
		nd := c.other(c.nodeOf(c.leader(1)), c.nodeOf(c.leader(2)))
		time.Sleep(time.Second)
		if r, ok := nd.s.Replica(2); !ok || !r.Initialized() {
			t.Fatal("the split was not applied")
		}
		c.crash(nd, 1)
		c.change(1, replica.Remove, nd)
		c.open(nd)
		c.introduce()
		time.Sleep(10 * time.Second)
		if r, ok := nd.s.Replica(2); !ok || !r.Initialized() {
			t.Errorf("no replica of the new range: %t", ok)
		}
		if _, ok := nd.s.Replica(1); ok {
			t.Error("the replica that was taken away is there")
		}
	})
}
