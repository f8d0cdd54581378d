package server

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/replica"
)

func TestChangesTakeTurns(t *testing.T) { withNodes(t, testChangesTakeTurns) }

// testChangesTakeTurns asks for a change of a range's replicas while another one is under
// way, as SCATTER and placement do: it must wait, since it would take the first one's learner
// for a leftover. And who waits for a new replica must hear that it was removed.
func testChangesTakeTurns(t *testing.T, c *testNodes) {
	first, second, third := c.three()
	c.awaitVoters(first, second, third)
	n, r := first, (*replica.Replica)(nil)
	var out []placement.Change
	c.until("a range led", func() (bool, string) {
		for _, at := range c.nodes {
			for _, led := range at.store.Replicas() {
				if !led.Leads() {
					continue
				}
				n, r = at, led
				for _, d := range r.Desc().Replicas {
					if d.Node != n.NodeID() {
						out = []placement.Change{{Kind: placement.RemoveVoter, Target: placement.Target{Node: d.Node, Store: d.Store}}}
						return true, ""
					}
				}
			}
		}
		return false, "none"
	})
	m := n.measured.of(r)
	if err := m.takeTurn(c.ctx); err != nil {
		t.Fatal(err)
	}
	before := r.Desc()
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	if err := n.changeReplicas(ctx, r, out); err == nil || r.Desc().Generation != before.Generation {
		t.Fatalf("a change beside another one: %v, %+v after %+v", err, r.Desc(), before)
	}
	began := time.Now()
	if err := n.awaitCaughtUp(c.ctx, r, placement.Target{Node: 9, Store: 9}); err == nil || time.Since(began) > time.Second {
		t.Fatalf("waiting for a replica that was removed: %v after %v", err, time.Since(began))
	}
	m.changing.Store(false)
	if err := n.changeReplicas(c.ctx, r, out); err != nil && r.Leads() {
		t.Fatalf("a change by itself: %v", err)
	}
}
