package pgwire

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/sql"
)

func selfSigned(t *testing.T) tls.Certificate {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// sqlState returns the SQLSTATE of an error of pgx.
func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// forever is a statement that runs until it is cancelled.
const forever = "select count(*) from generate_series(1, 1000000000) a, generate_series(1, 1000000000) b"

// running waits until a statement runs that contains the text.
func running(t *testing.T, s *Server, text string) {
	t.Helper()
	for start := time.Now(); time.Since(start) < timeout; {
		for _, ses := range s.sql.Sessions() {
			if a := ses.Activity(); a.State == "active" && strings.Contains(a.Query, text) {
				return
			}
		}
		runtime.Gosched()
	}
	t.Fatalf("no session runs %q", text)
}

func TestCancelRequest(t *testing.T) {
	s, addr := newServer(t, nil)
	c := connect(t, addr, "")
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), forever)
		done <- err
	}()
	running(t, s, forever)
	// One with the wrong secret has no effect.
	wrong := dial(t, addr)
	pid := c.PgConn().PID()
	wrong.write(packet(codeCancel, string([]byte{byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid), 1, 2, 3, 4})))
	if got := wrong.rest(); got != nil {
		t.Errorf("answer %q", got)
	}
	select {
	case err := <-done:
		t.Fatalf("ended by a wrong secret: %v", err)
	default:
	}
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; sqlState(err) != "57014" {
		t.Errorf("got %v", err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestShutdownIdle(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := c.rest(); len(got) != 1 || !strings.HasPrefix(got[0], "E FATAL 57P01") {
		t.Errorf("got %q", got)
	}
}

func TestShutdownWaitsForStatements(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "select count(*) from generate_series(1, 300000)"})
	running(t, s, "300000")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := c.rest()
	if len(got) != 5 || got[1] != `D "300000"` || got[3] != "Z I" || !strings.HasPrefix(got[4], "E FATAL 57P01") {
		t.Errorf("got %q", got)
	}
}

func TestShutdownCutsOff(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: forever})
	running(t, s, forever)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	got := c.rest()
	if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "E FATAL 57P01") {
		t.Errorf("got %q", got)
	}
}

func TestContextEndsConnection(t *testing.T) {
	s, _ := newServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	server, nc := pipe(t)
	done := make(chan struct{})
	go func() {
		s.ServeConn(ctx, server, nil)
		close(done)
	}()
	c := newClient(t, nc)
	c.start()
	cancel()
	if got := c.rest(); len(got) != 1 || !strings.HasPrefix(got[0], "E FATAL 57P01") {
		t.Errorf("got %q", got)
	}
	<-done
}

func TestIdleTimeouts(t *testing.T) {
	_, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "set idle_in_transaction_session_timeout = '20ms'"})
	c.until('Z')
	c.send(&pgproto3.Query{String: "begin"})
	if got := c.rest(); len(got) != 3 || !strings.HasPrefix(got[2], "E FATAL 25P03") {
		t.Errorf("in a transaction: %q", got)
	}
	c = dial(t, addr).start()
	c.send(&pgproto3.Query{String: "set idle_session_timeout = '20ms'"})
	if got := c.rest(); len(got) != 3 || !strings.HasPrefix(got[2], "E FATAL 57P05") {
		t.Errorf("idle: %q", got)
	}
}

// TestClientGoneInCopy closes the connection in the middle of COPY FROM STDIN.
func TestClientGoneInCopy(t *testing.T) {
	s, addr := newServer(t, nil)
	c := connect(t, addr, "")
	if _, err := c.Exec(t.Context(), "create table g (a int primary key)"); err != nil {
		t.Fatal(err)
	}
	g := dial(t, addr).start()
	g.send(&pgproto3.Query{String: "copy g from stdin"})
	g.until('G')
	g.send(&pgproto3.CopyData{Data: []byte("1\n2\n")})
	if err := g.nc.Close(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); s.Metrics().Sessions > 1; {
		if time.Since(start) > timeout {
			t.Fatal("the session did not end")
		}
		runtime.Gosched()
	}
	var n int
	if err := c.QueryRow(t.Context(), "select count(*) from g").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestClientGoneWhileSending does not read a large result and goes away.
func TestClientGoneWhileSending(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "select repeat('x', 1000) from generate_series(1, 1000000000)"})
	c.until('T')
	if err := c.nc.Close(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); s.Metrics().Sessions > 0; {
		if time.Since(start) > timeout {
			t.Fatal("the session did not end")
		}
		runtime.Gosched()
	}
}

// telling tells when something is about to be written.
type telling struct {
	net.Conn
	writes chan struct{}
}

func (c *telling) Write(p []byte) (int, error) {
	select {
	case c.writes <- struct{}{}:
	default:
	}
	return c.Conn.Write(p)
}

// stuck opens a session, encrypted or not, whose client does not read what it has asked for,
// and returns once the server waits for it.
func stuck(t *testing.T, s *Server, encrypted bool, query string) *client {
	t.Helper()
	server, nc := pipe(t)
	tell := &telling{Conn: server, writes: make(chan struct{}, 1)}
	go s.ServeConn(t.Context(), tell, nil)
	if encrypted {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpnSQL}})
	}
	c := newClient(t, nc).start()
	select {
	case <-tell.writes: // what start has read
	default:
	}
	c.send(&pgproto3.Query{String: query})
	<-tell.writes
	return c
}

// await waits until cond holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for start := time.Now(); !cond(); runtime.Gosched() {
		if time.Since(start) > timeout {
			t.Fatalf("waited too long until %s", what)
		}
	}
}

const endless = "select repeat('x', 1000) from generate_series(1, 1000000000)"

// TestCancelWhileClientDoesNotRead cancels statements in all ways while the server waits for
// the client to read. What the client reads later is whole.
func TestCancelWhileClientDoesNotRead(t *testing.T) {
	s, _ := newServer(t, func(o *Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}, NextProtos: []string{alpnSQL}}
	})
	cancels := map[string]struct {
		query string
		do    func(ses *sql.Session)
	}{
		"request": {query: endless, do: func(ses *sql.Session) { s.sql.Cancel(ses.PID(), ses.Secret()) }},
		"timeout": {query: "set statement_timeout = '50ms'; " + endless, do: func(*sql.Session) {}},
		"copy":    {query: "copy (" + endless + ") to stdout", do: func(ses *sql.Session) { s.sql.Cancel(ses.PID(), ses.Secret()) }},
	}
	for name, way := range cancels {
		for _, encrypted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,encrypted=%v", name, encrypted), func(t *testing.T) {
				c := stuck(t, s, encrypted, way.query)
				ses := s.sql.Sessions()[0]
				way.do(ses)
				await(t, "the statement ends", func() bool { return ses.Activity().State == "idle" })
				got := c.until('Z')
				if e := got[len(got)-2]; !strings.HasPrefix(e, "E ERROR 57014") {
					t.Errorf("ended with %q", e)
				}
				c.send(&pgproto3.Query{String: "select 1"})
				if got := c.until('Z'); got[1] != `D "1"` {
					t.Errorf("afterwards: %q", got)
				}
				_ = c.nc.Close()
				await(t, "the session ends", func() bool { return len(s.sql.Sessions()) == 0 })
			})
		}
	}
}

// TestTerminateWhileClientDoesNotRead ends sessions whose clients never read again: while
// a statement runs, and when it has been answered within a transaction.
func TestTerminateWhileClientDoesNotRead(t *testing.T) {
	s, _ := newServer(t, nil)
	for _, query := range []string{endless, "begin; select 1"} {
		stuck(t, s, false, query)
		s.sql.Sessions()[0].Terminate()
		await(t, "the session ends", func() bool { return len(s.sql.Sessions()) == 0 })
	}
}

// TestTerminateBackendWhileClientDoesNotRead has another session end one whose client never reads
// again.
func TestTerminateBackendWhileClientDoesNotRead(t *testing.T) {
	s, addr := newServer(t, nil)
	stuck(t, s, false, endless)
	pid := s.sql.Sessions()[0].PID()
	other := dial(t, addr).start()
	other.send(&pgproto3.Query{String: fmt.Sprintf("select pg_terminate_backend(%d)", pid)})
	if got := other.until('Z'); got[1] != `D "t"` {
		t.Errorf("got %q", got)
	}
	await(t, "the session ends", func() bool { return len(s.sql.Sessions()) == 1 })
}

// TestShutdownWhileClientDoesNotRead stops a server that waits for clients to read: it cuts them
// off once the time for statements to end is over, and waits for nobody then.
func TestShutdownWhileClientDoesNotRead(t *testing.T) {
	for _, query := range []string{endless, "copy (" + endless + ") to stdout", "begin; select 1"} {
		s, _ := newServer(t, nil)
		stuck(t, s, false, query)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("%.20s: %v", query, err)
		}
		if n := len(s.sql.Sessions()); n > 0 {
			t.Errorf("%.20s: %d sessions are left", query, n)
		}
	}
}

// TestCancelCopyFromStdin cancels COPY while it waits for the client to send.
func TestCancelCopyFromStdin(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "create table c (a int primary key)"})
	c.until('Z')
	c.send(&pgproto3.Query{String: "copy c from stdin"})
	c.until('G')
	ses := s.sql.Sessions()[0]
	s.sql.Cancel(ses.PID(), ses.Secret())
	if got := c.until('Z'); !strings.HasPrefix(got[0], "E ERROR 57014") {
		t.Errorf("got %q", got)
	}
	c.send(&pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, &pgproto3.Query{String: "select 1"})
	if got := c.until('Z'); got[1] != `D "1"` {
		t.Errorf("afterwards: %q", got)
	}
}

// TestClientGoneWhileComputing closes the connection while a statement runs that sends
// nothing, and while one waits.
func TestClientGoneWhileComputing(t *testing.T) {
	s, addr := newServer(t, nil)
	for _, query := range []string{forever, "select pg_sleep(1000000)"} {
		c := dial(t, addr).start()
		c.send(&pgproto3.Query{String: query})
		running(t, s, query)
		if err := c.nc.Close(); err != nil {
			t.Fatal(err)
		}
		await(t, "the session ends", func() bool { return len(s.sql.Sessions()) == 0 })
	}
}

func TestMetrics(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "select 1"})
	c.until('Z')
	c.send(&pgproto3.Parse{Query: "select 1/(random()*0)::int"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	c.until('Z')
	m := s.Metrics()
	for m.Messages < 6 { // they are counted once the answer is sent
		runtime.Gosched()
		m = s.Metrics()
	}
	if m.Connections != 1 || m.Sessions != 1 || m.Accepted != 1 || m.Queries != 2 || m.Errors != 1 || m.Messages != 6 {
		t.Errorf("%+v", m)
	}
	if m.BytesIn < 60 || m.BytesOut < 300 {
		t.Errorf("%d bytes in, %d out", m.BytesIn, m.BytesOut)
	}
}
