package idp

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	gojwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/lichendb/lichen/internal/config/jwt"
)

// issuer is a small identity provider.
type issuer struct {
	t      *testing.T
	server *httptest.Server

	mu   sync.Mutex
	key  ed25519.PrivateKey
	id   string // of the key
	asks map[string]int
	// claims changes what the next token says, answer what the token endpoint answers.
	claims func(map[string]any)
	answer func(w http.ResponseWriter)
	// The last request for a code, and how the last one for a token came.
	asked  url.Values
	secret string
	form   url.Values
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, asks: map[string]int{}}
	i.newKey("k1")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", i.describe)
	mux.HandleFunc("/keys", i.keys)
	mux.HandleFunc("/token", i.token)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.asks[r.URL.Path]++
		i.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.server.Close)
	return i
}

func (i *issuer) newKey(id string) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.id = key, id
}

func (i *issuer) describe(w http.ResponseWriter, _ *http.Request) {
	u := i.server.URL
	fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"jwks_uri":%q}`, u, u+"/authorize?tenant=1", u+"/token", u+"/keys")
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id, Algorithm: "EdDSA", Use: "sig"}}})
}

// signed returns a token of some claims.
func (i *issuer) signed(claims map[string]any) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	out, err := gojwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return out
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.answer != nil {
		i.answer(w)
		return
	}
	_ = r.ParseForm()
	i.form = r.PostForm
	_, i.secret, _ = r.BasicAuth()
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if base64.RawURLEncoding.EncodeToString(challenge[:]) != i.asked.Get("code_challenge") || r.PostForm.Get("code") != "the code" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	claims := map[string]any{
		"iss": i.server.URL, "aud": "console", "sub": "ann@corp.example", "exp": time.Now().Add(time.Hour).Unix(), "nonce": i.asked.Get("nonce"),
	}
	if i.claims != nil {
		i.claims(claims)
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"id_token": i.signed(claims)})
}

func (i *issuer) config() *Config {
	return &Config{Provider: i.server.URL, ClientID: "console", Redirect: "https://db.example/oidc/v1/callback", Scopes: "email", Map: `/^(.*)@corp\.example$ \1`}
}

// begin begins a login, as the browser does that is sent to the issuer.
func (i *issuer) begin(p *Provider, c *Config) *Flow {
	i.t.Helper()
	to, f, err := p.Begin(context.Background(), c)
	if err != nil {
		i.t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = u.Query()
	return f
}

// TestFlow leads a browser through a login, and refuses what is wrong in one thing each (3).
func TestFlow(t *testing.T) {
	i := newIssuer(t)
	p, c := NewProvider(nil), i.config()
	f := i.begin(p, c)
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "console", "redirect_uri": c.Redirect, "scope": "openid email", "code_challenge_method": "S256", "tenant": "1",
	} {
		if got := i.asked.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if strings.Contains(i.asked.Encode(), f.Verifier) {
		t.Error("the verifier went to the provider with the browser")
	}
	roles, err := p.Finish(t.Context(), c, "the secret", f, f.State, "the code")
	if err != nil || len(roles) != 1 || roles[0] != "ann" {
		t.Errorf("%v, %v", roles, err)
	}
	if i.secret != "the+secret" || i.form.Get("redirect_uri") != c.Redirect || i.form.Get("client_secret") != "" {
		t.Errorf("the code was exchanged with %q, %v", i.secret, i.form)
	}
	for _, x := range []struct {
		name   string
		claims func(map[string]any)
		spoil  func(f *Flow, state, code *string)
		want   string
	}{
		{"another state", nil, func(_ *Flow, state, _ *string) { *state += "x" }, "not sent"},
		{"no state", nil, func(_ *Flow, state, _ *string) { *state = "" }, "not sent"},
		{"another code", nil, func(_ *Flow, _, code *string) { *code = "guess" }, "invalid_grant"},
		{"no code", nil, func(_ *Flow, _, code *string) { *code = "" }, "no code"},
		{"another verifier", nil, func(f *Flow, _, _ *string) { f.Verifier += "x" }, "invalid_grant"},
		{"too late", nil, func(f *Flow, _, _ *string) { f.Expires = time.Now().Add(-time.Second) }, "too long"},
		{"another nonce", func(m map[string]any) { m["nonce"] = "x" }, nil, "not made for this login"},
		{"no nonce", func(m map[string]any) { delete(m, "nonce") }, nil, "not made for this login"},
		{"another audience", func(m map[string]any) { m["aud"] = "app" }, nil, "aud"},
		{"two audiences", func(m map[string]any) { m["aud"] = []string{"console", "app"} }, nil, "another party"},
		{"another party", func(m map[string]any) { m["azp"] = "app" }, nil, "another party"},
		{"another issuer", func(m map[string]any) { m["iss"] = "https://evil.example" }, nil, "iss"},
		{"expired", func(m map[string]any) { m["exp"] = time.Now().Add(-time.Hour).Unix() }, nil, "exp"},
		{"for ever", func(m map[string]any) { delete(m, "exp") }, nil, "no exp"},
		{"nobody", func(m map[string]any) { delete(m, "sub") }, nil, "no text in its claim"},
	} {
		f := i.begin(p, c)
		state, code := f.State, "the code"
		if x.spoil != nil {
			x.spoil(f, &state, &code)
		}
		i.claims = x.claims
		if roles, err := p.Finish(t.Context(), c, "", f, state, code); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, %v", x.name, roles, err)
		}
	}
	i.claims = func(m map[string]any) { m["sub"] = "root@corp.example" }
	f = i.begin(p, c)
	if roles, err := p.Finish(t.Context(), c, "", f, f.State, "the code"); err != nil || len(roles) != 0 {
		t.Errorf("root: %v, %v", roles, err)
	}
	i.claims = nil
	for name, answer := range map[string]func(http.ResponseWriter){
		"no token": func(w http.ResponseWriter) { fmt.Fprint(w, `{}`) },
		"nonsense": func(w http.ResponseWriter) { fmt.Fprint(w, `<html>`) },
		"too long": func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("x", maxDocument+1)) },
		"elsewhere": func(w http.ResponseWriter) {
			w.Header().Set("Location", i.server.URL+"/keys")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		i.answer = answer
		f := i.begin(p, c)
		if roles, err := p.Finish(t.Context(), c, "hidden", f, f.State, "the code"); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, %v", name, roles, err)
		}
	}
}

// TestKeys: keys are fetched when there is a token of a new one, and not for each that nobody has signed (2).
func TestKeys(t *testing.T) {
	i := newIssuer(t)
	v, err := jwt.New(jwt.Config{Issuer: i.server.URL, Audience: "db", KeysURL: i.server.URL + "/keys"}, NewKeys(nil))
	if err != nil {
		t.Fatal(err)
	}
	token := func() string {
		return i.signed(map[string]any{"iss": i.server.URL, "aud": "db", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	}
	good := token()
	for range 3 {
		if err := v.Check(t.Context(), good, "ann", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if n := i.asks["/keys"]; n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	i.newKey("k2")
	for range 20 {
		if v.Check(t.Context(), token(), "ann", time.Now()) == nil {
			t.Fatal("a key was fetched at once again")
		}
	}
	if n := i.asks["/keys"]; n != 1 {
		t.Errorf("unknown keys had the keys fetched %d times", n)
	}
}

// TestCache: documents are kept, asked for again when they are old or lack something, but not at once, and outlive a provider that is
// down for a day (2).
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, down, version := 0, false, 1
		c := &cache[int]{
			client: newClient(roundTripper(func(*http.Request) (*http.Response, error) {
				asked++
				if down {
					return nil, fmt.Errorf("down")
				}
				w := httptest.NewRecorder()
				fmt.Fprint(w, version)
				return w.Result(), nil
			})),
			read: func(_ string, b []byte) (n int, err error) { _, err = fmt.Sscan(string(b), &n); return },
		}
		get := func(lacks bool) (int, error) {
			return c.get(t.Context(), "https://x.example", func(int) bool { return lacks })
		}
		step := func(name string, lacks bool, want, wantAsked int) {
			t.Helper()
			if n, err := get(lacks); (err != nil) != (want == 0) || n != want && want != 0 || asked != wantAsked {
				t.Errorf("%s: %d, %v, asked %d times", name, n, err, asked)
			}
		}
		step("first", false, 1, 1)
		version = 2
		step("kept", false, 1, 1)
		step("lacks something, at once", true, 1, 1)
		time.Sleep(retryAfter)
		step("lacks something", true, 2, 2)
		down = true
		time.Sleep(freshFor)
		step("old, and down", false, 2, 3)
		step("down, at once", false, 2, 3)
		time.Sleep(retryAfter)
		step("down, later", false, 2, 4)
		time.Sleep(usableFor)
		step("down for a day", false, 0, 5)
		step("down for a day, at once", false, 0, 5)
		down = false
		time.Sleep(retryAfter)
		step("back", false, 2, 6)
		for n := range 3 * maxDocuments {
			_, _ = c.get(t.Context(), fmt.Sprintf("https://%d.example", n), nil)
		}
		if len(c.by) > maxDocuments {
			t.Errorf("%d documents are kept", len(c.by))
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFetchRefuses: addresses in clear, documents of others, and those that are too long are refused (1).
func TestFetchRefuses(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://id.example": true, "https://id.example/x?y=z": true, "http://localhost:1/": true, "http://127.0.0.1:1": true, "http://[::1]:1": true,
		"http://id.example": false, "http://127.0.0.1.evil.example": false, "ftp://id.example": false, "https://": false, "id.example": false,
		"https://a:b@id.example": false, "https://id.example#x": false, "file:///etc/passwd": false, "\x00": false,
	} {
		if err := jwt.CheckURL(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	served := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved"+wellKnown {
			http.Redirect(w, r, wellKnown, http.StatusFound)
			return
		}
		fmt.Fprint(w, served)
	}))
	defer srv.Close()
	own := func(issuer, token string) string {
		return fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"https://id.example/a","token_endpoint":%q,"jwks_uri":"https://id.example/k"}`, issuer, token)
	}
	for name, x := range map[string]struct{ provider, served string }{
		"another issuer": {srv.URL, own("https://evil.example", "https://id.example/t")},
		"in clear":       {srv.URL, own(srv.URL, "http://id.example/t")},
		"no address":     {srv.URL, own(srv.URL, "")},
		"nonsense":       {srv.URL, "<html>"},
		"too long":       {srv.URL, own(srv.URL, "https://id.example/t") + strings.Repeat(" ", maxDocument)},
		"moved":          {srv.URL + "/moved", own(srv.URL+"/moved", "https://id.example/t")},
	} {
		served = x.served
		if to, _, err := NewProvider(nil).Begin(t.Context(), &Config{Provider: x.provider, ClientID: "c", Redirect: "https://db.example/"}); err == nil {
			t.Errorf("%s: sent to %s", name, to)
		}
	}
	served = own(srv.URL, "https://id.example/t")
	if _, _, err := NewProvider(nil).Begin(t.Context(), &Config{Provider: srv.URL + "/", ClientID: "c", Redirect: "https://db.example/"}); err != nil {
		t.Errorf("a provider with a slash behind it: %v", err)
	}
}
