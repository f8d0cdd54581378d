package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestTablespaces: tables and indexes go where their tablespaces have them, and follow when
// they are given another; one with something in it can't be dropped.
func TestTablespaces(t *testing.T) { withNodes(t, testTablespaces) }

// in makes a node in a region, that listens.
func (c *testNodes) in(region string) *Node {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.Locality = config.Dirs("n"), "region="+region
	return c.listening(cfg, fs.NewMem())
}

func testTablespaces(t *testing.T, c *testNodes) {
	first := c.in("r1")
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	second, third := c.in("r2"), c.in("r3")
	c.start(second, third)
	one, two := c.connect(first), c.connect(second)
	for _, r := range []string{"r2", "r3"} {
		c.exec(one, "CREATE TABLESPACE in_"+r+` WITH (replica_placement = '{"num_replicas": 1, "placement_blocks": [{"cloud": "*", "region": "`+
			r+`", "zone": "*", "min_num_replicas": 1}]}')`)
	}
	c.exec(two, "CREATE TABLE t (a INT PRIMARY KEY, b INT) TABLESPACE in_r2")
	c.exec(one, "INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
	c.exec(one, "CREATE INDEX t_b ON t (b) TABLESPACE in_r3")
	c.exec(one, "CREATE TABLE everywhere (a INT PRIMARY KEY)")
	c.exec(two, "SET default_tablespace = in_r3")
	c.exec(two, "CREATE TABLE by_default AS SELECT 1 AS a")
	c.awaitReplicas(one, "INDEX t@t_pkey", second)
	c.awaitReplicas(one, "INDEX t@t_b", third)
	c.awaitReplicas(one, "TABLE by_default", third)
	c.awaitReplicas(one, "TABLE everywhere", first, second, third)
	if got := c.query(one, "SELECT count(*) FROM t WHERE b > 50"); got != 50 {
		t.Errorf("%d rows through the index; want 50", got)
	}
	if _, err := one.Exec(c.ctx, "DROP TABLESPACE in_r3"); err == nil {
		t.Error("a tablespace was dropped that is not empty")
	}

	c.exec(one, "ALTER TABLE t SET TABLESPACE in_r3")
	c.awaitReplicas(two, "INDEX t@t_pkey", third)
	c.exec(two, "ALTER TABLE t SET TABLESPACE pg_default")
	c.awaitReplicas(one, "INDEX t@t_pkey", first, second, third)
	c.awaitReplicas(one, "INDEX t@t_b", third)
	c.exec(one, "DROP INDEX t_b; DROP TABLE by_default")
	c.exec(two, "DROP TABLESPACE in_r3; DROP TABLESPACE in_r2")
	if got := c.query(two, "SELECT sum(a) FROM t"); got != 5050 {
		t.Errorf("the sum is %d; want 5050", got)
	}
}

// awaitReplicas waits until the ranges of a table or index have replicas on these nodes and
// on no others.
func (c *testNodes) awaitReplicas(conn *pgx.Conn, what string, on ...*Node) {
	c.t.Helper()
	var stores []kvpb.StoreID
	for _, n := range on {
		stores = append(stores, n.KV.Store.Stores()[0].Identity().Store)
	}
	slices.Sort(stores)
	want := strings.ReplaceAll(strings.Trim(fmt.Sprint(stores), "[]"), " ", ",")
	c.until(fmt.Sprintf("%s on stores %s", what, want), func() (bool, string) {
		rows, err := conn.Query(c.ctx, "SELECT DISTINCT (SELECT string_agg(r::text, ',' ORDER BY r) FROM unnest(replicas) r) FROM [SHOW RANGES FROM "+what+"]")
		if err != nil {
			return false, err.Error()
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return false, err.Error()
		}
		return slices.Equal(got, []string{want}), fmt.Sprint(got)
	})
}
