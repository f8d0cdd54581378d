package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// cluster is a cluster with the steps of these tests.
type cluster struct{ *clustertest.Cluster }

func newCluster(t *testing.T, nodes int) *cluster { return &cluster{clustertest.New(t, nodes)} }

func newClusterWith(t *testing.T, nodes int, limits store.SnapshotLimits) *cluster {
	return &cluster{clustertest.NewWith(t, nodes, clustertest.Options{Snapshots: limits})}
}

func TestReplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Put(1, "\x10a", "1")
		c.Replicate(1)
		d := c.Leader(1).Desc()
		if len(d.Replicas) != 3 {
			t.Fatalf("replicas: %v", d.Replicas)
		}
		for i := range 50 {
			c.Put(1, fmt.Sprintf("\x10k%d", i), "v")
		}
		time.Sleep(time.Second)
		want := c.Leader(1).AppliedIndex()
		for _, nd := range c.Nodes {
			r, ok := nd.Store.Replica(1)
			if !ok || r.AppliedIndex() != want {
				t.Errorf("node %d: applied %v", nd.ID, r)
			}
		}
		if v := c.Get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
	})
}

func TestLeaderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		for round := range 6 {
			key := fmt.Sprintf("\x10r%d", round)
			c.Put(1, key, "old")
			var dead *clustertest.Node
			lead := c.Leader(1)
			for _, nd := range c.Nodes {
				if r, ok := nd.Store.Replica(1); ok && r == lead {
					dead = nd
				}
			}
			c.Close(dead)
			// Support lasts for 1.2 s; an election that fails is repeated soon.
			if took := c.Put(1, key, "new"); took > 3*time.Second {
				t.Errorf("round %d: writes took %v to succeed again", round, took)
			}
			if v := c.Get(1, key); v != "new" {
				t.Errorf("%s = %q", key, v)
			}
			c.Start(dead)
			c.Introduce()
			time.Sleep(5 * time.Second)
			if r, _ := dead.Store.Replica(1); r.AppliedIndex() != c.Leader(1).AppliedIndex() {
				t.Errorf("round %d: node %d did not catch up: %d, leader %d", round, dead.ID, r.AppliedIndex(), c.Leader(1).AppliedIndex())
			}
		}
	})
}

// The leader's node starts again while another node is gone, and the leader's replica can't campaign. A follower
// that supports the node's new incarnation does not take the leader of the old incarnation for alive.
func TestLeaderStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		lead := c.Leading(1)
		gone := c.Other(lead)
		stays := c.Other(lead, gone)
		c.Put(1, "\x10a", "old")
		time.Sleep(2 * time.Second)
		c.Close(gone)
		time.Sleep(2 * time.Second)
		c.Net.Lose(func(from, _ kvpb.NodeID, m rpc.Method, msg []byte) bool {
			if from != lead.ID || m != store.MethodRaft {
				return false
			}
			p, err := store.RaftMessage(msg)
			is := new(pb.Message)
			return err != nil || proto.Unmarshal(p, is) != nil || is.GetType() == pb.MsgPreVote
		})
		c.Crash(lead, 1)
		c.Start(lead)
		c.Introduce()
		c.Put(1, "\x10a", "new")
		if now := c.Leading(1); now != stays {
			t.Errorf("node %d leads, whose calls for votes get lost", now.ID)
		}
	})
}

func TestSplitReplicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		for i := range 10 {
			c.Put(1, fmt.Sprintf("\x10%c", 'a'+i), "v")
		}
		c.Split(1, "\x10f", 2)
		c.Put(2, "\x10z", "right")
		c.Put(1, "\x10a", "left")
		if v := c.Get(2, "\x10g"); v != "v" {
			t.Errorf("g = %q", v)
		}
		err := c.Leader(1).Get(context.Background(), &kvpb.GetRequest{Txn: c.Nodes[0].Txn(1 << 40), Key: []byte("\x10z")}, &kvpb.GetResponse{})
		var mm *kvpb.RangeMismatchError
		if !errors.As(err, &mm) {
			t.Errorf("a key of the right half at the left: %v", err)
		}
	})
}

// A node whose engine is from before the range had other replicas finds them in its log, and does not take itself
// for the only voter.
func TestRestartBeforeReplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		first := c.Nodes[0]
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		// The process dies: the log is there, the engine as of its last flush.
		first.Port.SetDown(true)
		first.KV.Live.Close()
		disk := fs.CrashClone(first.Disk, 0, 1)
		old := first.Store
		first.Disk = disk
		c.Start(first)
		c.Introduce()
		if r, ok := first.Store.Replica(1); !ok || len(r.Desc().Replicas) != 3 {
			t.Errorf("the replica's descriptor after the restart: %+v", r.Desc())
		}
		if v := c.Get(1, "\x10a"); v != "1" {
			t.Errorf("a = %q", v)
		}
		_ = old.Close()
	})
}
