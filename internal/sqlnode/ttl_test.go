package sqlnode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/sqlnode"
)

// await asks a query until it answers want.
func await(t *testing.T, n *sqlnode.Node, query, want string) {
	t.Helper()
	var got []string
	for began := time.Now(); time.Since(began) < 5*time.Minute; <-time.After(500 * time.Millisecond) {
		if got = run(t, n, query); slices.Equal(got, []string{want}) {
			return
		}
	}
	t.Fatalf("%s: %v, want %s; the jobs: %v", query, got, want, run(t, n, "SELECT job_type, status, rows_read, error FROM [SHOW JOBS]"))
}

// Rows that have expired are deleted, as DELETE does it, by one job of the cluster, which outlives its node; others stay.
func TestExpiredRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		var nodes []*sqlnode.Node
		for _, nd := range c.Nodes {
			nodes = append(nodes, open(t, nd, false))
		}
		for _, n := range nodes {
			defer closing(t, n)
		}
		one := nodes[0]
		run(t, one, `CREATE TABLE t (a INT, b TEXT, at TIMESTAMPTZ, PRIMARY KEY (b, a))
			WITH (ttl_expiration_expression = 'at + interval ''1 hour''', ttl_job_cron = '@every 30s', ttl_select_batch_size = 70, ttl_delete_batch_size = 20, ttl_delete_rate_limit = 50);
			CREATE TABLE child (a INT, b TEXT, FOREIGN KEY (b, a) REFERENCES t ON DELETE CASCADE);
			CREATE TABLE log (n INT PRIMARY KEY, deleted INT); INSERT INTO log VALUES (1, 0);
			CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE log SET deleted = deleted + 1; RETURN OLD; END';
			CREATE TRIGGER g BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION f();
			INSERT INTO t SELECT i, 'it''s ' || i % 7, now() - interval '1 day' * (i % 3) FROM generate_series(1, 900) i;
			INSERT INTO child SELECT a, b FROM t`)
		await(t, one, "SELECT count(*) > 0 FROM [SHOW JOBS] WHERE job_type = 'ROW LEVEL TTL' AND status = 'running' AND rows_read > 0", "t")
		await(t, one, "SELECT count(*) FROM t", "300")
		await(t, one, "SELECT string_agg(DISTINCT status, ',') FROM [SHOW JOBS] WHERE job_type = 'ROW LEVEL TTL' AND rows_read > 0", "succeeded")
		for query, want := range map[string]string{
			"SELECT count(*) FROM child": "300", "SELECT deleted FROM log": "600", "SELECT bool_and(at > now() - interval '1 hour') FROM t": "t",
			"SELECT recurrence, schedule_status FROM [SHOW SCHEDULES]": "@every 30s  ACTIVE",
		} {
			if got := run(t, one, query); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %v", query, got)
			}
		}
	})
}

// When the node dies that deletes expired rows, another one goes on; a job is paused and cancelled as others are.
func TestExpiredTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		var nodes []*sqlnode.Node
		for _, nd := range c.Nodes {
			nodes = append(nodes, open(t, nd, false))
		}
		run(t, nodes[0], `CREATE TABLE t (a INT PRIMARY KEY) WITH (ttl_expire_after = '0', ttl_job_cron = '@every 20s', ttl_delete_batch_size = 10, ttl_delete_rate_limit = 10);
			INSERT INTO t SELECT generate_series(1, 400)`)
		job, began := "FROM lichen_internal.jobs WHERE job_type = 'ROW LEVEL TTL' AND rows_read > 0", ""
		for until := time.Now().Add(5 * time.Minute); began == "" && time.Now().Before(until); <-time.After(time.Second) {
			if got := run(t, nodes[0], "SELECT node_id "+job); len(got) > 0 {
				began = got[0]
			}
		}
		at := 0
		if _, err := fmt.Sscan(began, &at); err != nil || at < 1 || at > 3 {
			t.Fatalf("the job runs on node %q", began)
		}
		dying, live := nodes[at-1], nodes[at%3]
		id := run(t, live, "SELECT job_id "+job)[0]
		job = "FROM [SHOW JOBS] WHERE job_id = " + id
		run(t, live, "PAUSE JOB "+id)
		await(t, live, "SELECT status "+job, "paused")
		left := run(t, live, "SELECT count(*) FROM t")[0]
		<-time.After(20 * time.Second)
		if got := run(t, live, "SELECT count(*) FROM t")[0]; got != left {
			t.Errorf("a job that is paused has deleted rows: %s of %s are left", got, left)
		}
		run(t, live, "RESUME JOB "+id)
		await(t, live, "SELECT status "+job, "running")
		c.Crash(c.Nodes[at-1], 1)
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = dying.Close(soon)
		cancel()
		await(t, live, "SELECT status "+job, "succeeded")
		if got := run(t, live, "SELECT count(*) FROM t")[0]; got != "0" {
			t.Errorf("%s rows are left", got)
		}
		for _, n := range nodes {
			if n != dying {
				closing(t, n)
			}
		}
	})
}
