package store

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// TestManyLeadersDie: a node that leads many ranges dies. Those that are asked for have a
// leader soon, all have one in the end, and no more campaign at a time than may.
func TestManyLeadersDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranges = 150
		c := newTestCluster(t, 3)
		defer c.closeAll()
		c.replicate(1)
		for i := 1; i < ranges; i++ {
			left := kvpb.RangeID(i)
			c.do(left, func(r *replica.Replica) error {
				return r.Split(context.Background(), fmt.Appendf(nil, "\x10%03d", i), left+1)
			})
			c.put(left+1, fmt.Sprintf("\x10%03d", i), "old")
		}
		time.Sleep(15 * time.Second)
		var dead *testNode
		lead := c.leader(ranges)
		for _, nd := range c.nodes {
			if r, _ := nd.s.Replica(ranges); r == lead {
				dead = nd
			}
		}
		c.close(dead)
		if took := c.put(ranges, fmt.Sprintf("\x10%03d", ranges-1), "new"); took > 3*time.Second {
			t.Errorf("the range that is asked for took %v", took)
		}
		began, led := time.Now(), 0
		for led < ranges && time.Since(began) < 10*time.Second {
			time.Sleep(10 * time.Millisecond)
			for _, nd := range c.nodes {
				if nd == dead {
					continue
				}
				e := nd.s.elections
				e.mu.Lock()
				if len(e.campaigning) > maxCampaigns || e.idleNow > maxIdleCampaigns {
					t.Errorf("%d campaign, %d of them asked for by nobody", len(e.campaigning), e.idleNow)
				}
				e.mu.Unlock()
			}
			led = 0
			for id := range kvpb.RangeID(ranges) {
				if c.leader(id+1) != nil {
					led++
				}
			}
		}
		if led < ranges {
			t.Errorf("%d of %d ranges have a leader", led, ranges)
		}
		time.Sleep(5 * time.Second)
		for _, nd := range c.nodes {
			if nd == dead {
				continue
			}
			if inLine, campaigning := nd.s.elections.counts(); inLine+campaigning > 0 || nd.s.Unquiesced() > 0 {
				t.Errorf("node %d: %d in the queue, %d campaign, %d awake", nd.id, inLine, campaigning, nd.s.Unquiesced())
			}
		}
	})
}
