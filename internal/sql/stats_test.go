package sql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/fs"
)

// estimate returns the first line of the plan of a query.
func estimate(t *testing.T, n *node, query string) string {
	t.Helper()
	s := n.session(t)
	defer s.Close()
	line, _, _ := strings.Cut(answer(t, s, "EXPLAIN "+query), "\n")
	return line
}

// TestStatisticsSurviveRestart: what ANALYZE has found is there when a node starts.
func TestStatisticsSurviveRestart(t *testing.T) {
	disk := fs.NewMem()
	n := openNode(t, disk, nodeOptions{})
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT, c NUMERIC, d FLOAT, e TIMESTAMPTZ, f BOOL, g INT[])")
	mustExec(t, s, `INSERT INTO t SELECT i, CASE WHEN i % 4 > 0 THEN 'often' ELSE 'x' || i END, i / 8.0, i / 4.0,
		'2020-01-01'::timestamptz + i * interval '1 day', i % 2 = 0, ARRAY[i] FROM generate_series(1, 2000) i`)
	mustExec(t, s, "ANALYZE t")
	columns := "SELECT * FROM pg_stats WHERE tablename = 't' ORDER BY attname"
	before := answer(t, s, columns)
	if lines := strings.Split(before, "\n"); len(lines) != 7 || !strings.Contains(lines[1], "{often}") || !strings.Contains(lines[1], "{0.75}") {
		t.Errorf("pg_stats:\n%s", before)
	}
	s.Close()
	closeNode(t, n)
	n = openNode(t, disk, nodeOptions{})
	defer closeNode(t, n)
	if got := estimate(t, n, "SELECT * FROM t WHERE b = 'often'"); !strings.Contains(got, "rows=1500 ") {
		t.Errorf("after a restart: %s", got)
	}
	s = n.session(t)
	defer s.Close()
	if after := answer(t, s, columns); after != before {
		t.Errorf("pg_stats was\n%s\nis\n%s", before, after)
	}
	mustExec(t, s, "DROP TABLE t")
	if got := answer(t, s, columns); got != "" {
		t.Errorf("statistics of a dropped table: %s", got)
	}
}

// TestStatisticsOfBulkLoads: after whatever fills a table plans are made by its size at
// once, and by what it holds as soon as that was collected, which nobody asks for.
func TestStatisticsOfBulkLoads(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{autoStats: true})
	defer closeNode(t, n)
	n.sql.CollectAtOnce()
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE src (a INT, b INT)")
	for _, c := range []struct{ table, load string }{
		{"src", "INSERT INTO src SELECT i, i % 4 FROM generate_series(1, 8000) i"},
		{"ctas", "CREATE TABLE ctas AS SELECT * FROM src"},
		{"into_", "SELECT * INTO into_ FROM src"},
		{"src", "ALTER TABLE src ALTER a TYPE BIGINT USING a + 1"},
		{"mat", "CREATE MATERIALIZED VIEW mat AS SELECT * FROM src"},
		{"blk", "BEGIN; CREATE TABLE blk (a INT, b INT); INSERT INTO blk SELECT * FROM src; COMMIT"},
		{"mat", "REFRESH MATERIALIZED VIEW mat"},
		{"upd", "CREATE TABLE upd AS SELECT a, 3 * (a % 4 / 3) AS b FROM src"},
		{"upd", "UPDATE upd SET b = a % 4"},
	} {
		mustExec(t, s, c.load)
		if got := estimate(t, n, "SELECT * FROM "+c.table); !strings.Contains(got, "rows=8000 ") {
			t.Errorf("%s: at once %s", c.load, got)
		}
		n.sql.CollectDue(t)
		if got := estimate(t, n, "SELECT * FROM "+c.table+" WHERE b = 3"); !strings.Contains(got, "rows=2000 ") {
			t.Errorf("%s: %s", c.load, got)
		}
	}
	if got := n.sql.CollectDue(t); got != 0 {
		t.Errorf("%d tables are analysed though nothing has changed", got)
	}
}

// heldSettings are cluster settings that nobody stores.
type heldSettings struct{ live *setting.Live }

func (h heldSettings) Live() *setting.Live   { return h.live }
func (heldSettings) Changed(context.Context) {}

// TestStatisticsSwitchedOff: a cluster setting keeps tables from being analysed by themselves,
// those that wait for it included; ANALYZE works.
func TestStatisticsSwitchedOff(t *testing.T) {
	const name = "sql.stats.automatic_collection.enabled"
	live := setting.NewLive(setting.Default())
	n := openNode(t, fs.NewMem(), nodeOptions{autoStats: true, settings: heldSettings{live}})
	defer closeNode(t, n)
	n.sql.CollectAtOnce()
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE a AS SELECT i FROM generate_series(1, 8000) i")
	live.Update(map[string]string{name: "false"})
	mustExec(t, s, "CREATE TABLE b AS SELECT i FROM generate_series(1, 8000) i")
	if got := n.sql.CollectDue(t); got != 0 {
		t.Errorf("%d tables are analysed", got)
	}
	mustExec(t, s, "ANALYZE b")
	if got := estimate(t, n, "SELECT * FROM b WHERE i < 0"); !strings.Contains(got, "rows=1 ") {
		t.Errorf("after ANALYZE: %s", got)
	}
	live.Update(nil)
	mustExec(t, s, "INSERT INTO a SELECT i FROM generate_series(1, 8000) i")
	if got := n.sql.CollectDue(t); got != 1 {
		t.Errorf("switched on again, %d tables are analysed, want 1", got)
	}
}

// TestStatisticsInTransactions: a transaction plans by what it has analysed, and others do
// once it is committed.
func TestStatisticsInTransactions(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY); ANALYZE t")
	expect := func(when, query, rows string) {
		t.Helper()
		if got := answer(t, s, "EXPLAIN "+query); !strings.Contains(got, "rows="+rows+" ") {
			t.Errorf("%s: %s; want %s rows", when, got, rows)
		}
	}
	load := "INSERT INTO t SELECT generate_series(1, 5000)"
	mustExec(t, s, "BEGIN ISOLATION LEVEL SERIALIZABLE; "+load+"; SAVEPOINT a; ANALYZE t")
	expect("in the block", "SELECT * FROM t", "5000")
	if got := estimate(t, n, "SELECT * FROM t"); !strings.Contains(got, "rows=1 ") {
		t.Errorf("others: %s", got)
	}
	mustExec(t, s, "ROLLBACK")
	expect("rolled back", "SELECT * FROM t", "1")
	mustExec(t, s, "BEGIN; "+load+"; ANALYZE t; COMMIT")
	expect("committed", "SELECT * FROM t", "5000")
	if got := estimate(t, n, "SELECT * FROM t"); !strings.Contains(got, "rows=5000 ") {
		t.Errorf("others, committed: %s", got)
	}
	mustExec(t, s, "TRUNCATE t")
	mustExec(t, s, "BEGIN; CREATE TABLE u (a INT); ANALYZE u; ROLLBACK")
	if got := answer(t, s, "SELECT relname, reltuples FROM pg_class WHERE relname IN ('t', 'u')"); got != "t  -1" {
		t.Errorf("after TRUNCATE and ROLLBACK: %q", got)
	}
}

// TestReplanByStatistics: plans that are kept are made anew by new statistics.
func TestReplanByStatistics(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, INDEX (b)); INSERT INTO t SELECT i, 1, i FROM generate_series(1, 1000) i")
	mustExec(t, s, "PREPARE q AS SELECT * FROM t WHERE b = 1")
	if got := answer(t, s, "EXPLAIN EXECUTE q"); !strings.Contains(got, "Index") {
		t.Fatalf("by what is assumed: %s", got)
	}
	mustExec(t, s, "ANALYZE t")
	if got := answer(t, s, "EXPLAIN EXECUTE q"); !strings.HasPrefix(got, "Seq Scan") {
		t.Errorf("by what is known: %s", got)
	}
}

// TestStatisticsOfRhythms: what a table holds in a rhythm does not fool a sample of its
// rows, and what its key begins with is known by how often it changes.
func TestStatisticsOfRhythms(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE offers (part INT, shop INT, PRIMARY KEY (part, shop))")
	mustExec(t, s, "INSERT INTO offers SELECT i / 4, (i / 4 + i % 4 * 250) % 1000 FROM generate_series(0, 63999) i; ANALYZE offers")
	const columns = "SELECT n_distinct, most_common_vals FROM pg_stats WHERE tablename = 'offers' ORDER BY attname"
	if got := answer(t, s, columns); got != "-0.25  NULL\n1000  NULL" {
		t.Errorf("part and shop: %s", got)
	}
}

// TestStatisticsOfChangedTables: plans know the size of a table that is emptied, filled
// again or grows from nothing, before anybody has looked at it again and after.
func TestStatisticsOfChangedTables(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{autoStats: true})
	defer closeNode(t, n)
	n.sql.CollectAtOnce()
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (id INT PRIMARY KEY, state INT, at TIMESTAMPTZ, INDEX (state), INDEX (at)); ANALYZE t")
	fill := func(from, to, state string) string {
		return "INSERT INTO t SELECT i, " + state + ", '2024-01-01'::timestamptz + i * interval '1 hour' FROM generate_series(" + from + ", " + to + ") i"
	}
	for _, c := range []struct{ change, query, at, later string }{
		{"SELECT 1", "SELECT * FROM t", "rows=1 ", "rows=1 "},
		{fill("1", "4000", "i % 4"), "SELECT * FROM t", "rows=4000 ", "rows=4000 "},
		{fill("4001", "5000", "9"), "SELECT * FROM t WHERE id > 4000", "rows=1000 ", "rows=1000 "},
		{"SELECT 1", "SELECT * FROM t WHERE state = 9", "rows=1000 ", "rows=1000 "},
		{"UPDATE t SET state = 9", "SELECT * FROM t WHERE state = 9", "rows=1000 ", "rows=5000 "},
		{"DELETE FROM t WHERE id > 500", "SELECT * FROM t", "rows=500 ", "rows=500 "},
		{"DELETE FROM t", "SELECT * FROM t", "rows=1 ", "rows=1 "},
		{fill("1", "3000", "1"), "SELECT * FROM t", "rows=3000 ", "rows=3000 "},
		{"TRUNCATE t; " + fill("1", "2000", "2"), "SELECT * FROM t", "rows=2000 ", "rows=2000 "},
		{fill("2001", "2300", "2"), "SELECT * FROM t WHERE at > '2024-03-24 08:00:00+00'", "rows=300 ", "rows=300 "},
	} {
		mustExec(t, s, c.change)
		if got := estimate(t, n, c.query); !strings.Contains(got, c.at) {
			t.Errorf("%s: at once %s; want %s", c.change, got, c.at)
		}
		n.sql.CollectDue(t)
		if got := estimate(t, n, c.query); !strings.Contains(got, c.later) {
			t.Errorf("%s: %s; want %s", c.change, got, c.later)
		}
	}
}
