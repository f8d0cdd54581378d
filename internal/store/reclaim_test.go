package store_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// TestReclaim: a leader offers its leadership to a replica that does not receive the message. It must not serve any more
// in this term, and serves again in a later one.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		lead, target := c.Leader(1), c.Nodes[2]
		if lead.ReplicaID() == kvpb.ReplicaID(target.ID) {
			target = c.Nodes[1]
		}
		rep, ok := lead.Desc().Replica(kvpb.StoreID(target.ID))
		if !ok {
			t.Fatal("no replica to hand over to")
		}
		reported := make(chan []replica.FollowerProgress, 1)
		lead.Progress(func(list []replica.FollowerProgress) { reported <- list })
		if list := <-reported; len(list) != 2 || list[0].Match == 0 || list[1].Match == 0 {
			t.Errorf("progress: %+v", list)
		}
		lead.TransferLeader(rep.Replica)
		synctest.Wait() // it is decided, and the message on its way
		target.Port.SetDown(true)
		if lead.Leads() {
			t.Error("the leader serves though it gave its leadership away")
		}
		time.Sleep(5 * time.Second) // long enough for raft to give the transfer up
		lead.Reclaim()
		if took := c.Put(1, "\x10a", "2"); took > 3*time.Second {
			t.Errorf("writes took %v to succeed again", took)
		}
		if v := c.Get(1, "\x10a"); v != "2" {
			t.Errorf("a = %q", v)
		}
		target.Port.SetDown(false)
	})
}

// TestCollectAtTheRangesTTL: old versions go soon after the TTL of their range, however long the store's is.
func TestCollectAtTheRangesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.CloseAll()
		for _, v := range []string{"1", "2", "3"} {
			c.Put(1, "\x10a", v)
		}
		stats := c.Leader(1).Stats()
		time.Sleep(store.DefaultGCTTL / 2)
		if n := stats.Collected.Load(); n != 0 {
			t.Errorf("%d versions went before their time", n)
		}
		const ttl = 20 * time.Second
		setTTL(t, c.Nodes[0], ttl)
		c.Put(1, "\x10b", "1")
		time.Sleep(ttl)
		readConfig(t, c.Nodes[0]) // nothing is collected that might have become protected since
		time.Sleep(2*store.CollectTick + time.Second)
		if n := stats.Collected.Load(); n != 2 {
			t.Errorf("%d versions were collected, want 2", n)
		}
	})
}

// setTTL sets gc.ttlseconds of all ranges.
func setTTL(t *testing.T, nd *clustertest.Node, ttl time.Duration) {
	t.Helper()
	var all zone.Config
	if err := all.Set("gc.ttlseconds", strconv.Itoa(int(ttl/time.Second))); err != nil {
		t.Fatal(err)
	}
	err := nd.Gateway().Run(context.Background(), func(_ context.Context, txn *kv.Txn) error {
		return txn.Put(keys.Zone(nil), zone.Encode(&zone.Record{Kind: zone.KindDefault, Config: all}))
	})
	if err != nil {
		t.Fatal(err)
	}
	readConfig(t, nd)
}

func readConfig(t *testing.T, nd *clustertest.Node) {
	t.Helper()
	if _, err := nd.KV.Config.Read(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestSplitStaysCommitted: a store applies a split and loses its power, and meanwhile its replica of the left half is
// removed from the range. The store still has its replica of the right half.
func TestSplitStaysCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("m")
		nd := c.Other(c.Of(c.Leader(1)), c.Of(c.Leader(2)))
		time.Sleep(time.Second)
		if r, ok := nd.Store.Replica(2); !ok || !r.Initialized() {
			t.Fatal("the split was not applied")
		}
		c.Crash(nd, 1)
		c.Change(1, replica.Remove, nd)
		c.Start(nd)
		c.Introduce()
		time.Sleep(10 * time.Second)
		if r, ok := nd.Store.Replica(2); !ok || !r.Initialized() {
			t.Errorf("no replica of the new range: %t", ok)
		}
		if _, ok := nd.Store.Replica(1); ok {
			t.Error("the replica that was taken away is there")
		}
	})
}
