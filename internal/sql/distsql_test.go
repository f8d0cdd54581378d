package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// distributedQueries are queries whose parts run where the rows are, by what the plan shows of them.
var distributedQueries = []struct{ query, plan string }{
	{"SELECT count(*) FROM t", "Partial Aggregate"},
	{"SELECT count(*), count(v), sum(v), avg(v), min(v), max(v) FROM t WHERE k % 3 = 0", "Partial Aggregate"},
	{"SELECT count(*), sum(v), min(s) FROM t WHERE k < 0", "Partial Aggregate"},
	{"SELECT g, count(*), sum(k), avg(n), sum(n), max(s), bool_or(k > 50), bit_and(k), count(v) FILTER (WHERE k > 20) FROM t GROUP BY g ORDER BY g", "Partial HashAggregate"},
	{"SELECT g + 1, avg(k::bigint * 90000000000000000) FROM t GROUP BY 1 ORDER BY 1", "Partial HashAggregate"},
	{"SELECT sum(9223372036854775807 - k) FROM t WHERE k > 0", "Partial Aggregate"},
	{"SELECT g FROM t GROUP BY g HAVING count(*) > 5 ORDER BY g", "Partial HashAggregate"},
	{"SELECT k, s FROM t ORDER BY n DESC, k LIMIT 7 OFFSET 2", "Gather from Nodes"},
	{"SELECT k FROM t WHERE s LIKE 'x%' AND g IN (1, 2) ORDER BY n", "Gather from Nodes"},
	{"SELECT a.k FROM t a JOIN t b ON a.k = b.v WHERE a.g = 1 AND b.g = 2 ORDER BY 1", "Gather from Nodes"},
	{"SELECT k, now() - d > interval '1 day' FROM t WHERE d < now() ORDER BY n", "Gather from Nodes"},
	{"SELECT count(*) FROM t WHERE k BETWEEN 10 AND 20 OR k IN (50, 70, 999)", "Partial Aggregate"},
	{"SELECT (SELECT sum(k) FROM t), g FROM t WHERE k = (SELECT min(v) FROM t WHERE g = 3)", "Partial Aggregate"},
}

// undistributedQueries are those that stay at the gateway.
var undistributedQueries = []string{
	"SELECT k FROM t WHERE k = 5",
	"SELECT count(*) FROM t WHERE d::text LIKE '2020%'",
	"SELECT count(*) FROM t WHERE random() < 2",
	"SELECT sum(f) FROM t WHERE d::date = '2020-01-01'",
	"SELECT k FROM t WHERE k = 5 FOR UPDATE",
	"SELECT k FROM t ORDER BY k LIMIT 3",
	"SELECT k FROM t WHERE g = 1 ORDER BY k",
}

func distributedTable(t *testing.T, o nodeOptions) (*node, func(string) string) {
	t.Helper()
	o.distributed = true
	n := openNode(t, fs.NewMem(), o)
	t.Cleanup(func() { _ = n.close() })
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (k INT PRIMARY KEY, v INT, g INT, n NUMERIC, s TEXT, d TIMESTAMPTZ, f FLOAT)")
	mustExec(t, s, "INSERT INTO t SELECT i, nullif(i % 7, 3), i % 5, i / 7.0, 'x' || i, '2020-01-01'::timestamptz + i * interval '1 hour', i / 3.0 FROM generate_series(-20, 100) i")
	return n, func(q string) string {
		t.Helper()
		return strings.TrimSpace(fmt.Sprint(answer(t, s, q)))
	}
}

// TestDistributedQueries runs queries with and without distribution, whose answers must be the same.
func TestDistributedQueries(t *testing.T) {
	for _, o := range []nodeOptions{{}, {batchRows: 3}, {batchRows: 3, mute: true}, {vectorize: "on"}, {workMem: 1}} {
		_, ask := distributedTable(t, o)
		ask("ANALYZE t")
		if o.vectorize != "" {
			ask("SET vectorize = on")
		}
		for _, q := range distributedQueries {
			ask("SET distsql = off")
			want := ask(q.query)
			ask("SET distsql = always")
			if got := ask(q.query); got != want {
				t.Errorf("%+v: %s:\n%s\nwithout distribution\n%s", o, q.query, got, want)
			}
			if plan := ask("EXPLAIN " + q.query); !strings.Contains(plan, q.plan) {
				t.Errorf("%s: there is no %s in\n%s", q.query, q.plan, plan)
			}
		}
		for _, q := range undistributedQueries {
			ask(q)
			if plan := ask("EXPLAIN " + q); strings.Contains(plan, "Gather from Nodes") {
				t.Errorf("%s is distributed:\n%s", q, plan)
			}
		}
	}
}

// TestOwnWritesStayHere: a transaction sees what it has written, with whatever plan.
func TestOwnWritesStayHere(t *testing.T) {
	_, ask := distributedTable(t, nodeOptions{batchRows: 3})
	ask("SET distsql = always")
	for _, q := range []string{
		"BEGIN", "SELECT count(*) FROM t", "INSERT INTO t SELECT i, i FROM generate_series(1000, 1009) i", "DELETE FROM t WHERE k < 0",
	} {
		ask(q)
	}
	if got := ask("SELECT count(*), sum(k) FROM t"); !strings.Contains(got, "111") || !strings.Contains(got, "15095") {
		t.Error(got)
	}
	ask("ROLLBACK")
	if got := ask("SELECT count(*) FROM t"); !strings.Contains(got, "121") {
		t.Error(got)
	}
}

// TestParametersTravel: parameters, and what depends on the session, have the values that they have at the gateway.
func TestParametersTravel(t *testing.T) {
	_, ask := distributedTable(t, nodeOptions{})
	ask("SET distsql = always")
	ask("PREPARE p (int, text) AS SELECT count(*), $2 FROM t WHERE k > $1 AND s <> $2")
	for _, c := range []struct{ args, want string }{{"90, 'x95'", "9"}, {"95, 'none'", "5"}, {"NULL, 'x'", "0"}} {
		if got := ask("EXECUTE p(" + c.args + ")"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.args, got)
		}
	}
	if plan := ask("EXPLAIN EXECUTE p(1, 'x')"); !strings.Contains(plan, "Partial Aggregate") {
		t.Error(plan)
	}
	ask("SET TimeZone = 'Asia/Tokyo'")
	if got := ask("SELECT count(*) FROM t WHERE d < '2020-01-02 00:00'"); !strings.Contains(got, "35") {
		t.Errorf("midnight in Tokyo: %s", got)
	}
	if got := ask("SELECT count(*) FROM t WHERE d < current_date"); !strings.Contains(got, "121") {
		t.Error(got)
	}
}

// TestErrorsTravel: an error of a row elsewhere is that of the statement.
func TestErrorsTravel(t *testing.T) {
	n, ask := distributedTable(t, nodeOptions{})
	s := n.session(t)
	mustExec(t, s, "SET distsql = always")
	err := s.Query(context.Background(), "SELECT sum(10 / k) FROM t", &discard{})
	if err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Error(err)
	}
	if got := ask("SELECT sum(10 / k) FROM t WHERE k > 0"); got == "" {
		t.Error("no answer")
	}
}

// TestDistributedMemory: what a Gather holds counts, and is given back. Without memory for the answers of nodes the rows are read here.
func TestDistributedMemory(t *testing.T) {
	n, ask := distributedTable(t, nodeOptions{mem: 4 << 20})
	ask("SET distsql = always")
	before := n.mem.Used()
	const query = "SELECT count(*), sum(k) FROM t"
	want := ask(query)
	if used := n.mem.Used(); used > before+64<<10 {
		t.Errorf("%d bytes are used, %d before", used, before)
	}
	_, ask = distributedTable(t, nodeOptions{mem: 1 << 20})
	ask("SET distsql = always")
	if got := ask(query); got != want {
		t.Error(got)
	}
	if plan := ask("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) " + query); !strings.Contains(plan, "Read by Gateway: true") {
		t.Error(plan)
	}
}
