package server

import (
	"fmt"
	"testing"
)

// TestRelationSizes asks for the sizes of tables whose rows are in memory yet, of each
// node of a cluster, one of which has no replica of them.
func TestRelationSizes(t *testing.T) { withNodes(t, testRelationSizes) }

func testRelationSizes(t *testing.T, c *testNodes) {
	first, second, third := c.three()
	c.awaitVoters(first, second, third)
	fourth := c.add()
	c.start(fourth)
	conn := c.connect(first)
	c.exec(conn, "CREATE TABLE t (k INT PRIMARY KEY, v TEXT, w INT); CREATE INDEX i ON t (w); CREATE TABLE empty (k INT PRIMARY KEY)")
	c.exec(conn, "INSERT INTO t SELECT g, repeat('x', 1000), g FROM generate_series(1, 1000) g")
	size := func(n *Node, what string, lo, hi int) {
		t.Helper()
		conn, got := c.connect(n), 0
		c.until(what, func() (bool, string) { // a follower may not have it yet
			got = c.query(conn, "SELECT "+what)
			return got >= lo && got <= hi, fmt.Sprint(n.NodeID(), ": ", got)
		})
	}
	for _, split := range []string{"SELECT 1", "ALTER TABLE t SPLIT AT VALUES (300)"} {
		c.exec(conn, split)
		for _, n := range []*Node{first, second, third, fourth} {
			size(n, "pg_relation_size('t')", 1_000_000, 1_100_000)
			size(n, "pg_relation_size('i')", 10_000, 40_000)
			size(n, "pg_relation_size('empty')", 0, 0)
			size(n, "pg_total_relation_size('t') - pg_table_size('t') - pg_indexes_size('t')", 0, 0)
			size(n, "pg_database_size('defaultdb') - pg_total_relation_size('t')", 0, 0)
		}
	}
}
