package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestStatisticsReceived: what one node finds out about a table, others know a minute later.
func TestStatisticsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !statisticsReceived(newTestNodes(t)) {
			t.Error("they do not")
		}
	})
}

func statisticsReceived(c *testNodes) bool {
	first, second, _ := c.three()
	one, two := c.connect(first), c.connect(second)
	c.exec(one, "CREATE TABLE t (a INT PRIMARY KEY)")
	c.query(one, "SELECT count(*) FROM t")
	time.Sleep(time.Minute)
	c.exec(two, "INSERT INTO t SELECT generate_series(1, 100)")
	c.exec(two, "ANALYZE t")
	time.Sleep(time.Minute)
	return c.query(one, "SELECT reltuples::INT FROM pg_class WHERE relname = 't'") == 100
}

// TestStatisticsOfAllNodes: what one node finds out about a table, asked or by itself, the
// others plan by.
func TestStatisticsOfAllNodes(t *testing.T) { withNodes(t, testStatisticsOfAllNodes) }

func testStatisticsOfAllNodes(t *testing.T, c *testNodes) {
	first, second, third := c.three()
	one, two, three := c.connect(first), c.connect(second), c.connect(third)
	tuples := func(want int) {
		t.Helper()
		c.until(fmt.Sprintf("reltuples of %d", want), func() (bool, string) {
			for i, conn := range []*pgx.Conn{one, two, three} {
				if got := c.query(conn, "SELECT reltuples::INT FROM pg_class WHERE relname = 't'"); got != want {
					return false, fmt.Sprintf("node %d: %d", i+1, got)
				}
			}
			return true, ""
		})
	}
	c.exec(one, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	tuples(-1)
	c.exec(two, "ANALYZE t")
	tuples(0)
	c.exec(one, "INSERT INTO t SELECT i, i FROM generate_series(1, 3000) i")
	tuples(3000) // collected without being asked
	c.exec(three, "DELETE FROM t WHERE a > 100")
	c.exec(three, "ANALYZE t")
	tuples(100)

	// Two nodes that find as much at the same time do not go on about it.
	time.Sleep(2 * time.Minute)
	c.exec(one, "INSERT INTO t SELECT i, i FROM generate_series(101, 1000) i")
	c.exec(two, "INSERT INTO t SELECT i, i FROM generate_series(1001, 2000) i")
	tuples(2000)
	count := func() int {
		return c.query(one, "SELECT autoanalyze_count::INT FROM pg_stat_user_tables WHERE relname = 't'")
	}
	before := count()
	time.Sleep(10 * time.Minute)
	if after := count(); after != before {
		t.Errorf("the table was analysed %d more times though nothing changed", after-before)
	}
}
