package sql_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

const countTemp = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'"

// TestTempEndsWithSession closes a session, and opens a store after a crash of which
// sessions were not closed: their temporary relations go, and nobody finds them.
func TestTempEndsWithSession(t *testing.T) {
	disk := fs.NewMem()
	n := newNode(t, disk)
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (a INT)")
	mustExec(t, s, "CREATE TEMP TABLE t (a INT PRIMARY KEY, b SERIAL)")
	mustExec(t, s, "INSERT INTO t VALUES (1)")
	other := n.session(t)
	if got := value(t, other, countTemp); got != "1" {
		t.Errorf("%s temporary schemas", got)
	}
	s.Close()
	if got := value(t, other, countTemp); got != "0" {
		t.Errorf("%s temporary schemas after the end of the session", got)
	}
	mustExec(t, other, "CREATE TEMP TABLE t AS SELECT 5 AS a")
	pid := value(t, other, "SELECT pg_backend_pid()")
	closeNode(t, n)

	n = newNode(t, disk)
	t.Cleanup(func() { closeNode(t, n) })
	admin := n.session(t)
	t.Cleanup(admin.Close)
	if got := value(t, admin, countTemp); got != "1" {
		t.Fatalf("%s temporary schemas after a crash", got)
	}
	if got := value(t, admin, "SELECT count(*) FROM t"); got != "0" {
		t.Errorf("another session's temporary table is found: %s rows", got)
	}
	// A session of the same number gets an empty schema.
	for range 3 {
		again := n.session(t)
		mustExec(t, again, "CREATE TEMP TABLE u (a INT)")
		if value(t, again, "SELECT pg_backend_pid()") == pid && value(t, again, "SELECT count(*) FROM t") != "0" {
			t.Error("what was left is used again")
		}
		t.Cleanup(again.Close)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { n.sql.SweepTemp(ctx); close(done) }()
	if !eventually(func() bool { return value(t, admin, countTemp) == "3" }) {
		t.Error("what a crash left stays")
	}
	cancel()
	<-done
}
