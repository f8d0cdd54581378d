package kvnode_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
)

// TestMoveLeadersAwaitsElection drains a node while its replica of a range that was just split off is
// about to lead. Afterwards the node leads nothing.
func TestMoveLeadersAwaitsElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		nd := c.Leading(1)
		cut := func(cut bool) {
			for _, o := range c.Nodes {
				if o != nd {
					c.Net.Cut(nd.ID, o.ID, cut)
				}
			}
		}
		if err := c.Leader(1).Split(context.Background(), []byte("\x10m"), 2); err != nil {
			t.Fatal(err)
		}
		cut(true) // the votes of the new range are lost
		time.Sleep(20 * time.Millisecond)
		if right, ok := nd.Store.Replica(2); !ok || right.Leads() {
			t.Fatal("the replica of the new range leads already")
		}
		cut(false)
		c.Transfer(1, c.Other(nd))
		nd.KV.MoveLeaders(func(int) {})
		for _, r := range nd.Store.Replicas() {
			if r.ClaimsLeadership() {
				t.Errorf("the node still leads range %d, or is about to", r.RangeID())
			}
		}
	})
}
