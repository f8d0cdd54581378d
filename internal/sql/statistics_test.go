package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/fs"
)

// Statements are counted once each, by fingerprint, however they come: alone, several in a text, prepared, in functions.
func TestStatementStatistics(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)")
	for i := range 5 {
		mustExec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, 'x')", 2*i))
		mustExec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, 'secret'); SELECT a FROM t WHERE a >= 0", 2*i+1))
		mustExec(t, s, fmt.Sprintf("SELECT b FROM t WHERE a = %d", i))
	}
	_ = exec1(s, "INSERT INTO t VALUES (1, 'again')")
	p, err := s.Prepare(context.Background(), "p", "UPDATE t SET b = $1 WHERE a < 4", nil, &discard{})
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, s, "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t'")
	mustExec(t, s, "SELECT f()")
	if p.Stats != nil {
		t.Error("a statement that was only prepared is counted")
	}
	for query, want := range map[string]string{
		"INSERT INTO t VALUES (_, ...)": "11 1 10 defaultdb root",
		"SELECT a FROM t WHERE a >= _":  "5 0 30 defaultdb root",
		"SELECT b FROM t WHERE a = _":   "5 0 5 defaultdb root",
		"SELECT f()":                    "1 0 1 defaultdb root",
		"SELECT count(*) FROM t":        "·", // as texts without anything are shown
	} {
		got := value(t, s, `SELECT coalesce(max(concat_ws(' ', calls, errors, rows, database_name, user_name)), '') FROM lichen_internal.node_statement_statistics WHERE query = '`+query+"'")
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	const odd = `SELECT count(*) FROM lichen_internal.cluster_statement_statistics
		WHERE calls < 1 OR p50_time > p99_time OR p99_time > max_time OR mean_time > max_time OR total_time < max_time OR first_call > last_call OR query LIKE '%secret%'`
	if got := value(t, s, odd); got != "0" {
		t.Errorf("%s odd rows", got)
	}
	mustExec(t, s, "CREATE ROLE other LOGIN; SET ROLE other")
	if got := value(t, s, "SELECT count(*) FROM lichen_internal.node_statement_statistics"); got != "0" {
		t.Errorf("another role sees %s fingerprints", got)
	}
}

// The plans of statements are kept by fingerprint, without constants, and what was read and written is counted.
func TestStatementPlans(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c TEXT)")
	mustExec(t, s, "INSERT INTO t SELECT i, i % 10, 'x' FROM generate_series(1, 100) i")
	mustExec(t, s, "SELECT a FROM t WHERE b = 7 AND c IN ('secret', 'x') LIMIT 5")
	mustExec(t, s, "UPDATE t SET c = 'y' WHERE a = 4")
	mustExec(t, s, "SELECT c FROM t WHERE a = 4")
	for query, want := range map[string]string{
		"INSERT INTO t SELECT i, i %%": "0 100",
		"SELECT a FROM t WHERE b":      "100 0",
		"UPDATE t SET":                 "1 1",
		"SELECT c FROM t":              "1 0",
	} {
		if got := value(t, s, `SELECT concat_ws(' ', rows_read, rows_written) FROM lichen_internal.node_statement_statistics WHERE query LIKE '`+query+"%'"); got != want {
			t.Errorf("%s: read and written %q, want %q", query, got, want)
		}
	}
	const plans = `FROM lichen_internal.cluster_statement_plans p JOIN lichen_internal.cluster_statement_statistics s USING (node_id, fingerprint_id, database_name, user_name)
		WHERE s.query LIKE 'SELECT a FROM t WHERE b%'`
	if got := value(t, s, `SELECT string_agg(p.plan, E'\n\n') `+plans); !strings.Contains(got, "Seq Scan on t") || !strings.Contains(got, "b = _") || strings.Contains(got, "secret") {
		t.Errorf("the plan: %s", got)
	}
	mustExec(t, s, "CREATE INDEX ON t (b)")
	for range 3 { // the first execution may not be looked at: it is not due
		mustExec(t, s, "SELECT pg_sleep(0); SELECT a FROM t WHERE b = 8 AND c IN ('secret', 'x') LIMIT 5")
	}
	if got := value(t, s, `SELECT count(*) `+plans+` AND p.plan_id <> s.plan_id`); got != "0" && got != "1" {
		t.Errorf("%s older plans", got)
	}
}

// Transaction blocks are counted by the fingerprints of their statements, however they end.
func TestTransactionStatistics(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY)")
	for i := range 3 {
		mustExec(t, s, "BEGIN")
		mustExec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		mustExec(t, s, fmt.Sprintf("SELECT a FROM t WHERE a = %d", i))
		mustExec(t, s, []string{"COMMIT", "ROLLBACK", "COMMIT AND CHAIN"}[i])
	}
	mustExec(t, s, "DELETE FROM t WHERE a = 7")
	mustExec(t, s, "COMMIT")
	mustExec(t, s, "BEGIN; COMMIT")
	mustExec(t, s, "BEGIN")
	_ = exec1(s, "SELECT 1/0")
	mustExec(t, s, "COMMIT") // which rolls back
	for first, want := range map[string]string{
		"INSERT INTO t VALUES (_)":  "3 2 1 6 6 2",
		"DELETE FROM t WHERE a = _": "1 1 0 1 0 1",
		"SELECT _/_":                "1 0 1 1 0 1",
	} {
		got := value(t, s, `SELECT max(concat_ws(' ', count, commits, rollbacks, statements, rows, cardinality(queries))) FROM lichen_internal.node_transaction_statistics WHERE queries[1] = '`+first+"'")
		if got != want {
			t.Errorf("%s: %q, want %q", first, got, want)
		}
	}
	if got := value(t, s, "SELECT count(*) FROM lichen_internal.cluster_transaction_statistics WHERE p50_time <= p99_time AND p99_time <= max_time AND first_seen <= last_seen"); got != "3" {
		t.Errorf("%s fingerprints", got)
	}
}

// Slow statements are remembered with their plans, and without passwords; a setting says which are slow.
func TestSlowStatements(t *testing.T) {
	live := setting.NewLive(setting.Default())
	n := openNode(t, fs.NewMem(), nodeOptions{ranges: newFakeRanges(), settings: changedSettings{live}})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	const slow = `SELECT coalesce(string_agg(concat_ws(' ', query, error_code, rows, plan ~ '^Result', duration >= '20 ms'), '; '), '-') FROM lichen_internal.cluster_slow_statements`
	mustExec(t, s, "SELECT pg_sleep(0.02)")
	if got := value(t, s, slow); got != "-" {
		t.Errorf("%s", got)
	}
	live.Update(map[string]string{"sql.stats.slow_statements.threshold": "20ms"})
	mustExec(t, s, "SELECT pg_sleep(0.02) WHERE 'x' <> 'password = ''secret''' ")
	if got := value(t, s, slow); !strings.Contains(got, "pg_sleep(0.02)") || !strings.HasSuffix(got, "1 t t") || strings.Contains(got, "secret") {
		t.Errorf("%s", got)
	}
}

// changedSettings are settings that a test changes.
type changedSettings struct{ live *setting.Live }

func (c changedSettings) Live() *setting.Live     { return c.live }
func (c changedSettings) Changed(context.Context) {}
