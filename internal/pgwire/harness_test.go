package pgwire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
)

// timeout bounds every wait of a test for something that should happen at once, on
// however busy a machine.
const timeout = 5 * time.Minute

// newSQL starts a SQL layer over a store in memory.
func newSQL(t testing.TB) *sql.Server {
	t.Helper()
	srv, _ := newWatchedSQL(t)
	return srv
}

// newWatchedSQL also returns the waits for locks.
func newWatchedSQL(t testing.TB) (*sql.Server, *concurrency.WaitGraph) {
	t.Helper()
	return newSQLOf(t, func(*sql.Config) {})
}

// newSQLOf has change say what the SQL layer is made of.
func newSQLOf(t testing.TB, change func(*sql.Config)) (*sql.Server, *concurrency.WaitGraph) {
	t.Helper()
	n := clustertest.Open(t, fs.NewMem())
	st, db := n.Store, n.DB
	cat := catalog.NewStore(catalog.Options{DB: db, Waits: st.Waits(), Virtual: pgcatalog.Schemas()})
	if err := cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	cfg := sql.Config{
		DB: db, Catalog: cat, Mem: quota.NewPool("test", 256<<20), Version: "test",
		SpanSize: func(a, b []byte) (int64, error) { n, err := st.Engine().ApproximateSize(a, b); return int64(n), err },
	}
	change(&cfg)
	srv := sql.NewServer(cfg)
	t.Cleanup(func() {
		srv.Close()
		n.Close()
	})
	return srv, st.Waits()
}

// newServer starts a server that listens on a TCP port of the loopback, and
// returns the port's address.
func newServer(t testing.TB, change func(*Options)) (*Server, string) {
	t.Helper()
	o := Options{SQL: newSQL(t), Logger: slog.New(slog.NewTextHandler(logWriter{t}, nil))}
	if change != nil {
		change(&o)
	}
	s := New(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error("shutdown:", err)
		}
		if err := <-served; err != nil {
			t.Error("serve:", err)
		}
	})
	return s, l.Addr().String()
}

type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("server: %s", p)
	return len(p), nil
}

func connect(t testing.TB, addr, more string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, "postgres://root@"+addr+"/defaultdb?sslmode=disable"+more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// client speaks the protocol message by message.
type client struct {
	t        testing.TB
	nc       net.Conn
	out      io.Writer // nc
	fe       *pgproto3.Frontend
	database string
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

func newClient(t testing.TB, nc net.Conn) *client {
	return &client{t: t, nc: nc, out: nc, fe: pgproto3.NewFrontend(nc, nc), database: "defaultdb"}
}

// start opens a session and reads up to ReadyForQuery.
func (c *client) start() *client {
	c.t.Helper()
	c.send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersionNumber,
		Parameters:      map[string]string{"user": "root", "database": c.database},
	})
	c.until('Z')
	return c
}

func (c *client) send(msgs ...pgproto3.FrontendMessage) {
	c.t.Helper()
	for _, m := range msgs {
		c.fe.Send(m)
	}
	if err := c.fe.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.out.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// until reads messages up to one of the given type, and prints them.
func (c *client) until(typ byte) []string {
	c.t.Helper()
	var out []string
	for {
		m, err := c.fe.Receive()
		if err != nil {
			c.t.Fatalf("%v, after %q", err, out)
		}
		out = append(out, show(m))
		if out[len(out)-1][0] == typ {
			return out
		}
	}
}

// rest reads messages until the server closes the connection.
func (c *client) rest() []string {
	c.t.Helper()
	var out []string
	for {
		m, err := c.fe.Receive()
		if err != nil {
			return out
		}
		out = append(out, show(m))
	}
}

// pipe returns both ends of a connection in memory.
func pipe(t testing.TB) (server, nc net.Conn) {
	t.Helper()
	server, nc = net.Pipe()
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return server, nc
}
