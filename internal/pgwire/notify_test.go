package pgwire

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/sql"
)

// listener is a client that listens.
type listener struct {
	*pgx.Conn
	t   *testing.T
	ctx context.Context
}

func newListener(t *testing.T, addr string, channels ...string) *listener {
	t.Helper()
	l := &listener{connect(t, addr, ""), t, t.Context()}
	for _, c := range channels {
		l.run("LISTEN " + c)
	}
	return l
}

func (l *listener) run(statements ...string) {
	l.t.Helper()
	for _, s := range statements {
		if _, err := l.Exec(l.ctx, s); err != nil {
			l.t.Fatalf("%s: %v", s, err)
		}
	}
}

// gets waits for notifications, which have the form channel:payload.
func (l *listener) gets(want ...string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	for _, w := range want {
		n, err := l.WaitForNotification(ctx)
		if err != nil {
			l.t.Fatalf("instead of %s: %v", w, err)
		}
		if got := n.Channel + ":" + n.Payload; got != w {
			l.t.Errorf("got %s, want %s", got, w)
		}
	}
}

// TestDelivery: what a transaction sends arrives when it has committed, once and in order.
func TestDelivery(t *testing.T) {
	_, addr := newServer(t, nil)
	a, b := newListener(t, addr, "c"), newListener(t, addr, "c", "d")
	s := newListener(t, addr)
	s.run("NOTIFY c, 'before'", "BEGIN", "NOTIFY c, '1'", "NOTIFY d, '1'", "NOTIFY c, '1'", "SAVEPOINT s", "NOTIFY c, 'undone'", "NOTIFY c, '1'",
		"ROLLBACK TO s", "NOTIFY c, '2'", "SELECT pg_notify('c', '3')", "COMMIT")
	a.gets("c:before", "c:1", "c:2", "c:3")
	b.gets("c:before", "c:1", "d:1", "c:2", "c:3")
	s.run("BEGIN", "NOTIFY c, 'never'", "ROLLBACK", "NOTIFY c", "NOTIFY other")
	a.gets("c:")
	// Within a block it waits for the end.
	a.run("BEGIN", "SELECT 1")
	s.run("NOTIFY c, 'a'", "NOTIFY d, 'b'", "NOTIFY c, 'c'")
	b.gets("c:", "c:a", "d:b", "c:c")
	a.run("SELECT 2")
	if n := a.PgConn().TxStatus(); n != 'T' {
		t.Errorf("status %c", n)
	}
	a.run("COMMIT")
	a.gets("c:a", "c:c")
	// LISTEN and UNLISTEN take effect at the commit.
	s.run("BEGIN", "LISTEN c", "NOTIFY c, 'own'", "COMMIT")
	s.gets("c:own")
	a.gets("c:own")
	s.run("BEGIN", "UNLISTEN c", "ROLLBACK", "BEGIN", "LISTEN never", "ROLLBACK", "NOTIFY never", "NOTIFY c, 'still'", "UNLISTEN *", "NOTIFY c, 'last'")
	a.gets("c:still", "c:last")
	s.gets("c:still")
}

// TestOutbox sends notifications in a trigger, in a function's block that is undone, and in a read-only transaction.
func TestOutbox(t *testing.T) {
	_, addr := newServer(t, nil)
	a, s := newListener(t, addr, "outbox"), newListener(t, addr)
	s.run(`CREATE TABLE events (id INT PRIMARY KEY, what TEXT)`,
		`CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('outbox', NEW.id || ' ' || NEW.what); RETURN NEW; END $$`,
		`CREATE TRIGGER tell AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION tell()`,
		`INSERT INTO events VALUES (1, 'a'), (2, 'b')`)
	a.gets("outbox:1 a", "outbox:2 b")
	s.run(`DO $$ BEGIN BEGIN NOTIFY outbox, 'undone'; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NOTIFY outbox, 'handled'; END; END $$`)
	a.gets("outbox:handled")
	s.run("BEGIN READ ONLY", "NOTIFY outbox, 'read only'", "COMMIT", "BEGIN ISOLATION LEVEL SERIALIZABLE", "SELECT count(*) FROM events", "NOTIFY outbox, 'serializable'", "COMMIT")
	a.gets("outbox:read only", "outbox:serializable")
	if _, err := s.Exec(s.ctx, "INSERT INTO events VALUES (3, 'c'), (1, 'again')"); sqlState(err) != "23505" {
		t.Error(err)
	}
	s.run("SET idle_session_timeout = 0", "DISCARD ALL", "NOTIFY outbox, 'end'")
	a.gets("outbox:end")
}

// TestManyNotifications sends more than one entry holds, and from several sessions at once: each listener gets all
// in the same order.
func TestManyNotifications(t *testing.T) {
	_, addr := newServer(t, nil)
	const senders, each, rounds = 4, 300, 3
	listeners := []*listener{newListener(t, addr, "c"), newListener(t, addr, "c"), newListener(t, addr, "c")}
	done := make(chan error, senders)
	for i := range senders {
		s := connect(t, addr, "")
		go func() {
			var err error
			for r := 0; r < rounds && err == nil; r++ {
				_, err = s.Exec(t.Context(), fmt.Sprintf("SELECT pg_notify('c', %d * 1000000 + %d * 1000 + i || repeat('x', 1000)) FROM generate_series(1, %d) i", i, r, each))
			}
			done <- err
		}()
	}
	for range senders {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	var first []string
	for at, l := range listeners {
		var got []string
		for range senders * each * rounds {
			n, err := l.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimRight(n.Payload, "x"))
		}
		if at == 0 {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Fatalf("listener %d has %s at %d, the first one %s", at, got[i], i, first[i])
			}
		}
	}
	for i := 1; i < len(first); i++ {
		var a, b int
		fmt.Sscan(first[i-1], &a)
		fmt.Sscan(first[i], &b)
		if a%1000 != each && b != a+1 {
			t.Fatalf("%d after %d", b, a)
		}
	}
}

// TestSlowListener ends a connection for which too much waits, and no other.
func TestSlowListener(t *testing.T) {
	srv, _ := newSQLOf(t, func(c *sql.Config) { c.QueueBytes = 1 << 30 })
	_, addr := newServer(t, func(o *Options) { o.SQL = srv })
	slow, other, s := newListener(t, addr, "c"), newListener(t, addr, "d"), newListener(t, addr)
	slow.run("BEGIN", "SELECT 1")
	for range 80 {
		s.run("SELECT pg_notify('c', i || repeat('x', 7900)) FROM generate_series(1, 100) i")
	}
	if _, err := slow.Exec(slow.ctx, "SELECT 1"); sqlState(err) != "57P01" || !strings.Contains(err.Error(), "too many notifications") {
		t.Errorf("the slow listener: %v", err)
	}
	s.run("NOTIFY d, 'x'")
	other.gets("d:x")
}

// TestFullQueue refuses a commit that does not fit into the queue, and says how full it is.
func TestFullQueue(t *testing.T) {
	srv, _ := newSQLOf(t, func(c *sql.Config) { c.QueueBytes = 100_000 })
	_, addr := newServer(t, func(o *Options) { o.SQL = srv })
	a, s := newListener(t, addr, "c"), newListener(t, addr)
	s.run("SELECT pg_notify('c', repeat('x', 7999)) FROM generate_series(1, 1)", "SELECT pg_notify('c', i || repeat('x', 7000)) FROM generate_series(1, 10) i")
	var used float64
	if err := s.QueryRow(s.ctx, "SELECT pg_notification_queue_usage()").Scan(&used); err != nil || used < 0.7 || used > 0.9 {
		t.Errorf("%v is used, %v", used, err)
	}
	s.run("CREATE TABLE t (a INT)", "BEGIN", "INSERT INTO t VALUES (1)", "SELECT pg_notify('c', i || repeat('x', 7000)) FROM generate_series(1, 10) i")
	if _, err := s.Exec(s.ctx, "COMMIT"); sqlState(err) != "54000" {
		t.Errorf("COMMIT: %v", err)
	}
	var n int
	if err := s.QueryRow(s.ctx, "SELECT count(*) FROM t").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	s.run("NOTIFY c, 'fits'")
	a.gets("c:" + strings.Repeat("x", 7999))
	for range 10 {
		if _, err := a.WaitForNotification(a.ctx); err != nil {
			t.Fatal(err)
		}
	}
	a.gets("c:fits")
}
