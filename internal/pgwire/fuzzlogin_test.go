package pgwire

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
)

// loginRules let each user in by another method; no other way leads in.
const loginRules = "hostnossl all scram all scram-sha-256\nhostnossl all clear all password\nhostssl all cert all cert\nhostnossl all absent all scram-sha-256"

var loginUsers = []string{"scram", "clear", "cert", "absent", "unlisted"}

// newLoginServer returns a server that lets nobody in without a proof, in clear too.
func newLoginServer(tb testing.TB) *Server {
	c := newCertificates(tb, "root")
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	live := setting.NewLive(setting.Default())
	if _, problems := live.Update(map[string]string{"server.host_based_authentication.configuration": loginRules}); problems != nil {
		tb.Fatal(problems)
	}
	srv, _ := newSQLOf(tb, func(cfg *sql.Config) { cfg.Settings = liveSettings{live} })
	_, addr := newServer(tb, func(o *Options) { o.SQL = srv })
	admin := connect(tb, addr, "")
	for _, q := range []string{"create role scram login password 'pw'", "create role clear login password 'pw'", "create role cert login"} {
		if _, err := admin.Exec(tb.Context(), q); err != nil {
			tb.Fatal(err)
		}
	}
	return New(Options{SQL: srv, Logger: slog.New(slog.DiscardHandler), TLS: n.ServerTLS(), Auth: AuthEncrypted, Certificate: n.Certificate})
}

// saslInitial is the first message of a client that logs in by SCRAM.
func saslInitial(mechanism, first string) []byte {
	body := append([]byte(mechanism), 0)
	body = binary.BigEndian.AppendUint32(body, uint32(len(first)))
	return typed('p', append(body, first...))
}

func typed(typ byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{typ}, uint32(4+len(body))), body...)
}

// FuzzLogin sends any bytes where a client has to show who it is. Whatever they are, it is not let in without the password,
// the connection ends, and the server does not panic.
func FuzzLogin(f *testing.F) {
	const first = "n,,n=,r=0123456789abcdef"
	final := typed('p', []byte("c=biws,r=0123456789abcdefx,p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	for _, seed := range [][]byte{
		nil, saslInitial("SCRAM-SHA-256", first), append(saslInitial("SCRAM-SHA-256", first), final...),
		append(saslInitial("SCRAM-SHA-256", "y,,n=,r=0123"), typed('p', nil)...),
		saslInitial("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=01"), saslInitial("PLAIN", "x"), saslInitial("", ""),
		typed('p', []byte("SCRAM-SHA-256\x00\xff\xff\xff\xff")), typed('p', []byte("SCRAM-SHA-256\x00\x7f\xff\xff\xff")),
		typed('p', []byte("SCRAM-SHA-256\x00\x00")), typed('p', []byte("wrong\x00")), typed('p', []byte("wrong")), typed('p', nil),
		typed('p', []byte("eyJhbGciOiJub25lIn0.e30.\x00")), typed('p', bytes.Repeat([]byte("a."), 40_000)),
		typed('Q', []byte("select 1\x00")), typed('X', nil), {'p', 0, 0, 0, 3}, {'p', 0xff, 0xff, 0xff, 0xff}, {'p', 0x7f, 0xff, 0xff, 0xff, 'x'},
	} {
		for who := range loginUsers {
			f.Add(uint8(who), seed)
		}
	}
	s := newLoginServer(f)
	f.Fuzz(func(t *testing.T, who uint8, data []byte) {
		user := loginUsers[int(who)%len(loginUsers)]
		s.throttle.succeeded(throttled{user, "127.0.0.1"}) // or it would not even look
		got := fuzzConn(t, s, append(packet(3<<16, params("user", user, "database", "defaultdb")), data...))
		if user == "clear" && bytes.HasPrefix(data, typed('p', []byte("pw\x00"))) {
			return // the password
		}
		if !bytes.HasPrefix(got, asked[user]) {
			t.Fatalf("%s was asked %q", user, got)
		}
		refusedOrSilent(t, got)
	})
}

// asked is how the answer to each user's start-up message begins.
var asked = map[string][]byte{
	"scram": saslOffer, "absent": saslOffer, "clear": []byte("R\x00\x00\x00\x08\x00\x00\x00\x03"),
	"cert": []byte("E"), "unlisted": []byte("E"),
}

var saslOffer = []byte("R\x00\x00\x00\x2a\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00")

// refusedOrSilent checks that a server's answers let nobody in: no AuthenticationOk, no key, no ReadyForQuery.
func refusedOrSilent(t *testing.T, got []byte) {
	t.Helper()
	for b := got; len(b) > 0; {
		if len(b) < 5 {
			t.Fatalf("the answers end within a message: %q", got)
		}
		n := int(binary.BigEndian.Uint32(b[1:]))
		if n < 4 || n+1 > len(b) || !strings.ContainsRune("REvN", rune(b[0])) || b[0] == 'R' && binary.BigEndian.Uint32(b[5:]) == 0 {
			t.Fatalf("who showed nothing got %q", got)
		}
		b = b[n+1:]
	}
}

// FuzzSecureStartup sends any bytes from the beginning to a server with certificates: requests for encryption and what follows,
// TLS from the first byte, cancellations. None is let in.
func FuzzSecureStartup(f *testing.F) {
	open := packet(3<<16, params("user", "scram", "database", "defaultdb"))
	ssl, gss, cancel := packet(codeSSL, ""), packet(codeGSSEncrypt, ""), packet(codeCancel, "\x00\x00\x03\xe8\x00\x00\x00\x00")
	join := func(list ...[]byte) []byte { return bytes.Join(list, nil) }
	hello := []byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03")
	for _, seed := range [][]byte{
		nil, open, ssl, gss, cancel, join(ssl, hello), join(ssl, open), join(gss, ssl, hello), join(gss, open), join(ssl, ssl), join(gss, gss),
		join(ssl, cancel), join(gss, cancel), join(cancel, cancel), hello, join(hello, open), hello[:1], hello[:5], []byte("\x16\x03\x01\xff\xff"),
		packet(codeCancel, "\x00\x00"), packet(codeCancel, strings.Repeat("x", 300)), packet(codeSSL, "more"), packet(2<<16, "root"), packet(0, ""),
		[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte("SSH-2.0-x\r\n"), bytes.Repeat([]byte{0}, 64), bytes.Repeat([]byte{0xff}, 64),
		packet(3<<16, params("user", "scram", "_pq_.a", "1", "replication", "database")), packet(3<<16, "user\x00"), packet(3<<16, "\x00"),
	} {
		f.Add(seed)
	}
	s := newLoginServer(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, user := range loginUsers {
			s.throttle.succeeded(throttled{user, "127.0.0.1"})
		}
		got := fuzzConn(t, s, data)
		if bytes.Contains(got, []byte("R\x00\x00\x00\x08\x00\x00\x00\x00")) || bytes.Contains(got, []byte("Z\x00\x00\x00\x05")) {
			t.Fatalf("who showed nothing got %q", got)
		}
	})
}
