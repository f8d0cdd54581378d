package sim

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// TestRemovedReplicaLeaves removes a replica whose node is cut off, and loses every
// message that tells it so afterwards. It must go nevertheless, though its range rests
// and nobody speaks to it.
func TestRemovedReplicaLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 4)
		c.muted = map[rpc.Method]bool{store.MethodGone: true}
		c.found("\x10m")
		<-time.After(10 * time.Second)
		r := c.leaderOf([]byte("\x10z"))
		var old kvpb.ReplicaDescriptor
		fresh, others := kvpb.NodeID(4), []kvpb.NodeID{4}
		for _, rep := range r.Desc().Replicas {
			if rep.Replica != r.ReplicaID() {
				old = rep
			}
		}
		for _, rep := range r.Desc().Replicas {
			if rep != old {
				others = append(others, rep.Node)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), changeTimeout)
		defer cancel()
		change := func(cs ...replica.Change) {
			if err := again(ctx, func() error { return r.ChangeReplicas(ctx, cs) }); err != nil {
				t.Errorf("%v: %v", cs, err)
			}
		}
		change(replica.Change{Kind: replica.AddLearner, Node: fresh, Store: kvpb.StoreID(fresh)})
		heal := c.net.Partition([]kvpb.NodeID{old.Node}, others)
		change(replica.Change{Kind: replica.Promote, Node: fresh, Store: kvpb.StoreID(fresh)},
			replica.Change{Kind: replica.Remove, Node: old.Node, Store: old.Store})
		<-time.After(5 * time.Second)
		heal()
		<-time.After(10 * time.Second)
		if _, ok := c.node(old.Node).current().store.Replica(r.RangeID()); !ok {
			t.Error("the replica is gone at once, so nothing is proved")
		}
		if _, err := c.settled(); err != nil {
			t.Error(err)
		}
		c.close()
	})
}

// TestReportOfUnservedRange: a run that fails because nobody leads a range says what its replicas lack.
func TestReportOfUnservedRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 3)
		c.found("\x10m")
		<-time.After(10 * time.Second)
		c.stop(2)
		c.stop(3)
		<-time.After(10 * time.Second)
		_, err := c.cover()
		for _, want := range []string{
			"no range that is led", "machine 1, node 1: replica 1 of", "StateFollower", "term:", "vote:", "commit:", "leader 0",
			"configuration voters=(1 2 3)", "led term 0, serves false", "store 2: supports false",
			"node 2, replica 2 of range", "node 3, replica 3 of range", "the node does not run",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it does not say %q: %v", want, err)
			}
		}
		c.close()
	})
}
