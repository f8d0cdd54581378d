package server

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/rebalance"
)

// TestSettings changes cluster settings while the node runs, and looks at the sizes of
// ranges, on a cluster of one node.
func TestSettings(t *testing.T) { withNodes(t, testSettings) }

func testSettings(t *testing.T, c *testNodes) {
	n := c.add()
	if err := n.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(n)
	conn := c.connect(n)
	show := func(name string) (v string) {
		t.Helper()
		if err := conn.QueryRow(c.ctx, "SHOW CLUSTER SETTING "+name).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if got := show("server.time_until_store_dead"); got != "2s" { // the test's flag
		t.Error(got)
	}
	c.exec(conn, "SET CLUSTER SETTING server.time_until_store_dead = '1 minute 30 seconds'")
	if p := rebalance.Params(n.Settings.Get()); p.DeadAfter != 90*time.Second || show("server.time_until_store_dead") != "1m30s" {
		t.Error(p.DeadAfter, show("server.time_until_store_dead"))
	}
	c.exec(conn, "RESET CLUSTER SETTING server.time_until_store_dead")
	if p := rebalance.Params(n.Settings.Get()); p.DeadAfter != 2*time.Second {
		t.Error(p.DeadAfter)
	}

	c.exec(conn, "BEGIN")
	c.exec(conn, "SET CLUSTER SETTING kv.range_split.by_load.enabled = off")
	if show("kv.range_split.by_load.enabled") != "false" || !n.Settings.Get().SplitByLoad {
		t.Error("a setting is to be seen in its transaction, and to hold after it")
	}
	c.exec(conn, "ROLLBACK")
	if show("kv.range_split.by_load.enabled") != "true" {
		t.Error("a setting outlives the rollback of its transaction")
	}

	c.exec(conn, "SET CLUSTER SETTING sql.defaults.statement_timeout = '7s'")
	if got := c.query(c.connect(n), "SELECT (current_setting('statement_timeout') = '7s')::int"); got != 1 {
		t.Error(got)
	}
	for statement, code := range map[string]string{
		"SET CLUSTER SETTING server.time_until_store_ded = '5m'": "42704",
		"SHOW CLUSTER SETTING no.such.thing":                     "42704",
		"SET CLUSTER SETTING kv.range_merge.queue.enabled = 7":   "22023",
		"SET CLUSTER SETTING kv.range_merge.queue.enabled = a+b": "42601",
	} {
		var e *pgconn.PgError
		if _, err := conn.Exec(c.ctx, statement); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v, want %s", statement, err, code)
		}
	}

	c.exec(conn, "CREATE TABLE t (k INT PRIMARY KEY, v TEXT)")
	c.exec(conn, "ALTER TABLE t SPLIT AT VALUES (0)")
	c.exec(conn, "INSERT INTO t SELECT g, repeat('x', 2000) FROM generate_series(1, 1000) g")
	c.exec(conn, "UPDATE t SET v = repeat('y', 1000)")
	size := func(want string, lo, hi int) {
		t.Helper()
		c.until(want, func() (bool, string) {
			kb := c.query(conn, "SELECT (range_size_mb * 1000)::int FROM [SHOW RANGES FROM TABLE t] ORDER BY range_id DESC LIMIT 1")
			return kb >= lo && kb <= hi, ""
		})
	}
	size("the rows as they are now", 1000, 1100)
	c.exec(conn, "DELETE FROM t WHERE k > 500")
	size("without those that are gone", 500, 600)
}
