package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/idp"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

const (
	// oidcPrefix is that of the pages of a login at an identity provider: the browser leaves at one, and comes back at the other.
	oidcPrefix   = "/oidc/v1/"
	oidcLogin    = oidcPrefix + "login"
	oidcCallback = oidcPrefix + "callback"

	// flowCookie is the cookie by which a browser keeps what it began a login with.
	flowCookie = "lichen_oidc"
	// maxFlows bounds how many browsers' logins talk with the provider at a time.
	maxFlows = 16
	// defaultButton is what the login page calls the login at the provider.
	defaultButton = "Log in with OpenID Connect"
)

// oidc is the login at an identity provider.
type oidc struct {
	provider *idp.Provider
	// seal encrypts what browsers keep, so that nothing has to be kept of those that never come back.
	seal  cipher.AEAD
	flows chan struct{} // a place for each that may talk with the provider
}

func newOIDC(transport http.RoundTripper) *oidc {
	var key [32]byte
	_, _ = rand.Read(key[:]) // which never fails
	block, err := aes.NewCipher(key[:])
	must.NoError(err, "a key of 32 bytes")
	seal, err := cipher.NewGCM(block)
	must.NoError(err, "AES-GCM")
	return &oidc{provider: idp.NewProvider(transport), seal: seal, flows: make(chan struct{}, maxFlows)}
}

// sealed returns a flow as the browser keeps it.
func (o *oidc) sealed(f *idp.Flow) (string, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, o.seal.NonceSize())
	_, _ = rand.Read(nonce) // which never fails
	return base64.RawURLEncoding.EncodeToString(o.seal.Seal(nonce, nonce, b, []byte(flowCookie))), nil
}

var errFlow = errors.New("the browser has begun no login at this node")

// opened reads what sealed has returned.
func (o *oidc) opened(text string) (*idp.Flow, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < o.seal.NonceSize() {
		return nil, errFlow
	}
	n := o.seal.NonceSize()
	b, err = o.seal.Open(nil, b[:n], b[n:], []byte(flowCookie))
	if err != nil {
		return nil, errFlow
	}
	f := &idp.Flow{}
	return f, json.Unmarshal(b, f)
}

// oidcConfig returns how browsers log in at the provider; nil: they don't.
func (c *Console) oidcConfig() *idp.Config {
	v := c.o.Node.Settings.Get()
	return oidcConfigOf(v, c.o.Secure())
}

func oidcConfigOf(v *setting.Values, secure bool) *idp.Config {
	cfg := &idp.Config{
		Provider: v.OIDCProvider, ClientID: v.OIDCClient, Redirect: v.OIDCRedirect, Scopes: v.OIDCScopes, Claim: v.OIDCClaim, Map: v.OIDCMap,
	}
	if !secure || !v.OIDC || !cfg.Complete() {
		return nil
	}
	return cfg
}

// LoginOptions say how one may log in.
type LoginOptions struct {
	// Provider is what the login at an identity provider is called, "" if there is none; ProviderPath is where it begins.
	Provider     string `json:"provider"`
	ProviderPath string `json:"provider_path"`
}

func getLoginOptions(c *Console, _ *request) (any, error) {
	if c.oidcConfig() == nil {
		return &LoginOptions{}, nil
	}
	o := &LoginOptions{Provider: c.o.Node.Settings.Get().OIDCButton, ProviderPath: oidcLogin}
	if o.Provider == "" {
		o.Provider = defaultButton
	}
	return o, nil
}

// serveOIDC leads a browser through the login at the provider.
func (c *Console) serveOIDC(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	cfg := c.oidcConfig()
	if cfg == nil {
		http.NotFound(w, r)
		return
	}
	select {
	case c.oidc.flows <- struct{}{}:
		defer func() { <-c.oidc.flows }()
	default:
		http.Error(w, "too many log in at once: try again in a moment", http.StatusServiceUnavailable)
		return
	}
	leave := c.beginOIDC
	if r.URL.Path == oidcCallback {
		leave = c.endOIDC
	}
	to, err := leave(w, r, cfg)
	if err != nil {
		c.o.Logger.Warn("login at the identity provider failed", "remote", r.RemoteAddr, "err", err)
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, loginFailedPage)
		return
	}
	http.Redirect(w, r, to, http.StatusFound)
}

// loginFailedPage tells no more than that: the node's log has the reason.
const loginFailedPage = `<!DOCTYPE html><html lang="en"><title>Lichen</title><h1>The login failed</h1>
<p>The log of the node says why. <a href="/">Try again</a></p></html>
`

// beginOIDC sends a browser to the provider.
func (c *Console) beginOIDC(w http.ResponseWriter, r *http.Request, cfg *idp.Config) (to string, err error) {
	to, flow, err := c.oidc.provider.Begin(r.Context(), cfg)
	if err != nil {
		return "", err
	}
	kept, err := c.oidc.sealed(flow)
	if err != nil {
		return "", err
	}
	setFlow(w, kept, int(idp.FlowTimeout/time.Second))
	return to, nil
}

// setFlow sets the cookie of a login that has begun. It comes with the navigation that leads back from the provider's site, which Strict
// would not let it.
func setFlow(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: flowCookie, Value: value, Path: oidcCallback, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: seconds,
	})
}

// endOIDC logs a browser in that comes back from the provider.
func (c *Console) endOIDC(w http.ResponseWriter, r *http.Request, cfg *idp.Config) (to string, err error) {
	cookie, err := r.Cookie(flowCookie)
	if err != nil {
		return "", errFlow
	}
	setFlow(w, "", -1) // it is good for one try
	flow, err := c.oidc.opened(cookie.Value)
	if err != nil {
		return "", err
	}
	q := r.URL.Query()
	if e := q.Get("error"); e != "" {
		return "", fmt.Errorf("the provider refuses: %.100q", e)
	}
	secret, err := c.o.OIDCSecret()
	if err != nil {
		return "", err
	}
	l := c.loginFrom(r, "")
	roles, err := c.oidc.provider.Finish(r.Context(), cfg, secret, flow, q.Get("state"), q.Get("code"))
	if err != nil {
		return "", c.o.Node.SQLServer().RefuseLogin(l, err.Error())
	}
	role, err := c.firstRole(roles)
	if err != nil {
		return "", c.o.Node.SQLServer().RefuseLogin(l, err.Error())
	}
	l.User = role.Name
	if err := c.o.Node.SQLServer().CheckVouched(r.Context(), l); err != nil {
		return "", err
	}
	c.admit(w, r, role, true)
	return "/", nil
}

// firstRole returns the first of some roles that is there and may log in.
func (c *Console) firstRole(names []string) (*catalog.Role, error) {
	srv := c.o.Node.SQL.Server()
	if srv == nil {
		return nil, errNotServing
	}
	for _, name := range names {
		if role := srv.Role(name); role != nil && role.Login {
			return role, nil
		}
	}
	return nil, fmt.Errorf("none of the %d roles that the token is mapped to is there and may log in", len(names))
}

// loginFrom is a login of a request.
func (c *Console) loginFrom(r *http.Request, user string) *pgwire.Login {
	return &pgwire.Login{User: user, Database: defaultDatabase, Remote: remoteOf(r), Server: localOf(r), Certificate: c.o.Certificate(r)}
}
