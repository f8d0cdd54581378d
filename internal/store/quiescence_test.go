package store_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A follower gets a write but does not learn that it is committed, until its leader has had nothing to do for long
// enough to go idle. The leader must not go idle before the follower has acknowledged the commit index (invariant 6 of
// package raftgroup).
func TestRestTellsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		time.Sleep(5 * time.Second)
		leader := c.Leader(1)
		deaf := kvpb.NodeID(2)
		if c.Leading(1).ID == deaf {
			deaf = 3
		}
		c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, msg []byte) bool {
			return m == store.MethodRaft && to == deaf && !bringsEntries(t, msg)
		})
		c.Put(1, "\x10a", "2")
		time.Sleep(2 * time.Second)
		follower, _ := c.Nodes[deaf-1].Store.Replica(1)
		if follower.AppliedIndex() == leader.AppliedIndex() {
			t.Fatal("the follower has heard of the commit")
		}
		c.Net.Lose(nil)
		time.Sleep(time.Second)
		if f, l := follower.AppliedIndex(), leader.AppliedIndex(); f != l {
			t.Errorf("the follower has applied %d, its leader %d", f, l)
		}
		time.Sleep(5 * time.Second)
		for _, nd := range c.Nodes {
			if n := nd.Store.Unquiesced(); n > 0 {
				t.Errorf("node %d: %d replicas do not rest", nd.ID, n)
			}
		}
	})
}

// bringsEntries reports whether a raft message between stores carries entries.
func bringsEntries(t testing.TB, msg []byte) bool {
	raft, err := store.RaftMessage(msg)
	if err != nil {
		t.Error(err)
	}
	m := new(pb.Message)
	if err := proto.Unmarshal(raft, m); err != nil {
		t.Error(err)
	}
	return len(m.Entries) > 0
}

// supportOnce answers From once with a former state, like for a caller that is interrupted between its look and its
// action.
type supportOnce struct {
	*liveness.Liveness
	before atomic.Pointer[func(kvpb.StoreID) bool]
}

func (s *supportOnce) From(id kvpb.StoreID) *liveness.Cell {
	if f := s.before.Load(); f != nil && (*f)(id) {
		return new(liveness.Cell)
	}
	return s.Liveness.From(id)
}

// TestRestMeetsReturn: a store returns while a leader, which has just found it dead, goes idle. The leader must send it
// heartbeats all the same.
func TestRestMeetsReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := map[*clustertest.Node]*supportOnce{}
		c := &cluster{clustertest.NewWith(t, 3, clustertest.Options{BeforeStart: func(nd *clustertest.Node) {
			before[nd] = &supportOnce{Liveness: nd.KV.Live}
			nd.Store.SetSupport(before[nd])
		}})}
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		time.Sleep(5 * time.Second)
		leader, at := c.Leader(1), c.Leading(1)
		deaf := kvpb.NodeID(2)
		if at.ID == deaf {
			deaf = 3
		}
		c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, _ []byte) bool { return m == store.MethodRaft && to == deaf })
		c.Put(1, "\x10a", "2")
		time.Sleep(3 * time.Second)
		met := false
		back := func(id kvpb.StoreID) bool {
			if id != kvpb.StoreID(deaf) || met {
				return false
			}
			met = true
			time.AfterFunc(50*time.Millisecond, func() { c.Net.Lose(nil) }) // what is on its way is lost
			leader.SupportChanged(id)
			return true
		}
		before[at].before.Store(&back)
		time.Sleep(3 * time.Second)
		follower, _ := c.Nodes[deaf-1].Store.Replica(1)
		if f, l := follower.AppliedIndex(), leader.AppliedIndex(); !met || f != l {
			t.Errorf("met %v: the follower has applied %d, its leader %d", met, f, l)
		}
	})
}
