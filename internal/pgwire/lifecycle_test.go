package pgwire

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
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
	for start := time.Now(); time.Since(start) < patience; {
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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
		if time.Since(start) > patience {
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
		if time.Since(start) > patience {
			t.Fatal("the session did not end")
		}
		runtime.Gosched()
	}
}

func TestMetrics(t *testing.T) {
	s, addr := newServer(t, nil)
	c := dial(t, addr).start()
	c.send(&pgproto3.Query{String: "select 1"})
	c.until('Z')
	c.send(&pgproto3.Parse{Query: "select 1/0"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
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
