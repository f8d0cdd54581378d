package store

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A follower gets a write but nothing that says it is committed, until its leader has been
// idle for long enough to rest: the leader must not rest before the follower has heard
// (invariant 6 of package raftgroup).
func TestRestTellsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		c.put(1, "\x10a", "1")
		time.Sleep(5 * time.Second)
		leader := c.leader(1)
		deaf := kvpb.NodeID(2)
		if c.leading(1).id == deaf {
			deaf = 3
		}
		c.wire.lose(func(_, to kvpb.NodeID, m rpc.Method, msg []byte) bool {
			return m == MethodRaft && to == deaf && !bringsEntries(t, msg)
		})
		c.put(1, "\x10a", "2")
		time.Sleep(2 * time.Second)
		follower, _ := c.nodes[deaf-1].s.Replica(1)
		if follower.AppliedIndex() == leader.AppliedIndex() {
			t.Fatal("the follower has heard of the commit")
		}
		c.wire.lose(nil)
		time.Sleep(time.Second)
		if f, l := follower.AppliedIndex(), leader.AppliedIndex(); f != l {
			t.Errorf("the follower has applied %d, its leader %d", f, l)
		}
		time.Sleep(5 * time.Second)
		for _, nd := range c.nodes {
			if n := nd.s.Unquiesced(); n > 0 {
				t.Errorf("node %d: %d replicas do not rest", nd.id, n)
			}
		}
	})
}

// bringsEntries reports whether a raft message between stores carries entries.
func bringsEntries(t *testing.T, msg []byte) bool {
	var e envelope
	m := new(pb.Message)
	if err := e.decode(msg); err != nil {
		t.Error(err)
	}
	if err := proto.Unmarshal(e.raft, m); err != nil {
		t.Error(err)
	}
	return len(m.Entries) > 0
}

// supportOnce answers From once with what was true before, as to who is interrupted between
// looking and acting on it.
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

// TestRestMeetsReturn has a store come back while a leader, which has just found it not
// there, decides to rest: the leader must speak to it all the same.
func TestRestMeetsReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		c.put(1, "\x10a", "1")
		time.Sleep(5 * time.Second)
		leader, at := c.leader(1), c.leading(1)
		deaf := kvpb.NodeID(2)
		if at.id == deaf {
			deaf = 3
		}
		c.wire.lose(func(_, to kvpb.NodeID, m rpc.Method, _ []byte) bool { return m == MethodRaft && to == deaf })
		c.put(1, "\x10a", "2")
		time.Sleep(3 * time.Second)
		met := false
		back := func(id kvpb.StoreID) bool {
			if id != kvpb.StoreID(deaf) || met {
				return false
			}
			met = true
			time.AfterFunc(50*time.Millisecond, func() { c.wire.lose(nil) }) // what is on its way is lost
			leader.SupportChanged(id)
			return true
		}
		at.support.before.Store(&back)
		time.Sleep(3 * time.Second)
		follower, _ := c.nodes[deaf-1].s.Replica(1)
		if f, l := follower.AppliedIndex(), leader.AppliedIndex(); !met || f != l {
			t.Errorf("met %v: the follower has applied %d, its leader %d", met, f, l)
		}
	})
}
