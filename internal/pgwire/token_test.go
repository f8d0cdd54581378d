package pgwire

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	gojwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
)

// tokenIssuer vouches for users.
type tokenIssuer struct {
	t    *testing.T
	key  ed25519.PrivateKey
	keys string
}

func newTokenIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &tokenIssuer{t, private, string(b)}
}

func (i *tokenIssuer) token(subject string, valid time.Duration) string {
	i.t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	out, err := gojwt.Signed(s).Claims(gojwt.Claims{
		Issuer: "https://id.example", Audience: gojwt.Audience{"lichen"}, Subject: subject, Expiry: gojwt.NewNumericDate(time.Now().Add(valid)),
	}).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return out
}

// TestTokenLogin lets SQL clients and others in by tokens of the issuer that the settings name, where a rule says so, and
// by nothing else.
func TestTokenLogin(t *testing.T) {
	c := newCertificates(t, "root", "alice")
	n, err := security.LoadNode(c.Dir)
	c.must(err)
	live := setting.NewLive(setting.Default())
	srv, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Settings = liveSettings{live} })
	pg, addr := newServer(t, func(o *Options) {
		o.SQL, o.TLS, o.Auth, o.Certificate = srv, n.ServerTLS(), AuthEncrypted, n.Certificate
	})
	admin, err := tryConnect(t, c.url(addr, "root", "root", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"CREATE ROLE alice LOGIN PASSWORD 'pw'", "CREATE ROLE group_role"} {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	ours, other := newTokenIssuer(t), newTokenIssuer(t)
	settings := map[string]string{
		"server.host_based_authentication.configuration": "hostssl all all all jwt",
		"server.jwt_authentication.issuer":               "https://id.example",
		"server.jwt_authentication.audience":             "lichen",
		"server.jwt_authentication.map":                  `"/(.*)@corp\.example" \1`,
	}
	update := func() {
		t.Helper()
		if _, problems := live.Update(settings); problems != nil {
			t.Fatal(problems)
		}
	}
	target := func(user, secret string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, secret), Host: addr, Path: "defaultdb", RawQuery: "sslmode=require"}
		return u.String()
	}
	update()
	good := ours.token("alice@corp.example", time.Hour)
	if _, err := tryConnect(t, target("alice", good)); sqlState(err) != "28P01" {
		t.Errorf("without keys: %v", err)
	}
	settings["server.jwt_authentication.jwks"] = ours.keys
	update()
	for _, tc := range []struct{ name, user, secret, code string }{
		{"a token", "alice", good, ""},
		{"of another", "alice", ours.token("bob@corp.example", time.Hour), "28P01"},
		{"of elsewhere", "alice", ours.token("alice@corp.example.evil", time.Hour), "28P01"},
		{"expired", "alice", ours.token("alice@corp.example", -time.Hour), "28P01"},
		{"another issuer's", "alice", other.token("alice@corp.example", time.Hour), "28P01"},
		{"the password", "alice", "pw", "28P01"},
		{"nothing", "alice", "", "28P01"},
		{"a role that can't log in", "group_role", ours.token("group_role@corp.example", time.Hour), "28000"},
		{"no role", "nobody", ours.token("nobody@corp.example", time.Hour), "28000"},
		{"root", "root", ours.token("root@corp.example", time.Hour), "28P01"},
	} {
		pg.throttle = throttle{}
		if _, err := tryConnect(t, target(tc.user, tc.secret)); sqlState(err) != tc.code || err != nil && strings.Contains(err.Error(), "token") {
			t.Errorf("%s: %v", tc.name, err)
		}
		err := pg.CheckLogin(t.Context(), &Login{User: tc.user, Database: "defaultdb", Password: tc.secret, Remote: netip.MustParseAddr("127.0.0.1")})
		if (err == nil) != (tc.code != "28P01") {
			t.Errorf("%s, another way: %v", tc.name, err)
		}
	}
	settings["server.jwt_authentication.jwks"] = other.keys
	update()
	if _, err := tryConnect(t, target("alice", good)); sqlState(err) != "28P01" {
		t.Errorf("after the keys were exchanged: %v", err)
	}
	shown := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(ours.keys)) }))
	defer shown.Close()
	settings["server.jwt_authentication.jwks_url"] = shown.URL
	update()
	pg.throttle = throttle{}
	if _, err := tryConnect(t, target("alice", good)); err != nil {
		t.Errorf("with keys at an address: %v", err)
	}
	settings["server.jwt_authentication.jwks"] = ""
	update()
	if _, err := tryConnect(t, target("alice", good)); err != nil {
		t.Errorf("with keys at an address only: %v", err)
	}
	if _, err := tryConnect(t, target("alice", other.token("alice@corp.example", time.Hour))); sqlState(err) != "28P01" {
		t.Errorf("another issuer's, with keys at an address: %v", err)
	}
}
