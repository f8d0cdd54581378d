package server

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	gojwt "github.com/go-jose/go-jose/v4/jwt"
)

// provider is a small identity provider, at https://id.example, that vouches for one user.
type provider struct {
	t       *testing.T
	key     ed25519.PrivateKey
	subject string
	asked   url.Values // of the last browser that came
	secret  string     // that the last code came with
	tokens  int
}

// RoundTrip implements http.RoundTripper: it is the network between the node and the provider.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch r.URL.String() {
	case "https://id.example/.well-known/openid-configuration":
		fmt.Fprint(w, `{"issuer":"https://id.example","authorization_endpoint":"https://id.example/authorize","token_endpoint":"https://id.example/token","jwks_uri":"https://id.example/keys"}`)
	case "https://id.example/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
	case "https://id.example/token":
		p.tokens++
		_, p.secret, _ = r.BasicAuth()
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
		if err != nil {
			return nil, err
		}
		token, err := gojwt.Signed(s).Claims(map[string]any{
			"iss": "https://id.example", "aud": "console", "sub": p.subject, "exp": time.Now().Add(time.Hour).Unix(), "nonce": p.asked.Get("nonce"),
		}).Serialize()
		if err != nil {
			return nil, err
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id_token": token})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

// page gets a page of the node as a browser does that has some cookies.
func page(n *Node, path string, cookies ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "localhost"
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	n.httpHandler().ServeHTTP(w, r)
	return w.Result()
}

// leave sends a browser to the provider, and returns what it keeps meanwhile.
func (p *provider) leave(n *Node) *http.Cookie {
	p.t.Helper()
	r := page(n, "/oidc/v1/login")
	to, err := url.Parse(r.Header.Get("Location"))
	if r.StatusCode != http.StatusFound || err != nil || to.Host != "id.example" || len(r.Cookies()) != 1 {
		p.t.Fatalf("not sent to the provider: %d, %q, %v", r.StatusCode, to, r.Cookies())
	}
	p.asked = to.Query()
	c := r.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || strings.Contains(c.Value, p.asked.Get("state")) {
		p.t.Errorf("the cookie of the login is %v", c)
	}
	return c
}

// TestConsoleOIDC: a browser logs in at the identity provider where the settings say so, as the role that the map has, and as nobody else;
// what is refused is in the audit log.
func TestConsoleOIDC(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		p := &provider{t: t, key: key, subject: "worker@corp.example"}
		log, root, _ := audited(t, c, func(o *Options) { o.Identity = p })
		n := c.nodes[len(c.nodes)-1]
		c.exec(root, "CREATE ROLE worker LOGIN PASSWORD 'w' VALID UNTIL '2001-01-01'; CREATE ROLE grouped; CREATE ROLE outsider LOGIN")
		defer secured(n)()
		a := &api{t: t, n: n}
		if o := a.want(http.StatusOK, http.MethodGet, "login", ""); o["provider"] != "" {
			t.Errorf("without settings there is a login at %v", o)
		}
		if r := page(n, "/oidc/v1/login"); r.StatusCode != http.StatusNotFound {
			t.Errorf("without settings: %d", r.StatusCode)
		}
		for _, s := range []string{
			"provider_url = 'https://id.example'", "client_id = 'console'", "redirect_url = 'https://db.example/oidc/v1/callback'",
			`map = '/^(.*)@corp\.example$ grouped\n/^(.*)@corp\.example$ \1'`, "button_text = 'Corp login'", "enabled = true",
		} {
			c.exec(root, "SET CLUSTER SETTING server.oidc_authentication."+strings.ReplaceAll(s, `\n`, "\n"))
		}
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit = 'all all denied'")
		log.take(t)
		if o := a.want(http.StatusOK, http.MethodGet, "login", ""); o["provider"] != "Corp login" || o["provider_path"] != "/oidc/v1/login" {
			t.Errorf("the login page offers %v", o)
		}
		back := func(state string, cookies ...*http.Cookie) *http.Response {
			return page(n, "/oidc/v1/callback?code=x&state="+url.QueryEscape(state), cookies...)
		}
		cookie := p.leave(n)
		r := back(p.asked.Get("state"), cookie)
		var session *http.Cookie
		for _, k := range r.Cookies() {
			if k.Name == "lichen_session" {
				session = k
			}
		}
		if r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/" || session == nil || session.SameSite != http.SameSiteStrictMode || !session.HttpOnly {
			t.Fatalf("came back: %d, %v", r.StatusCode, r.Header)
		}
		worker := &api{t: t, n: n, cookie: session.Value}
		if s := worker.want(http.StatusOK, http.MethodGet, "session", ""); s["user"] != "worker" || s["superuser"] != false {
			t.Errorf("the session is %v", s)
		}
		p.refusals(n, log, back)
		c.exec(root, "SET CLUSTER SETTING server.host_based_authentication.configuration = 'hostssl all all all scram-sha-256'")
		if r := back(p.asked.Get("state"), p.leave(n)); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("where rules ask for a password: %d", r.StatusCode)
		}
		c.exec(root, "SET CLUSTER SETTING server.host_based_authentication.configuration = 'hostssl all all all jwt'")
		cookie = p.leave(n)
		if r := back(p.asked.Get("state"), cookie); r.StatusCode != http.StatusFound {
			t.Errorf("where rules let tokens in: %d", r.StatusCode)
		}
		worker.want(http.StatusOK, http.MethodGet, "session", "")
		c.exec(root, "SET CLUSTER SETTING server.oidc_authentication.enabled = false")
		worker.want(http.StatusUnauthorized, http.MethodGet, "session", "")
	})
}

// refusals tries what lets nobody in.
func (p *provider) refusals(n *Node, log *events, back func(string, ...*http.Cookie) *http.Response) {
	t := p.t
	t.Helper()
	refused := func(name string, r *http.Response) {
		t.Helper()
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
		for _, k := range r.Cookies() {
			if k.Name == "lichen_session" {
				t.Errorf("%s: logged in", name)
			}
		}
	}
	cookie := p.leave(n)
	state, tokens := p.asked.Get("state"), p.tokens
	refused("no cookie", back(state))
	refused("another state", back("x", cookie))
	refused("another browser's cookie", back(state, p.leave(n)))
	refused("a made-up cookie", back(state, &http.Cookie{Name: "lichen_oidc", Value: "eyJTdGF0ZSI6IngifQ"}))
	refused("an error of the provider", page(n, "/oidc/v1/callback?error=access_denied&state="+state, cookie))
	if p.tokens != tokens {
		t.Errorf("the provider was asked for %d tokens", p.tokens-tokens)
	}
	log.take(t)
	for _, x := range []struct{ subject, want string }{
		{"absent@corp.example", ` denied in defaultdb: login refused: password authentication failed for user "" | 28P01`},
		{"outsider@corp.example.evil", ` denied in defaultdb: login refused: password authentication failed for user "" | 28P01`},
		{"root@corp.example", ` denied in defaultdb: login refused: password authentication failed for user "" | 28P01`},
	} {
		p.subject = x.subject
		cookie := p.leave(n)
		refused(x.subject, back(p.asked.Get("state"), cookie))
		if got := log.take(t); got != x.want {
			t.Errorf("%s: the audit log has %q", x.subject, got)
		}
	}
	p.subject = "worker@corp.example"
}
