package pgwire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/security"
)

// certificates are those of a cluster with a node on this machine, and of users.
type certificates struct {
	t testing.TB
	security.Creator
}

func newCertificates(t testing.TB, users ...string) *certificates {
	t.Helper()
	dir := t.TempDir()
	c := &certificates{t, security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}}
	c.must(c.CA())
	c.must(c.Node([]string{"localhost", "127.0.0.1"}))
	for _, u := range users {
		c.must(c.Client(u))
	}
	return c
}

func (c *certificates) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// server starts a server that demands these certificates.
func (c *certificates) server() (*Server, string) {
	c.t.Helper()
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	return newServer(c.t, func(o *Options) { o.TLS, o.Auth, o.Certificate = n.ServerTLS(), AuthEncrypted, n.Certificate })
}

// url is a connection of user with the certificate of another, "" for none.
func (c *certificates) url(addr, user, cert, more string) string {
	q := url.Values{"sslmode": {"verify-full"}, "sslrootcert": {filepath.Join(c.Dir, security.CACert)}}
	if cert != "" {
		q.Set("sslcert", filepath.Join(c.Dir, security.ClientCert(cert)))
		q.Set("sslkey", filepath.Join(c.Dir, security.ClientKey(cert)))
	}
	return "postgres://" + user + "@" + addr + "/defaultdb?" + q.Encode() + more
}

func tryConnect(t testing.TB, target string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, target)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func TestCertificateLogin(t *testing.T) {
	c := newCertificates(t, "root", "alice", "nobody")
	other := newCertificates(t, "root")
	s, addr := c.server()
	for _, more := range []string{"", "&sslnegotiation=direct"} {
		conn, err := tryConnect(t, c.url(addr, "root", "root", more))
		if err != nil {
			t.Fatal(err)
		}
		var user string
		if err := conn.QueryRow(t.Context(), "select current_user").Scan(&user); err != nil || user != "root" {
			t.Errorf("user %q, %v", user, err)
		}
		var shown string
		const own = "select concat_ws(' ', ssl, version, cipher, bits, client_dn, issuer_dn, client_serial > 0) from pg_stat_ssl where pid = pg_backend_pid()"
		const want = "t TLSv1.3 TLS_AES_128_GCM_SHA256 128 /O=Lichen/CN=root /O=Lichen/CN=Lichen CA t"
		if err := conn.QueryRow(t.Context(), own).Scan(&shown); err != nil || shown != want {
			t.Errorf("pg_stat_ssl: %q, %v", shown, err)
		}
	}
	cases := []struct{ name, url, code, text string }{
		{"no certificate", c.url(addr, "root", "", ""), "28P01", "password authentication failed for user \"root\""},
		{"no certificate, direct", c.url(addr, "root", "", "&sslnegotiation=direct"), "28P01", "password authentication failed"},
		{"a password", strings.Replace(c.url(addr, "root", "", ""), "root@", "root:secret@", 1), "28P01", "password authentication failed"},
		{"other user's", c.url(addr, "root", "alice", ""), "28000", `the client certificate is for user "alice", not for "root"`},
		{"unknown user", c.url(addr, "nobody", "nobody", ""), "28000", `role "nobody" does not exist`},
		{"node's name", c.url(addr, "node", "root", ""), "28000", `is for user "root", not for "node"`},
		{"in clear", "postgres://root@" + addr + "/defaultdb?sslmode=disable", "28000", "unencrypted connections are refused"},
	}
	for _, tc := range cases {
		_, err := tryConnect(t, tc.url)
		if err == nil || sqlState(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if n := s.Metrics().Refused; n != int64(len(cases)-1) { // the unknown user proved its name
		t.Errorf("%d logins refused", n)
	}
	// Its own CA makes the client trust our server; ours does not trust its certificate.
	foreign := strings.ReplaceAll(other.url(addr, "root", "root", ""), url.QueryEscape(filepath.Join(other.Dir, "ca.crt")), url.QueryEscape(filepath.Join(c.Dir, "ca.crt")))
	for _, more := range []string{"", "&sslnegotiation=direct"} {
		if _, err := tryConnect(t, foreign+more); err == nil || !strings.Contains(err.Error(), "unknown certificate authority") {
			t.Errorf("certificate of another CA: %v", err)
		}
	}
	if _, err := tryConnect(t, other.url(addr, "root", "root", "")); err == nil || !strings.Contains(err.Error(), "signed by unknown authority") {
		t.Errorf("client of another cluster: %v", err)
	}
	old := c.Creator
	old.Now, old.Lifetime, old.Overwrite = time.Now().Add(-2*time.Hour), time.Hour, true
	c.must(old.Client("root"))
	if _, err := tryConnect(t, c.url(addr, "root", "root", "")); err == nil || !strings.Contains(err.Error(), "expired certificate") {
		t.Errorf("expired: %v", err)
	}
}

// TestPasswordLogin: a password is enough on an encrypted connection, if it is the role's and valid; what else is wrong is
// told only to who has it.
func TestPasswordLogin(t *testing.T) {
	c := newCertificates(t, "root")
	_, addr := c.server()
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE ROLE alice LOGIN PASSWORD 'sésame'", "CREATE ROLE staff PASSWORD 'sésame'", "CREATE ROLE late LOGIN PASSWORD 'sésame' VALID UNTIL '2001-01-01'",
		"CREATE ROLE none LOGIN", "CREATE ROLE soon LOGIN PASSWORD 'sésame' VALID UNTIL 'infinity'",
	} {
		if _, err := admin.Exec(t.Context(), strings.Replace(q, "ROLE none ", "ROLE nopass ", 1)); err != nil {
			t.Fatal(err)
		}
	}
	target := func(user, password, mode string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: addr, Path: "defaultdb", RawQuery: "sslmode=" + mode}
		return u.String()
	}
	for _, ok := range []string{target("alice", "sésame", "require"), target("soon", "sésame", "require"), target("alice", "sésame", "require") + "&channel_binding=disable"} {
		conn, err := tryConnect(t, ok)
		if err != nil {
			t.Fatalf("%s: %v", ok, err)
		}
		var user string
		if err := conn.QueryRow(t.Context(), "select current_user").Scan(&user); err != nil || user == "root" {
			t.Errorf("user %q, %v", user, err)
		}
	}
	for _, tc := range []struct{ name, url, code, text string }{
		{"wrong password", target("alice", "sesame", "require"), "28P01", `password authentication failed for user "alice"`},
		{"no such role", target("nobody", "sésame", "require"), "28P01", `password authentication failed for user "nobody"`},
		{"no password", target("nopass", "sésame", "require"), "28P01", "password authentication failed"},
		{"expired", target("late", "sésame", "require"), "28P01", "password authentication failed"},
		{"no LOGIN", target("staff", "sésame", "require"), "28000", `role "staff" is not permitted to log in`},
		{"in clear", target("alice", "sésame", "disable"), "28000", "unencrypted connections are refused"},
	} {
		if _, err := tryConnect(t, tc.url); err == nil || sqlState(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := admin.Exec(t.Context(), "ALTER ROLE alice NOLOGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := tryConnect(t, target("alice", "sésame", "require")); sqlState(err) != "28000" {
		t.Errorf("after NOLOGIN: %v", err)
	}
}

// TestSecureCancel cancels statements as old and new clients do: in clear and
// encrypted.
func TestSecureCancel(t *testing.T) {
	c := newCertificates(t, "root")
	s, addr := c.server()
	conn, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, cancel := range []func() error{
		func() error { return conn.PgConn().CancelRequest(t.Context()) },
		func() error {
			pg := conn.PgConn()
			raw := dial(t, addr)
			pid := pg.PID()
			raw.write(packet(codeCancel, string([]byte{byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid)})+string(pg.SecretKey())))
			if got := raw.rest(); got != nil {
				return fmt.Errorf("answer %q", got)
			}
			return nil
		},
	} {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), forever)
			done <- err
		}()
		running(t, s, forever)
		if err := cancel(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; sqlState(err) != "57014" {
			t.Errorf("got %v", err)
		}
	}
}

// TestDirectTLS begins with TLS at once, on connections of which a listener has read
// some bytes, or which it has encrypted already.
func TestDirectTLS(t *testing.T) {
	c := newCertificates(t, "root")
	s, addr := c.server()
	cfg, err := security.ClientTLS(c.Dir, "root")
	c.must(err)
	cfg.ServerName, cfg.NextProtos = "localhost", []string{alpnSQL}
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	defer l.Close()
	for _, first := range []int{0, 1, 5, -1} {
		served := make(chan struct{})
		go func() {
			defer close(served)
			nc, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if first < 0 {
				s.ServeConn(t.Context(), tls.Server(nc, n.ListenerTLS("other")), nil)
				return
			}
			read := make([]byte, first)
			if _, err := nc.Read(read); err != nil {
				t.Error(err)
			}
			s.ServeConn(t.Context(), nc, read)
		}()
		raw := dial(t, l.Addr().String())
		c := newClient(t, tls.Client(raw.nc, cfg)).start()
		c.send(&pgproto3.Query{String: "select 7"})
		if got := c.until('Z'); len(got) != 4 || got[1] != `D "7"` {
			t.Errorf("%d bytes: %q", first, got)
		}
		c.send(&pgproto3.Terminate{})
		<-served
	}
	// Who does not say what it wants to talk to is told so.
	cfg.NextProtos = nil
	if got := strings.Join(newClient(t, tls.Client(dial(t, addr).nc, cfg)).rest(), ""); !strings.HasPrefix(got, "E FATAL 08P01 ") || !strings.Contains(got, "ALPN") {
		t.Errorf("without ALPN: %q", got)
	}
	// What only looks like TLS ends the connection.
	junk := dial(t, addr)
	junk.write([]byte("\x16 no handshake at all"))
	junk.rest()
	if _, err := tryConnect(t, strings.Replace(c.url(addr, "root", "root", ""), "verify-full", "require", 1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestShutdownEncrypted ends idle encrypted connections.
func TestShutdownEncrypted(t *testing.T) {
	c := newCertificates(t, "root")
	s, addr := c.server()
	cfg, err := security.ClientTLS(c.Dir, "root")
	c.must(err)
	cfg.ServerName, cfg.NextProtos = "localhost", []string{alpnSQL}
	conn := newClient(t, tls.Client(dial(t, addr).nc, cfg)).start()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := conn.rest(); len(got) != 1 || !strings.HasPrefix(got[0], "E FATAL 57P01") {
		t.Errorf("got %q", got)
	}
}

// TestPsqlTLS connects with libpq, if LICHEN_TEST_PSQL_BIN names a psql.
func TestPsqlTLS(t *testing.T) {
	bin := os.Getenv("LICHEN_TEST_PSQL_BIN")
	if bin == "" {
		t.Skip("LICHEN_TEST_PSQL_BIN is not set")
	}
	c := newCertificates(t, "root", "alice")
	_, addr := c.server()
	psql := func(target string) (string, error) {
		cmd := exec.CommandContext(t.Context(), bin, "-X", "-A", "-t", "-c", "select 41 + 1", target)
		cmd.Env = append(os.Environ(), "PGCONNECT_TIMEOUT=10")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := psql(c.url(addr, "root", "root", "")); err != nil || out != "42\n" {
		t.Errorf("%q, %v", out, err)
	}
	for target, want := range map[string]string{
		c.url(addr, "root", "alice", ""):                         `the client certificate is for user "alice", not for "root"`,
		c.url(addr, "root", "", ""):                              "use a client certificate",
		"postgres://root@" + addr + "/defaultdb?sslmode=disable": "unencrypted connections are refused",
	} {
		if out, err := psql(target); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v", target, out, err)
		}
	}
}
