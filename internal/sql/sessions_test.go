package sql_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// waiting waits until a session with that application name waits for a lock.
func waiting(t *testing.T, s *sql.Session, name string) {
	t.Helper()
	q := "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name + "' AND wait_event_type = 'Lock'"
	if !eventually(func() bool { return value(t, s, q) == "1" }) {
		t.Fatalf("%s does not wait", name)
	}
}

// named returns a session with an application name.
func named(t *testing.T, n *node, name string) *sql.Session {
	t.Helper()
	s := n.session(t)
	mustExec(t, s, "SET application_name = '"+name+"'")
	t.Cleanup(s.Close)
	return s
}

// run runs a statement in a goroutine.
func run(s *sql.Session, text string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- exec1(s, text) }()
	return done
}

// What waits for whom is seen, and can be ended from another session.
func TestSeeAndCancel(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin := named(t, n, "admin")
	mustExec(t, admin, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	mustExec(t, admin, "INSERT INTO t VALUES (1, 1)")
	holder, waiter := named(t, n, "holder"), named(t, n, "waiter")
	mustExec(t, holder, "BEGIN")
	mustExec(t, holder, "UPDATE t SET b = 2 WHERE a = 1")
	for _, c := range []struct{ stop, where string }{
		{"CANCEL QUERY (SELECT query_id FROM lichen_internal.cluster_queries WHERE application_name = 'waiter')", ""},
		{"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'waiter'", ""},
	} {
		done := run(waiter, "UPDATE t SET b = 3 WHERE a = 1")
		waiting(t, admin, "waiter")
		if got := value(t, admin, `SELECT w.strength || ' ' || w.table_name || ' ' || a.application_name || ' ' || b.application_name
			FROM lichen_internal.cluster_waits w JOIN pg_stat_activity a ON a.pid = w.pid
			JOIN pg_stat_activity b ON b.pid = ANY (w.blocking_pids)`); got != "no key update t waiter holder" {
			t.Errorf("wait: %s", got)
		}
		if got := value(t, admin, `SELECT h.application_name FROM pg_stat_activity w JOIN pg_stat_activity h
			ON h.pid = ANY (pg_blocking_pids(w.pid)) WHERE w.application_name = 'waiter'`); got != "holder" {
			t.Errorf("pg_blocking_pids: %s", got)
		}
		if got := value(t, admin, `SELECT string_agg(a.application_name || ' ' || l.mode || ' ' || l.granted::text, ', ' ORDER BY l.granted)
			FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE locktype = 'tuple' AND relation = 't'::regclass`); got != "waiter ExclusiveLock false, holder ExclusiveLock true" {
			t.Errorf("pg_locks: %s", got)
		}
		mustExec(t, admin, c.stop)
		if err := <-done; pgerr.CodeOf(err) != pgerr.QueryCanceled {
			t.Errorf("%s: %v", c.stop, err)
		}
	}
	id := value(t, admin, "SELECT session_id FROM lichen_internal.node_sessions WHERE application_name = 'holder'")
	mustExec(t, admin, "CANCEL SESSION '"+id+"'")
	if !holder.Terminated() {
		t.Error("the session goes on")
	}
	if err := exec1(admin, "CANCEL SESSION '1.2.3'"); pgerr.CodeOf(err) != pgerr.UndefinedObject {
		t.Errorf("no such session: %v", err)
	}
	mustExec(t, admin, "CANCEL SESSION IF EXISTS '1.2.3'")
	if err := exec1(admin, "CANCEL QUERY 'x'"); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Errorf("no id: %v", err)
	}
}

// A node that does not answer is named.
func TestMuteNode(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	n.nodes.mute = []kvpb.NodeID{7}
	s := named(t, n, "a")
	r := logictest.NewRows(s)
	if err := s.Query(t.Context(), "SELECT count(*) FROM lichen_internal.cluster_sessions", r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Lines, []string{"1"}) || len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "node 7 did not answer") {
		t.Errorf("%q, notices %q", r.Lines, r.Notices)
	}
	r = logictest.NewRows(s)
	if err := s.Query(t.Context(), "SELECT count(*) FROM lichen_internal.node_sessions", r); err != nil || len(r.Notices) != 0 {
		t.Errorf("%v, notices %q", err, r.Notices)
	}
	if err := exec1(s, "CANCEL SESSION '7.1000.1'"); pgerr.CodeOf(err) != pgerr.CannotConnectNow {
		t.Errorf("cancel at a node that does not answer: %v", err)
	}
}

// Cycles of waits through advisory locks, alone and with row locks, end with 40P01.
func TestAdvisoryDeadlocks(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin, a, b := named(t, n, "admin"), named(t, n, "a"), named(t, n, "b")
	mustExec(t, admin, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	mustExec(t, admin, "INSERT INTO t VALUES (1, 1)")
	for _, c := range []struct{ a1, b1, a2, b2 string }{
		{"SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)", "SELECT pg_advisory_lock(2)", "SELECT pg_advisory_lock(1)"},
		{"SELECT pg_advisory_lock(1)", "BEGIN; UPDATE t SET b = 2", "UPDATE t SET b = 3", "SELECT pg_advisory_lock(1)"},
		{"BEGIN; SELECT pg_advisory_xact_lock(1)", "BEGIN; UPDATE t SET b = 2", "UPDATE t SET b = 3", "SELECT pg_advisory_xact_lock_shared(1)"},
	} {
		mustExec(t, a, c.a1)
		mustExec(t, b, c.b1)
		first := run(a, c.a2)
		waiting(t, admin, "a")
		second := run(b, c.b2)
		victim, other, rest := a, b, second
		var err error
		select {
		case err = <-first:
		case err = <-second:
			victim, other, rest = b, a, first
		}
		if err == nil { // the survivor told first
			victim, err, rest = other, <-rest, nil
		}
		mustExec(t, victim, "ROLLBACK; SELECT pg_advisory_unlock_all()") // the other session goes on
		if rest != nil {
			if e := <-rest; e != nil {
				t.Errorf("%s: the survivor: %v", c.a2, e)
			}
		}
		if pgerr.CodeOf(err) != pgerr.DeadlockDetected {
			t.Errorf("%s: %v", c.a2, err)
		}
		for _, s := range []*sql.Session{a, b} {
			mustExec(t, s, "ROLLBACK; SELECT pg_advisory_unlock_all()")
		}
		if got := value(t, admin, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); got != "0" {
			t.Errorf("%s advisory locks are left", got)
		}
	}
}

// TestAdvisoryHolders: a holder's record keeps others away though its lock is gone, until the holder ends.
func TestAdvisoryHolders(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "a")
	db := n.nodes.db
	key := keys.AdvisoryLock(1, false, 5)
	put := func(holder kvpb.TxnID, strength byte) {
		t.Helper()
		var b [16]byte
		for i := range 8 {
			b[i], b[8+i] = byte(holder.Hi>>(56-8*i)), byte(holder.Lo>>(56-8*i))
		}
		err := db.Run(t.Context(), func(_ context.Context, x *kv.Txn) error { return x.Put(keys.AdvisoryHolder(key, b), []byte{strength}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	holder := db.Begin(kv.TxnOptions{LocksOnly: true})
	holder.BeginStatement()
	put(holder.ID(), byte(lock.Share))
	for _, c := range []struct{ try, want string }{
		{"SELECT pg_try_advisory_lock(5)", "f"}, {"SELECT pg_try_advisory_lock_shared(5)", "t"},
		{"SELECT pg_advisory_unlock_shared(5)", "t"}, {"SELECT pg_try_advisory_lock(6)", "t"},
	} {
		if got := value(t, s, c.try); got != c.want {
			t.Errorf("%s: %s, want %s", c.try, got, c.want)
		}
	}
	mustExec(t, s, "SET lock_timeout = '50ms'")
	if err := exec1(s, "SELECT pg_advisory_lock(5)"); pgerr.CodeOf(err) != pgerr.LockNotAvailable {
		t.Errorf("with a holder's record in the way: %v", err)
	}
	holder.Rollback(t.Context())
	if got := value(t, s, "SELECT pg_try_advisory_lock(5)"); got != "t" {
		t.Errorf("the record of a holder that has ended: %s", got)
	}
}

// A connection that sends only text refuses what a BINARY cursor has.
func TestBinaryCursor(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "a")
	mustExec(t, s, "BEGIN; DECLARE c BINARY CURSOR FOR SELECT 1")
	if err := exec1(s, "FETCH c"); pgerr.CodeOf(err) != pgerr.FeatureNotSupported { // this connection has only text
		t.Errorf("%v", err)
	}
}
