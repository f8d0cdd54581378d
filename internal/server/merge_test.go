package server

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangeops"
)

// shortMergeAfter is how long ranges are left as they are in tests.
const shortMergeAfter = 250 * time.Millisecond

// giveUpAfter is how long the leader of a range is looked for.
const giveUpAfter = 10 * time.Second

// merging is add of a node that merges soon.
func (c *testNodes) merging() *Node {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.RangePace, cfg.MergeAfter = config.Dirs("n"), 100*time.Millisecond, shortMergeAfter
	return c.listening(cfg, fs.NewMem())
}

// TestUnsplit splits and scatters a table, lets its ranges merge while it is read and
// written through all nodes, and drops it.
func TestUnsplit(t *testing.T) { withNodes(t, testUnsplit) }

func testUnsplit(t *testing.T, c *testNodes) {
	first := c.merging()
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	second, third := c.merging(), c.merging()
	c.start(second, third)
	c.awaitVoters(first, second, third)
	one := c.connect(first)
	c.exec(one, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(one, "INSERT INTO t SELECT g, 0 FROM generate_series(1, 600) g")
	c.exec(one, "ALTER TABLE t SPLIT AT VALUES (100), (200), (300), (400), (500)")
	if got := c.ranges(first); got != 7 {
		t.Fatalf("%d ranges after five splits", got)
	}
	c.exec(one, "ALTER TABLE t SCATTER")

	stop := make(chan struct{})
	var wg sync.WaitGroup
	done := make([]int, 3)
	for i, n := range c.nodes {
		conn := c.connect(n)
		wg.Go(func() {
			idle := time.NewTicker(25 * time.Millisecond) // busy ranges are not merged
			defer idle.Stop()
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				case <-idle.C:
				}
				row := 1 + (k*37+i*200)%600
				tag, err := conn.Exec(c.ctx, fmt.Sprintf("UPDATE t SET v = v + 1 WHERE k = %d", row))
				if err != nil || tag.RowsAffected() != 1 {
					t.Errorf("update of %d: %v, %v", row, tag, err)
					return
				}
				done[i]++
				var count int
				if err := conn.QueryRow(c.ctx, "SELECT count(*) FROM t").Scan(&count); err != nil || count != 600 {
					t.Errorf("%d rows, %v", count, err)
					return
				}
			}
		})
	}
	// A boundary that was made by hand stays.
	<-time.After(3 * shortMergeAfter)
	if got := c.ranges(first); got != 7 {
		t.Errorf("%d ranges before UNSPLIT", got)
	}
	c.exec(one, "ALTER TABLE t UNSPLIT ALL")
	c.until("all ranges merged", func() (bool, string) {
		got := c.ranges(second)
		return got == 2, fmt.Sprint(got, " ranges")
	})
	close(stop)
	wg.Wait()
	if got, want := c.query(one, "SELECT sum(v) FROM t"), done[0]+done[1]+done[2]; got != want {
		t.Errorf("the sum is %d after %d updates", got, want)
	}

	// The ranges of dropped data go as well.
	c.exec(one, "ALTER TABLE t SPLIT AT VALUES (100), (200), (300)")
	data := keys.TableDataSpan()
	if err := second.SQL.ClearSpan(c.ctx, data.Start, data.End); err != nil {
		t.Fatal(err)
	}
	c.until("the ranges of dropped data merged", func() (bool, string) {
		got := c.ranges(third)
		return got == 2, fmt.Sprint(got, " ranges")
	})
}

// TestRangeMergedAway: who asks for a range that is not there any more is sent to the one
// that holds its keys now, long before a leader has been looked for in vain.
func TestRangeMergedAway(t *testing.T) { withNodes(t, testRangeMergedAway) }

func testRangeMergedAway(t *testing.T, c *testNodes) {
	n := c.add()
	if err := n.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(n)
	begun, asked := time.Now(), 0
	err := n.KV.Admin.EachRange(c.ctx, keys.TableDataSpan().Start, func(d *kvpb.RangeDescriptor) (*rangeops.Op, bool) {
		op := rangeops.Op{Kind: rangeops.Clear, Range: d.RangeID, Key: keys.TableDataSpan().Start, End: keys.TableDataSpan().End}
		if asked++; asked == 1 {
			op.Range = 1000 // as an address that is behind would say
		}
		return &op, true
	})
	if err != nil || asked != 2 || time.Since(begun) >= giveUpAfter/2 {
		t.Errorf("after %d attempts and %v: %v", asked, time.Since(begun), err)
	}

	// A range without a leader is given up in the end.
	begun, asked = time.Now(), 0
	err = n.KV.Admin.EachRange(c.ctx, keys.TableDataSpan().Start, func(d *kvpb.RangeDescriptor) (*rangeops.Op, bool) {
		asked++
		return &rangeops.Op{Kind: rangeops.Clear, Range: 1000}, true
	})
	if !errors.Is(err, rangeops.ErrNoLeader) || asked < 2 || time.Since(begun) > 2*giveUpAfter {
		t.Errorf("after %d attempts and %v: %v", asked, time.Since(begun), err)
	}
}
