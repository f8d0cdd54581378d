package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// slowDown has every operation of a node's disk that changes something take a while; 0: no more.
func slowDown(n *Node, d time.Duration) {
	var hook fs.Hook
	if d > 0 {
		hook = func(op *fs.Op) error {
			if op.Kind.Mutates() {
				<-time.After(d)
			}
			return nil
		}
	}
	n.KV.Store.First().DiskWatch().SetFault(hook)
}

// led counts the ranges that each store leads.
func (c *testNodes) led(n *Node) map[kvpb.StoreID]int {
	c.t.Helper()
	list, err := n.SQL.Ranges().Ranges(c.ctx, keys.ReplicatedSpan())
	if err != nil {
		c.t.Fatal(err)
	}
	count := map[kvpb.StoreID]int{}
	for _, r := range list {
		count[r.Leader]++
	}
	return count
}

// splitTable begins a cluster of three nodes with a table in five ranges, and connects to the second.
func (c *testNodes) splitTable() (first, second, third *Node, one *pgx.Conn) {
	first, second, third = c.three()
	one = c.connect(second)
	c.exec(one, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(one, "INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	c.exec(one, "ALTER TABLE t SPLIT AT VALUES (20), (40), (60), (80)")
	c.awaitVoters(first, second, third)
	return first, second, third, one
}

// TestSlowStore: the disk of one of three stores gets slow in every operation. Others lead what
// it led, its own disk holds nobody up, and it leads again when it is well.
func TestSlowStore(t *testing.T) { withNodes(t, testSlowStore) }

func testSlowStore(t *testing.T, c *testNodes) {
	first, second, _, one := c.splitTable()
	at := first.KV.Store.First().Identity().Store
	c.until("leaders on every store", func() (bool, string) {
		led := c.led(second)
		return led[at] > 0 && len(led) == 3, fmt.Sprint(led)
	})
	slowDown(first, 300*time.Millisecond)
	defer slowDown(first, 0) // or it can not be stopped
	write := func() time.Duration {
		begun := time.Now()
		for k := 10; k < 100; k += 20 {
			c.exec(one, fmt.Sprintf("UPDATE t SET v = v + 1 WHERE k = %d", k))
		}
		return time.Since(begun)
	}
	begun := time.Now()
	for c.led(second)[at] > 0 {
		if took := write(); took > 5*3*time.Second {
			t.Errorf("five writes took %v", took)
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the slow store still leads: %v", c.led(second))
		}
	}
	t.Logf("others lead after %v", time.Since(begun))
	if took := write(); took > 100*time.Millisecond {
		t.Errorf("with a slow follower five writes took %v", took)
	}
	if !first.KV.Store.First().Disk().Slow {
		t.Error("the disk does not count as slow")
	}
	slowDown(first, 0)
	c.until("the store to lead again", func() (bool, string) {
		led := c.led(second)
		return led[at] > 0, fmt.Sprint(led)
	})
}

// TestAllSlow: when all disks are slow, leaderships stay where they are.
func TestAllSlow(t *testing.T) { withNodes(t, testAllSlow) }

func testAllSlow(t *testing.T, c *testNodes) {
	first, second, third, one := c.splitTable()
	c.until("leaders on every store", func() (bool, string) { led := c.led(second); return len(led) == 3, fmt.Sprint(led) })
	<-time.After(5 * time.Second)
	moved := func() (n uint64) {
		for _, nd := range []*Node{first, second, third} {
			n += nd.KV.Balance.Stats().Actions[placement.TransferLeader]
		}
		return n
	}
	write := func(d time.Duration) {
		for begun := time.Now(); time.Since(begun) < d; {
			c.exec(one, "UPDATE t SET v = v + 1")
		}
	}
	for _, n := range []*Node{first, second, third} {
		slowDown(n, 150*time.Millisecond)
	}
	write(20 * time.Second)
	for _, n := range []*Node{first, second, third} {
		if !n.KV.Store.First().Disk().Slow {
			t.Errorf("the disk of node %d does not count as slow", n.NodeID())
		}
	}
	// Until all were noticed the first ones may have given up what they led.
	before := moved()
	write(20 * time.Second)
	if n := moved() - before; n > 0 {
		t.Errorf("%d leaderships moved", n)
	}
	for _, n := range []*Node{first, second, third} {
		slowDown(n, 0)
	}
}
