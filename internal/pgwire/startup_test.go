package pgwire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// packet makes a message of the start-up phase.
func packet(code uint32, rest string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
	b = binary.BigEndian.AppendUint32(b, code)
	return append(b, rest...)
}

func params(kv ...string) string { return strings.Join(kv, "\x00") + "\x00\x00" }

func TestStartupErrors(t *testing.T) {
	_, addr := newServer(t, nil)
	const v3 = 3 << 16
	cases := []struct {
		name  string
		bytes []byte
		want  string // code, "" for no answer
	}{
		{"short length", []byte{0, 0, 0, 7, 0, 3, 0, 0}, "08P01"},
		{"long length", []byte{0, 0, 0x27, 0x11, 0, 3, 0, 0}, "08P01"},
		{"HTTP", []byte("GET / HTTP/1.0\r\n\r\n"), "08P01"},
		{"protocol 4", packet(4<<16, params("user", "root")), "0A000"},
		{"no terminator", packet(v3, "user\x00root\x00"), "08P01"},
		{"odd strings", packet(v3, "user\x00ro"), "08P01"},
		{"bytes after the terminator", packet(v3, params("user", "root")+"x"), "08P01"},
		{"no user", packet(v3, params("database", "defaultdb")), "28000"},
		{"unknown user", packet(v3, params("user", "nobody", "database", "defaultdb")), "28000"},
		{"unknown database", packet(v3, params("user", "root", "database", "nope")), "3D000"},
		{"unknown parameter", packet(v3, params("user", "root", "database", "defaultdb", "what", "x")), "42704"},
		{"bad parameter", packet(v3, params("user", "root", "database", "defaultdb", "DateStyle", "x")), "22023"},
		{"bad option", packet(v3, params("user", "root", "database", "defaultdb", "options", "-x")), "42601"},
		{"option without value", packet(v3, params("user", "root", "database", "defaultdb", "options", "-c a")), "42601"},
		{"-c at the end", packet(v3, params("user", "root", "database", "defaultdb", "options", "-c")), "42601"},
		{"replication", packet(v3, params("user", "root", "replication", "true")), "0A000"},
		{"no replication", packet(v3, params("user", "root", "replication", "xx")), "22023"},
		{"cancel of nothing", packet(codeCancel, "\x00\x00\x00\x01\x00\x00\x00\x02"), ""},
		{"malformed cancel", packet(codeCancel, "\x00"), ""},
	}
	for _, tc := range cases {
		c := dial(t, addr)
		c.write(tc.bytes)
		got := strings.Join(c.rest(), "\n")
		if tc.want == "" && got != "" || !strings.HasPrefix(got, strings.TrimSpace("E FATAL "+tc.want)) && tc.want != "" {
			t.Errorf("%s: got %q, want %s", tc.name, got, tc.want)
		}
		_ = c.nc.Close()
	}
	if err := connect(t, addr, "").Ping(t.Context()); err != nil {
		t.Error("afterwards:", err)
	}
}

// TestFormerProtocols: clients of protocol 2.0 and before read errors as texts.
func TestFormerProtocols(t *testing.T) {
	_, addr := newServer(t, nil)
	for code, version := range map[uint32]string{0: "0.0", 1 << 16: "1.0", 2 << 16: "2.0"} {
		c := dial(t, addr)
		c.write(packet(code, strings.Repeat("\x00", 288)))
		got, err := io.ReadAll(c.nc)
		want := "EFATAL:  unsupported frontend protocol " + version + ": server supports 3.0 to 3.0\n\x00"
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", version, got, err)
		}
		_ = c.nc.Close()
	}
}

// TestEncryptionRequests asks a server without certificates for encryption: once in each way,
// and for nothing else before the answer.
func TestEncryptionRequests(t *testing.T) {
	_, addr := newServer(t, nil)
	ssl, gss := string(packet(codeSSL, "")), string(packet(codeGSSEncrypt, ""))
	login := string(packet(3<<16, params("user", "root", "database", "defaultdb")))
	for _, tc := range []struct {
		name string
		sent []string // each but the last is answered N
		want string
	}{
		{"both", []string{ssl, gss, login}, "R"},
		{"GSSAPI first", []string{gss, ssl, login}, "R"},
		{"SSL twice", []string{ssl, ssl}, "E FATAL 0A000 unsupported frontend protocol 1234.5679"},
		{"GSSAPI twice", []string{ssl, gss, gss}, "E FATAL 0A000 unsupported frontend protocol 1234.5680"},
		{"more behind SSL", []string{ssl + login, ""}, "E FATAL 08P01 received unencrypted data after SSL request"},
		{"more behind GSSAPI", []string{gss + login, ""}, "E FATAL 08P01 received unencrypted data after GSSAPI encryption request"},
		{"cancel", []string{ssl, string(packet(codeCancel, "12345678"))}, ""},
	} {
		c := dial(t, addr)
		for i, s := range tc.sent {
			c.write([]byte(s))
			if i == len(tc.sent)-1 {
				break
			}
			var n [1]byte
			if _, err := c.nc.Read(n[:]); err != nil || n[0] != 'N' {
				t.Errorf("%s: request %d is answered %q, %v", tc.name, i, n, err)
			}
		}
		got := ""
		if m, err := c.fe.Receive(); err == nil {
			got = show(m)
		}
		if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: got %q, want %s", tc.name, got, tc.want)
		}
		_ = c.nc.Close()
	}
}

// TestLongNames: PostgreSQL cuts the names of a start-up packet as it cuts those of statements.
func TestLongNames(t *testing.T) {
	_, addr := newServer(t, nil)
	const most = 63
	long := strings.Repeat("é", most)
	for _, tc := range []struct{ user, database, want string }{
		{long, "defaultdb", "role"}, {"root", long, "database"},
	} {
		_, got := login(t, addr, "user", tc.user, "database", tc.database)
		if want := tc.want + ` "` + long[:most-1] + `" does not exist`; !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestParseOptions(t *testing.T) {
	cases := []struct {
		options string
		want    map[string]string
		code    pgerr.Code
	}{
		{"", map[string]string{"a": "0"}, ""},
		{"  -c b=1 -cc=2\t--d-e=3 ", map[string]string{"a": "0", "b": "1", "c": "2", "d_e": "3"}, ""},
		{`-c b=x\ y\\z -c b=last`, map[string]string{"a": "0", "b": "last"}, ""},
		{`-c b=x\ y\\z\`, map[string]string{"a": "0", "b": `x y\z\`}, ""},
		{"-c a=given", map[string]string{"a": "0"}, ""},
		{"-c b==", map[string]string{"a": "0", "b": "="}, ""},
		{"-e", nil, pgerr.SyntaxError},
		{"-c", nil, pgerr.SyntaxError},
		{"--x", nil, pgerr.SyntaxError},
	}
	for _, c := range cases {
		got := map[string]string{"a": "0"}
		err := parseOptions(c.options, got)
		if pgerr.CodeOf(err) != c.code || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, %v", c.options, got, err)
		}
	}
}

func TestStartupParameters(t *testing.T) {
	_, addr := newServer(t, nil)
	c := connect(t, addr, "&application_name=app&options=-c%20TimeZone%3DEurope%2FZurich")
	for name, want := range map[string]string{
		"server_version": "15.0 (Lichen test)", "server_encoding": "UTF8", "client_encoding": "UTF8", "application_name": "app",
		"TimeZone": "Europe/Zurich", "integer_datetimes": "on", "standard_conforming_strings": "on",
	} {
		if got := c.PgConn().ParameterStatus(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestNegotiateProtocol(t *testing.T) {
	_, addr := newServer(t, nil)
	c := dial(t, addr)
	c.write(packet(3<<16|7, params("user", "root", "database", "defaultdb", "_pq_.wish", "1")))
	m, err := c.fe.Receive()
	if err != nil {
		t.Fatal(err)
	}
	n, ok := m.(*pgproto3.NegotiateProtocolVersion)
	if !ok || n.NewestMinorProtocol != 3<<16 || !reflect.DeepEqual(n.UnrecognizedOptions, []string{"_pq_.wish"}) {
		t.Errorf("got %+v", m)
	}
	c.until('Z')
}

// TestFirstBytes hands the connection over after some bytes were read from it, as
// a node does that tells protocols apart by them.
func TestFirstBytes(t *testing.T) {
	s, _ := newServer(t, nil)
	all := packet(3<<16, params("user", "root", "database", "defaultdb"))
	for _, n := range []int{1, 8, len(all)} {
		server, nc := net.Pipe()
		done := make(chan struct{})
		go func() {
			s.ServeConn(context.Background(), server, all[:n])
			close(done)
		}()
		if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, nc)
		if n < len(all) {
			c.write(all[n:])
		}
		c.until('Z')
		c.send(&pgproto3.Query{String: "select 7"})
		if got := c.until('Z'); len(got) != 4 || got[1] != `D "7"` {
			t.Errorf("%d bytes: %q", n, got)
		}
		c.send(&pgproto3.Terminate{})
		<-done
	}
}

func TestTLS(t *testing.T) {
	cert := selfSigned(t)
	_, addr := newServer(t, func(o *Options) { o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}} })
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c, err := pgx.Connect(ctx, "postgres://root@"+addr+"/defaultdb?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := c.QueryRow(ctx, "select $1::int + 1", 41).Scan(&n); err != nil || n != 42 {
		t.Error(n, err)
	}
	if _, ok := c.PgConn().Conn().(*tls.Conn); !ok {
		t.Error("not encrypted")
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	// Bytes sent in clear behind the request for encryption are refused.
	raw := dial(t, addr)
	raw.write(append(packet(codeSSL, ""), "x"...))
	if got := strings.Join(raw.rest(), ""); !strings.HasPrefix(got, "E FATAL 08P01 received unencrypted data") {
		t.Errorf("got %q", got)
	}
}

// A client that names no database asks, as libpq does, for the one with its user's name: the
// error says what to name.
func TestDatabaseOfUser(t *testing.T) {
	_, addr := newServer(t, nil)
	for name, hint := range map[string]string{"root": "name defaultdb", "nope": ""} {
		_, err := pgconn.Connect(t.Context(), "postgres://root@"+addr+"/"+name+"?sslmode=disable")
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != "3D000" || hint == "" && pe.Hint != "" || !strings.Contains(pe.Hint, hint) {
			t.Errorf("database %s: %v", name, err)
		}
	}
}
