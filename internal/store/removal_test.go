package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
)

// A range loses one voter for good and replaces another one. The store of the replaced voter destroys its replica
// durably, and then all nodes lose power. The others have the change in their logs, but have forgotten that it was
// committed. They need no vote of the destroyed replica (invariant 12 of package replica).
func TestPowerLossAfterRemoval(t *testing.T) {
	for name, changes := range map[string][]replica.Change{
		"replaced": {{Kind: replica.Promote, Node: 5, Store: 5}, {Kind: replica.Remove, Node: 2, Store: 2}},
		"removed":  {{Kind: replica.Remove, Node: 2, Store: 2}},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { powerLossAfterRemoval(t, changes) }) })
	}
}

func powerLossAfterRemoval(t *testing.T, changes []replica.Change) {
	c := newCluster(t, 5)
	defer c.CloseAll()
	one, two, three, four, five := c.Nodes[0], c.Nodes[1], c.Nodes[2], c.Nodes[3], c.Nodes[4]
	c.join(1, two)
	c.join(1, three)
	left := []*clustertest.Node{one, five}
	if len(changes) == 1 { // of four voters, three stay, and one of these is lost
		c.join(1, four)
		left = []*clustertest.Node{one, four}
	} else {
		c.Change(1, replica.AddLearner, five)
	}
	c.Put(1, "\x10a", "before")
	<-time.After(2 * time.Second)
	c.Close(three)
	c.Do(1, func(r *replica.Replica) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return r.ChangeReplicas(ctx, changes)
	})
	await(t, "the replica is removed", func() bool { _, ok := two.Store.Replica(1); return !ok })
	if err := two.Store.Engine().Flush(); err != nil {
		t.Fatal(err)
	}
	await(t, "its log is removed", func() bool { _, ok := two.Store.Log().State(raftlog.GroupID(1)); return !ok })
	left = append(left, two)
	for _, nd := range left {
		nd.Port.SetDown(true)
	}
	for _, nd := range left {
		c.Crash(nd, uint64(nd.ID))
		c.Start(nd)
	}
	c.Introduce()
	c.Put(1, "\x10a", "after")
	for _, rep := range c.Leader(1).Desc().Replicas {
		if rep.Type != kvpb.Voter || rep.Node == two.ID {
			t.Errorf("%+v is left", rep)
		}
	}
}

// await waits until a condition holds, which must be soon.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 5000 {
		if holds() {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Fatalf("%s: not within five seconds", what)
}

// Learners are added and removed one at a time. For several, raft would enter a joint configuration that the range's
// descriptor does not show, and a store that starts again would not know of it.
func TestLearnersChangeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		both := []replica.Change{{Kind: replica.AddLearner, Node: 2, Store: 2}, {Kind: replica.AddLearner, Node: 3, Store: 3}}
		if err := c.Leader(1).ChangeReplicas(context.Background(), both); err == nil {
			t.Error("two learners were added at once")
		}
		c.Change(1, replica.AddLearner, c.Nodes[1])
	})
}
