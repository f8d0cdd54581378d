package sqlnode_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sqlnode"
)

// jobRows is more than a statement changes without being a job.
const jobRows = 10000

// fill makes a table of many rows.
func fill(t *testing.T, n *sqlnode.Node) {
	t.Helper()
	run(t, n, fmt.Sprintf("CREATE TABLE t (a INT PRIMARY KEY, b INT, c TEXT); INSERT INTO t SELECT i, i * 3, 'x' || i FROM generate_series(1, %d) i", jobRows))
}

// statement is one that runs in a session of its own.
type statement struct {
	done chan struct{}
	err  error
}

func start(t *testing.T, n *sqlnode.Node, text string) *statement {
	t.Helper()
	s := session(t, n)
	st := &statement{done: make(chan struct{})}
	go func() {
		defer close(st.done)
		defer s.Close()
		st.err = s.Query(context.Background(), text, logictest.NewRows(s))
	}()
	return st
}

// awaitJob waits until the only job that changes a table is in a state, and returns its id.
func awaitJob(t *testing.T, n *sqlnode.Node, state string) string {
	t.Helper()
	got := ""
	for began := time.Now(); time.Since(began) < 5*time.Minute; <-time.After(100 * time.Millisecond) {
		s, err := n.Server().NewSession(context.Background(), sql.SessionArgs{User: "root", Database: "defaultdb"})
		if err != nil {
			continue
		}
		rows := logictest.NewRows(s)
		err = s.Query(context.Background(), "SELECT job_id, status, error FROM [SHOW JOBS] WHERE job_type = 'SCHEMA CHANGE'", rows)
		s.Close()
		if err != nil || len(rows.Lines) == 0 {
			continue
		}
		got = rows.Lines[0]
		var id, status string
		if _, err := fmt.Sscan(got, &id, &status); err != nil {
			t.Fatal(got, err)
		}
		if status == state {
			return id
		}
	}
	t.Fatalf("the job is not %s: %s", state, got)
	return ""
}

// verify compares the table with its indexes, and counts those.
func verify(t *testing.T, n *sqlnode.Node, indexes string) {
	t.Helper()
	if got := run(t, n, "INSPECT TABLE t"); len(got) != 0 {
		t.Errorf("INSPECT: %v", got)
	}
	if got := run(t, n, "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass"); !slices.Equal(got, []string{indexes}) {
		t.Errorf("%v indexes, not %s", got, indexes)
	}
	if got := run(t, n, "SELECT count(*) FROM t"); !slices.Equal(got, []string{fmt.Sprint(jobRows)}) {
		t.Errorf("%v rows", got)
	}
}

// Another node goes on with a change whose node dies: it is made, or cancelled, as somebody wishes meanwhile.
func TestJobTakenOver(t *testing.T) {
	for _, x := range []struct{ name, change, wish, state, indexes string }{
		{"made", "CREATE UNIQUE INDEX tb ON t (b)", "", "succeeded", "2"},
		{"rewritten", "ALTER TABLE t ALTER b TYPE TEXT, ADD UNIQUE (b)", "", "succeeded", "2"},
		{"anew", "ALTER TABLE t ADD COLUMN r FLOAT NOT NULL DEFAULT random(), ADD UNIQUE (b)", "", "succeeded", "2"},
		{"verified", "ALTER TABLE t ADD CHECK (b > 0), ALTER c SET NOT NULL", "", "succeeded", "1"},
		{"canceled", "CREATE INDEX tb ON t (b)", "CANCEL JOB ", "canceled", "1"},
		{"paused", "CREATE INDEX tb ON t (b)", "PAUSE JOB ", "paused", "1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t, 3)
				defer c.CloseAll()
				c.Replicate(1)
				var nodes []*sqlnode.Node
				for _, nd := range c.Nodes {
					nodes = append(nodes, open(t, nd, false))
				}
				one := nodes[0]
				defer closing(t, one)
				defer closing(t, nodes[2])
				fill(t, one)
				user := session(t, one)
				defer user.Close()
				query(t, user, "BEGIN; UPDATE t SET b = -7 WHERE a = 7")
				st := start(t, nodes[1], x.change) // it waits for user
				id := awaitJob(t, one, "running")
				<-time.After(time.Second)
				c.Crash(c.Nodes[1], 1, st.done)
				soon, cancel := context.WithTimeout(context.Background(), time.Second)
				_ = nodes[1].Close(soon) // its goroutines end
				cancel()
				if st.err == nil {
					t.Fatal("the statement was through")
				}
				if x.wish != "" {
					run(t, one, x.wish+id)
					awaitJob(t, one, x.state)
				}
				query(t, user, "UPDATE t SET b = 7 WHERE a = 7; COMMIT")
				if got := awaitJob(t, one, x.state); got != id {
					t.Errorf("job %s, not %s", got, id)
				}
				verify(t, one, x.indexes)
				if x.state == "paused" {
					run(t, one, "RESUME JOB "+id)
					awaitJob(t, one, "succeeded")
					verify(t, one, "2")
				}
			})
		})
	}
}

// A node by itself goes on with its jobs when it starts again.
func TestJobsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := fs.NewMem()
		nd := clustertest.Open(t, disk)
		n := open(t, nd, true)
		fill(t, n)
		user := session(t, n)
		query(t, user, "BEGIN; UPDATE t SET b = -7 WHERE a = 7")
		st := start(t, n, "CREATE INDEX tb ON t (b)")
		id := awaitJob(t, n, "running")
		n.Server().LeaveJobs()
		for _, s := range n.Server().Sessions() {
			s.Terminate()
		}
		<-st.done
		if e := pgerr.From(st.err); e.Code != pgerr.AdminShutdown || e.Detail != "Job "+id+" goes on with the statement." {
			t.Errorf("the client is told %v", st.err)
		}
		user.Close()
		closing(t, n)
		nd.Close()

		nd = clustertest.Open(t, disk)
		defer nd.Close()
		n = open(t, nd, true)
		defer closing(t, n)
		if got := awaitJob(t, n, "succeeded"); got != id {
			t.Errorf("job %s, not %s", got, id)
		}
		verify(t, n, "2")
		if got := n.Server().JobsTakenOver(); got != 1 {
			t.Errorf("%d jobs were taken over", got)
		}
	})
}

// What no other node can go on with ends with its node: nothing of it is left, and SHOW JOBS says so. It can be run again.
func TestJobEndsWithItsNode(t *testing.T) {
	const slow = "SELECT i, pg_sleep((SELECT CASE WHEN i > 12000 THEN max(s) ELSE 0 END FROM gate))::text FROM generate_series(1, (SELECT max(n) FROM gate)) i"
	for _, x := range []struct{ name, before, change, left, again string }{
		{"query", "SELECT 1", "CREATE TABLE made AS " + slow, "SELECT to_regclass('made') IS NULL", "12010"},
		{"view", "CREATE MATERIALIZED VIEW made AS " + slow, "REFRESH MATERIALIZED VIEW made", "SELECT count(*) = 5 FROM made", "12010"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t, 3)
				defer c.CloseAll()
				c.Replicate(1)
				var nodes []*sqlnode.Node
				for _, nd := range c.Nodes {
					nodes = append(nodes, open(t, nd, false))
				}
				one := nodes[0]
				defer closing(t, one)
				defer closing(t, nodes[2])
				run(t, one, "CREATE TABLE gate (s INT, n INT); INSERT INTO gate VALUES (0, 5)")
				run(t, one, x.before)
				run(t, one, "UPDATE gate SET s = 3600, n = 12010")
				st := start(t, nodes[1], x.change)
				awaitJob(t, one, "running")
				c.Crash(c.Nodes[1], 1, st.done)
				soon, cancel := context.WithTimeout(context.Background(), time.Second)
				_ = nodes[1].Close(soon)
				cancel()
				awaitJob(t, one, "failed")
				if got := run(t, one, "SELECT error FROM [SHOW JOBS] WHERE status = 'failed'"); !slices.Equal(got, []string{"node 2 has stopped, or lost contact with its cluster, and what the statement had done was undone"}) {
					t.Errorf("the job says %q", got)
				}
				if got := run(t, one, x.left); !slices.Equal(got, []string{"t"}) {
					t.Errorf("%s: %v", x.left, got)
				}
				run(t, one, "UPDATE gate SET s = 0")
				run(t, one, x.change)
				if got := run(t, one, "SELECT count(*) FROM made"); !slices.Equal(got, []string{x.again}) {
					t.Errorf("run again: %v rows", got)
				}
			})
		})
	}
}

// A client whose statement has failed is told that another node may go on with it, if the end of its job can't be written.
func TestJobWhoseEndIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nd := clustertest.Open(t, fs.NewMem())
		defer nd.Close()
		one := open(t, nd, true)
		defer closing(t, one)
		fill(t, one)
		user := session(t, one)
		defer user.Close()
		query(t, user, "BEGIN; UPDATE t SET b = -7 WHERE a = 7")
		st := start(t, one, "ALTER TABLE t ADD UNIQUE (b)")
		id := awaitJob(t, one, "running")
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		holder := nd.DB.Begin(kv.TxnOptions{})
		holder.BeginStatement()
		if res, err := holder.Lock(ctx, binary.BigEndian.AppendUint64(keys.SystemKey("sql/job/"), n), lock.Update, lock.WaitBlock); err != nil || !res.Found {
			t.Fatal(res, err)
		}
		run(t, one, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'ALTER%'")
		<-st.done
		holder.Rollback(ctx)
		e := pgerr.From(st.err)
		if e.Code != pgerr.StatementCompletionUnknown || e.Detail != "The end of job "+id+" could not be recorded. The error was: canceling statement due to user request" {
			t.Errorf("the client is told %s %v, %s", e.Code, e, e.Detail)
		}
		query(t, user, "UPDATE t SET b = 7 WHERE a = 7; COMMIT")
		if got := awaitJob(t, one, "succeeded"); got != id {
			t.Errorf("job %s, not %s", got, id)
		}
		verify(t, one, "2")
	})
}
