package server

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// TestTemporaryTables: sessions of three nodes have temporary tables of the same name, which
// end with their sessions. Those of a node that dies are dropped when it is back in another
// incarnation, or when it stays away.
func TestTemporaryTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { testTemporaryTables(t, newTestNodes(t)) })
}

const tempSchemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'"

func testTemporaryTables(t *testing.T, c *testNodes) {
	disk := fs.NewMem()
	first := c.on(fs.NewMem(), "n")
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	second, third := c.on(fs.NewMem(), "n"), c.on(disk, "n")
	c.start(second, third)
	one, two := c.connect(first), c.connect(second)
	c.exec(one, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1000)")
	c.awaitVoters(first, second, third)

	three, leaving := c.connect(third), c.connect(second)
	c.exec(one, "CREATE TEMP TABLE t (a INT PRIMARY KEY, b SERIAL); INSERT INTO t VALUES (1)")
	c.exec(two, "CREATE TEMP TABLE t (a INT PRIMARY KEY, b SERIAL); CREATE TEMP VIEW v AS SELECT a + 1 AS a FROM t; INSERT INTO t VALUES (2)")
	c.exec(three, "CREATE TEMP TABLE t (a INT UNIQUE) ON COMMIT PRESERVE ROWS; INSERT INTO t VALUES (3)")
	c.exec(leaving, "CREATE TEMP TABLE t AS SELECT 4 AS a")
	if got := c.query(one, tempSchemas); got != 4 {
		t.Errorf("%d temporary schemas of four sessions", got)
	}
	sums := []int{c.query(one, "SELECT sum(a) FROM t"), c.query(two, "SELECT sum(t.a + v.a) FROM t, v"), c.query(three, "SELECT sum(a) FROM t"),
		c.query(leaving, "SELECT sum(a) FROM t"), c.query(c.connect(third), "SELECT sum(a) FROM t"), c.query(two, "SELECT sum(a) FROM public.t")}
	if got := fmt.Sprint(sums); got != "[1 5 3 4 1000 1000]" {
		t.Errorf("sessions find %s in t", got)
	}

	left := func(what string, want int) {
		t.Helper()
		c.until(what, func() (bool, string) {
			got := c.query(one, tempSchemas)
			return got == want, fmt.Sprintf("%d temporary schemas", got)
		})
	}
	if err := leaving.Close(c.ctx); err != nil {
		t.Error(err)
	}
	left("the end of a session", 3)

	// A node that dies can't drop anything, and comes back as another.
	die := func() {
		c.isolate(third)
		ctx, cancel := context.WithTimeout(c.ctx, timeout)
		defer cancel()
		_ = third.Stop(ctx)
	}
	die()
	left("the death of a node", 3)
	third = c.returns(2, disk, third)
	left("the return of the node", 2)

	// One that stays away is waited for.
	c.exec(c.connect(third), "CREATE TEMP TABLE t AS SELECT 5 AS a")
	die()
	left("another death", 3)
	time.Sleep(9 * time.Minute)
	if got := c.query(one, tempSchemas); got != 3 {
		t.Errorf("%d temporary schemas while the node may be back any time; want 3", got)
	}
	time.Sleep(2 * time.Minute)
	left("a long absence", 2)
	sums = []int{c.query(one, "SELECT sum(a) FROM t"), c.query(two, "SELECT sum(t.a + v.a) FROM t, v"), c.query(one, "SELECT sum(a) FROM public.t")}
	if got := fmt.Sprint(sums); got != "[1 5 1000]" {
		t.Errorf("sessions find %s in t", got)
	}
}

// returns starts the node that was at a position again, on its disk.
func (c *testNodes) returns(at int, disk fs.FS, before *Node) *Node {
	c.t.Helper()
	rest := c.nodes
	c.nodes = c.nodes[:at:at]
	n := c.on(disk, "n")
	c.nodes = append(c.nodes, rest[at+1:]...)
	c.start(n)
	if n.NodeID() != before.NodeID() {
		c.t.Fatalf("node %d came back as node %d", before.NodeID(), n.NodeID())
	}
	return n
}
