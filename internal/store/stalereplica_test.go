package store_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// A replica that missed its removal stays behind while its range is merged into the one on its left, and that
// one is split again at the same key. The store's replica of the left range ends where the stale replica
// begins, but no merge is pending: the stale replica goes, and the new range can have a replica there.
func TestStaleBesideLeft(t *testing.T) {
	for name, newer := range map[string]func(record *kvpb.RangeDescriptor) *kvpb.RangeDescriptor{
		"record": func(d *kvpb.RangeDescriptor) *kvpb.RangeDescriptor { return d },
		"notice": func(*kvpb.RangeDescriptor) *kvpb.RangeDescriptor { // as answerGone makes it
			return &kvpb.RangeDescriptor{RangeID: 2, Generation: math.MaxUint64, NextReplicaID: apply.MergedAway}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { staleBesideLeft(t, newer) }) })
	}
}

func staleBesideLeft(t *testing.T, newer func(record *kvpb.RangeDescriptor) *kvpb.RangeDescriptor) {
	c := newCluster(t, 4)
	defer c.CloseAll()
	last := c.Nodes[3]
	c.Replicate(1)
	c.split("f")
	c.Put(2, "\x10g", "old")
	c.gather(c.Nodes[0], 1, 2)
	<-time.After(2 * time.Second)
	c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, _ []byte) bool { return m == store.MethodGone && to == last.ID })
	last.Port.SetDown(true)
	c.Change(1, replica.Remove, last)
	c.Change(2, replica.Remove, last)
	c.merge(1)
	c.Split(1, "\x10f", 3)
	c.Put(3, "\x10g", "new")
	last.Port.SetDown(false)
	c.Introduce()
	c.join(1, last)
	stale, ok := last.Store.Replica(2)
	if !ok {
		t.Fatal("there is no stale replica")
	}
	last.Store.Superseded(stale, newer(c.Leader(3).Desc()))
	await(t, "the stale replica is gone", func() bool { _, ok := last.Store.Replica(2); return !ok })
	c.Net.Lose(nil)
	c.join(3, last)
	c.Transfer(3, last)
	if got := c.Get(3, "\x10g"); got != "new" {
		t.Errorf("g = %q", got)
	}
}

// A store has the freeze of a range in its log, but not the merge. The range's replica stays until the merge is applied,
// even if a message says that the range is part of another one. Then its keys belong to another replica.
func TestMergeStillToBeApplied(t *testing.T) {
	for name, applied := range map[string]bool{"freeze applied": true, "freeze in the log": false} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { mergeStillToBeApplied(t, applied) }) })
	}
}

func mergeStillToBeApplied(t *testing.T, applied bool) {
	c := newCluster(t, 3)
	defer c.CloseAll()
	c.Replicate(1)
	c.split("f")
	c.Put(2, "\x10g", "kept")
	first, last := c.Nodes[0], c.Nodes[2]
	c.gather(first, 1, 2)
	<-time.After(2 * time.Second)
	right, _ := last.Store.Replica(2)
	leading, _ := first.Store.Replica(2)
	before := leading.AppliedIndex()
	c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, msg []byte) bool {
		if m != store.MethodRaft || to != last.ID {
			return false
		}
		if store.RaftRange(msg) == 1 {
			return leading.Desc().Into != 0
		}
		return !applied && commitOf(msg) > before
	})
	if err := c.Leader(1).Merge(context.Background(), leading); err != nil {
		t.Fatal(err)
	}
	if frozen := right.Desc().Into != 0; frozen != applied {
		t.Fatalf("the freeze is applied: %v", frozen)
	}
	wide := c.Leader(1).Desc()
	last.Store.Superseded(right, wide)
	<-time.After(100 * time.Millisecond)
	if r, _ := last.Store.Replica(2); r != right {
		t.Fatal("the replica is gone before the merge")
	}
	c.Net.Lose(nil)
	c.agree()
	c.Split(1, "\x10f", 3)
	c.agree()
	last.Store.Superseded(right, c.Leader(3).Desc())
	<-time.After(100 * time.Millisecond)
	c.Transfer(3, last)
	if got := c.Get(3, "\x10g"); got != "kept" {
		t.Errorf("g = %q", got)
	}
}

// commitOf returns the commit index that a raft message between stores has.
func commitOf(msg []byte) uint64 {
	m := raftMessage(msg)
	if m == nil {
		return 0
	}
	return m.GetCommit()
}

func raftMessage(msg []byte) *pb.Message {
	p, err := store.RaftMessage(msg)
	m := new(pb.Message)
	if err != nil || proto.Unmarshal(p, m) != nil {
		return nil
	}
	return m
}

// The voter that a change removes is elected while the configuration is joint. When the joint configuration ends it is
// no voter any more and steps down in its own term, while the others support its store. So it asks them to campaign.
func TestDemotedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		defer c.CloseAll()
		one, two, three, four := c.Nodes[0], c.Nodes[1], c.Nodes[2], c.Nodes[3]
		c.join(1, two)
		c.join(1, three)
		c.gather(one, 1)
		c.Change(1, replica.AddLearner, four)
		c.Put(1, "\x10a", "before")
		<-time.After(2 * time.Second)
		led := false // by the outgoing voter
		c.Net.Lose(func(from, _ kvpb.NodeID, m rpc.Method, msg []byte) bool {
			if m != store.MethodRaft || led {
				return false
			}
			is := raftMessage(msg)
			led = from == two.ID && is.GetType() == pb.MsgApp
			return from == one.ID && leavesJoint(is) || from != two.ID && is.GetType() == pb.MsgPreVote
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Leader(1).ChangeReplicas(ctx, []replica.Change{{Kind: replica.Promote, Node: 4, Store: 4}, {Kind: replica.Remove, Node: 2, Store: 2}})
		c.Close(one)
		c.Put(1, "\x10a", "after")
		if !led {
			t.Error("the outgoing voter has not led")
		}
	})
}

// leavesJoint reports whether a message has the entry that leaves a joint configuration.
func leavesJoint(m *pb.Message) bool {
	for _, e := range m.GetEntries() {
		var cc pb.ConfChangeV2
		if e.GetType() == pb.EntryConfChangeV2 && proto.Unmarshal(e.GetData(), &cc) == nil && cc.LeaveJoint() {
			return true
		}
	}
	return false
}
