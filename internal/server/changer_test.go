package server

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

func TestChangesTakeTurns(t *testing.T) { withNodes(t, testChangesTakeTurns) }

// testChangesTakeTurns asks for a change of a range's replicas while another one waits for a
// replica on a node that has just ended, as SCATTER and placement do: it must wait, since it
// would take the first one's learner for a leftover.
func testChangesTakeTurns(t *testing.T, c *testNodes) {
	first, second, third := c.three()
	c.awaitVoters(first, second, third)
	fourth := c.add()
	c.start(fourth)
	to := placement.Target{Node: fourth.NodeID(), Store: fourth.KV.Store.Identity().Store}
	c.stop(fourth)
	var n *Node
	var r *replica.Replica
	c.until("the first range led", func() (ok bool, _ string) {
		n, r = c.leader(1)
		return r != nil, "none"
	})
	began := make(chan error, 1)
	go func() {
		began <- n.KV.Admin.ChangeReplicas(c.ctx, 1, []placement.Change{{Kind: placement.AddLearner, Target: to}})
	}()
	c.until("a learner", func() (bool, string) {
		_, there := r.Desc().Replica(to.Store)
		return there, "none"
	})
	before := r.Desc()
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	out := []placement.Change{{Kind: placement.RemoveLearner, Target: to}}
	if err := n.KV.Admin.ChangeReplicas(ctx, 1, out); err == nil || r.Desc().Generation != before.Generation {
		t.Fatalf("a change beside another one: %v, %+v after %+v", err, r.Desc(), before)
	}
	if err := <-began; err == nil {
		t.Fatal("a replica on a node that has ended caught up")
	}
	c.until("no learner", func() (bool, string) {
		err := n.KV.Admin.ChangeReplicas(c.ctx, 1, out)
		_, there := r.Desc().Replica(to.Store)
		return !there, "" + errText(err)
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// leader returns the node that leads a range, and its replica.
func (c *testNodes) leader(id kvpb.RangeID) (*Node, *replica.Replica) {
	for _, n := range c.nodes {
		if r, ok := n.KV.Store.Replica(id); ok && r.Leads() {
			return n, r
		}
	}
	return nil, nil
}
