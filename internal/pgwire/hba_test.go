package pgwire

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
)

// liveSettings are cluster settings that a test changes.
type liveSettings struct{ live *setting.Live }

// Live implements clustersetting.Source.
func (s liveSettings) Live() *setting.Live { return s.live }

// Changed implements clustersetting.Source.
func (liveSettings) Changed(context.Context) {}

// TestHBA lets clients in as rules say, and root with its certificate whatever they say.
func TestHBA(t *testing.T) {
	c := newCertificates(t, "root", "alice")
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	live := setting.NewLive(setting.Default())
	srv, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Settings = liveSettings{live} })
	_, addr := newServer(t, func(o *Options) {
		o.SQL, o.TLS, o.Auth, o.Certificate = srv, n.ServerTLS(), AuthEncrypted, n.Certificate
	})
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"CREATE ROLE alice LOGIN PASSWORD 'pw'", "CREATE ROLE bob LOGIN PASSWORD 'pw'", "CREATE ROLE staff", "GRANT staff TO bob", "ALTER ROLE root PASSWORD 'pw'"} {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	password := func(user, mode string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, "pw"), Host: addr, Path: "defaultdb", RawQuery: "sslmode=" + mode}
		return u.String()
	}
	for _, tc := range []struct{ rules, url, code, text string }{
		{"", password("alice", "require"), "", ""},
		{"host all all all reject", password("alice", "require"), "28000", `pg_hba.conf rejects connection for host "127.0.0.1", user "alice", database "defaultdb", SSL encryption`},
		{"host all all all reject", c.url(addr, "root", "root", ""), "", ""},
		{"host all all all reject", password("root", "require"), "28000", "rejects"},
		{"# nobody", password("alice", "require"), "28000", `no pg_hba.conf entry for host "127.0.0.1", user "alice", database "defaultdb", SSL encryption`},
		{"hostssl all +staff samehost scram-sha-256", password("bob", "require"), "", ""},
		{"hostssl all +staff samehost scram-sha-256", password("alice", "require"), "28000", "no pg_hba.conf entry"},
		{"hostssl all all 127.0.0.0/8 md5", password("bob", "require"), "", ""},
		{"hostssl all all 127.0.0.0/8 password", password("bob", "require"), "", ""},
		{"hostssl all all 127.0.0.0/8 password", strings.Replace(password("bob", "require"), "pw", "no", 1), "28P01", `password authentication failed for user "bob"`},
		{"hostssl all all all password", password("nobody", "require"), "28P01", "password authentication failed"},
		{"hostssl all all all trust", password("bob", "require"), "", ""},
		{"hostssl all all all cert", password("bob", "require"), "28000", "connection requires a valid client certificate"},
		{"hostssl all all all cert", c.url(addr, "bob", "alice", ""), "28000", `certificate authentication failed for user "bob"`},
		{"hostssl all all all cert", c.url(addr, "alice", "alice", ""), "", ""},
		{"hostssl all all all scram-sha-256 clientcert=verify-full", password("bob", "require"), "28000", "connection requires a valid client certificate"},
		{"hostssl other all all trust\nhostssl defaultdb alice all cert-password", password("alice", "require"), "", ""},
		{"host all all all trust", password("bob", "disable"), "28000", "unencrypted connections are refused"},
		{"hostnossl all bob all scram-sha-256", password("bob", "disable"), "", ""},
		{"hostnossl all bob all reject", password("bob", "disable"), "28000", `no encryption`},
	} {
		if _, problems := live.Update(map[string]string{"server.host_based_authentication.configuration": tc.rules}); problems != nil {
			t.Fatal(problems)
		}
		_, err := tryConnect(t, tc.url)
		if sqlState(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %s: %v", tc.rules, tc.url, err)
		}
	}
	text := "# ours\nhostssl all,\"my db\" +staff 10.1.0.0/16 scram-sha-256 clientcert=verify-full\nhost all all samehost trust"
	if _, problems := live.Update(map[string]string{"server.host_based_authentication.configuration": text}); problems != nil {
		t.Fatal(problems)
	}
	var shown string
	if err := admin.QueryRow(t.Context(), "SELECT string_agg(r::text, ' ' ORDER BY line_number) FROM pg_hba_file_rules r").Scan(&shown); err != nil ||
		shown != `(2,hostssl,"{all,""my db""}",{+staff},10.1.0.0,255.255.0.0,scram-sha-256,{clientcert=verify-full},) (3,host,{all},{all},samehost,,trust,,)` {
		t.Errorf("pg_hba_file_rules: %s, %v", shown, err)
	}
}

// fakeResolver knows one host.
type fakeResolver struct{ name, addr string }

// LookupAddr implements Resolver.
func (r fakeResolver) LookupAddr(context.Context, string) ([]string, error) {
	return []string{"liar.example", r.name + "."}, nil
}

// LookupNetIP implements Resolver.
func (r fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == r.name+"." {
		return []netip.Addr{netip.MustParseAddr(r.addr)}, nil
	}
	return []netip.Addr{netip.MustParseAddr("10.9.9.9")}, nil
}

// TestHBAMaps lets certificates in as identity maps say, and hosts by names that lead back to their addresses.
func TestHBAMaps(t *testing.T) {
	c := newCertificates(t, "root", "alice")
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	live := setting.NewLive(setting.Default())
	srv, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Settings = liveSettings{live} })
	_, addr := newServer(t, func(o *Options) {
		o.SQL, o.TLS, o.Auth, o.Certificate, o.Resolver = srv, n.ServerTLS(), AuthEncrypted, n.Certificate, fakeResolver{"app.example", "127.0.0.1"}
	})
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"CREATE ROLE alice LOGIN PASSWORD 'pw'", "CREATE ROLE app LOGIN PASSWORD 'pw'"} {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	password := "postgres://app:pw@" + addr + "/defaultdb?sslmode=require"
	for _, tc := range []struct{ rules, maps, url, code string }{
		{"hostssl all all all cert map=ops", "ops alice app", c.url(addr, "app", "alice", ""), ""},
		{"hostssl all all all cert map=ops", "ops alice app", c.url(addr, "alice", "alice", ""), "28000"},
		{"hostssl all all all cert map=ops", "other alice app", c.url(addr, "app", "alice", ""), "28000"},
		{"hostssl all all all cert map=ops", "", c.url(addr, "alice", "alice", ""), "28000"},
		{"hostssl all all all cert map=ops", `ops /^(al.*)$ \1`, c.url(addr, "alice", "alice", ""), ""},
		{"hostssl all all all cert map=ops clientname=DN", `ops "/CN=alice(,|$)" app`, c.url(addr, "app", "alice", ""), ""},
		{"hostssl all all all cert clientname=DN", "", c.url(addr, "alice", "alice", ""), "28000"},
		{"hostssl all all all scram-sha-256 clientcert=verify-ca", "", password, "28000"},
		{"hostssl all all all trust clientcert=verify-ca", "", c.url(addr, "app", "alice", ""), ""},
		{"hostssl all all all trust clientcert=verify-full", "", c.url(addr, "app", "alice", ""), "28000"},
		{"hostssl all all app.example trust", "", password, ""},
		{"hostssl all all .example trust", "", password, ""},
		{"hostssl all all liar.example trust", "", password, "28000"},
		{"hostssl all all other.example trust\nhostssl all all samenet scram-sha-256", "", password, ""},
		{"hostnogssenc all /^app$ all scram-sha-256", "", password, ""},
		{"local all all peer\nhost all all 127.0.0.1/32 scram-sha-256\nlocal replication all peer", "", password, ""},
	} {
		_, problems := live.Update(map[string]string{"server.host_based_authentication.configuration": tc.rules, "server.identity_map.configuration": tc.maps})
		if problems != nil {
			t.Fatal(problems)
		}
		if _, err := tryConnect(t, tc.url); sqlState(err) != tc.code {
			t.Errorf("%s with %q: %s: %v", tc.rules, tc.maps, tc.url, err)
		}
	}
	if _, problems := live.Update(map[string]string{"server.identity_map.configuration": "# ours\nops \"a b\" app"}); problems != nil {
		t.Fatal(problems)
	}
	var shown string
	if err := admin.QueryRow(t.Context(), "SELECT m::text FROM pg_ident_file_mappings m").Scan(&shown); err != nil || shown != `(2,ops,"a b",app,)` {
		t.Errorf("pg_ident_file_mappings: %s, %v", shown, err)
	}
}

// TestThrottle: after several failures the next tries wait, each time longer, and a login clears that.
func TestThrottle(t *testing.T) {
	var th throttle
	who, now := throttled{"a", "h"}, time.Unix(1000, 0)
	for range freeFailures {
		if d := th.wait(who, now); d != 0 {
			t.Fatalf("waits %s", d)
		}
		th.fail(who, now)
	}
	if d := th.wait(who, now); d != firstDelay {
		t.Errorf("waits %s", d)
	}
	th.fail(who, now.Add(firstDelay))
	if d := th.wait(who, now.Add(firstDelay)); d != 2*firstDelay {
		t.Errorf("waits %s then", d)
	}
	if d := th.wait(throttled{"a", "elsewhere"}, now); d != 0 {
		t.Errorf("another address waits %s", d)
	}
	for range 40 {
		th.fail(who, now)
	}
	if d := th.wait(who, now); d != maxDelay {
		t.Errorf("waits %s at most", d)
	}
	th.succeeded(who)
	if d := th.wait(who, now); d != 0 {
		t.Errorf("waits %s after a login", d)
	}
	for i := range maxThrottled + 10 {
		th.fail(throttled{strings.Repeat("x", i%100), string(rune(i))}, now)
	}
	if len(th.failed) > maxThrottled {
		t.Errorf("%d are remembered", len(th.failed))
	}
}

// TestThrottledLogin: who fails too often is refused even with the right password, for a while.
func TestThrottledLogin(t *testing.T) {
	c := newCertificates(t, "root")
	s, addr := c.server()
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "CREATE ROLE alice LOGIN PASSWORD 'pw'"); err != nil {
		t.Fatal(err)
	}
	target := "postgres://alice:pw@" + addr + "/defaultdb?sslmode=require"
	for range freeFailures {
		s.throttle.fail(throttled{"alice", "127.0.0.1"}, time.Now().Add(time.Hour)) // the test takes no part in waiting
	}
	if _, err := tryConnect(t, target); sqlState(err) != "28P01" {
		t.Errorf("throttled: %v", err)
	}
	s.throttle.succeeded(throttled{"alice", "127.0.0.1"})
	if _, err := tryConnect(t, target); err != nil {
		t.Errorf("later: %v", err)
	}
}

// TestRoleConnectionLimit: of many logins at once no more get in than the role may have sessions.
func TestRoleConnectionLimit(t *testing.T) {
	c := newCertificates(t, "root")
	_, addr := c.server()
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "CREATE ROLE alice LOGIN PASSWORD 'pw' CONNECTION LIMIT 2"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for range 8 {
		wg.Go(func() {
			_, err := tryConnect(t, "postgres://alice:pw@"+addr+"/defaultdb?sslmode=require")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				in++
			} else if sqlState(err) != "53300" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in != 2 {
		t.Errorf("%d sessions", in)
	}
}
