package store_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// TestManyLeadersDie: a node that leads many ranges dies. One that a request waits for has a leader
// soon, and all have one in the end. lease.Campaigns asserts that no more campaign at a time than may.
func TestManyLeadersDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranges = 150
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		for i := 1; i < ranges; i++ {
			left := kvpb.RangeID(i)
			c.Do(left, func(r *replica.Replica) error {
				return r.Split(context.Background(), fmt.Appendf(nil, "\x10%03d", i), left+1)
			})
			c.Put(left+1, fmt.Sprintf("\x10%03d", i), "old")
		}
		time.Sleep(15 * time.Second)
		var dead *clustertest.Node
		lead := c.Leader(ranges)
		for _, nd := range c.Nodes {
			if r, _ := nd.Store.Replica(ranges); r == lead {
				dead = nd
			}
		}
		c.Close(dead)
		if took := c.Put(ranges, fmt.Sprintf("\x10%03d", ranges-1), "new"); took > 3*time.Second {
			t.Errorf("the range that is asked for took %v", took)
		}
		began, led := time.Now(), 0
		for led < ranges && time.Since(began) < 10*time.Second {
			time.Sleep(10 * time.Millisecond)
			led = 0
			for id := range kvpb.RangeID(ranges) {
				if c.Leader(id+1) != nil {
					led++
				}
			}
		}
		if led < ranges {
			t.Errorf("%d of %d ranges have a leader", led, ranges)
		}
		time.Sleep(5 * time.Second)
		for _, nd := range c.Nodes {
			if nd == dead {
				continue
			}
			if queued, campaigning := nd.Store.Elections(); queued+campaigning > 0 || nd.Store.Unquiesced() > 0 {
				t.Errorf("node %d: %d in the queue, %d campaign, %d awake", nd.ID, queued, campaigning, nd.Store.Unquiesced())
			}
		}
	})
}
