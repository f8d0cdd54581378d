package idp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/config/jwt"
)

// Config says how a browser logs in at a provider.
type Config struct {
	// Provider is the provider's issuer, below which it describes itself.
	Provider string
	ClientID string
	// Redirect is where the browser comes back to.
	Redirect string
	// Scopes are what is asked for, between blanks; openid is always.
	Scopes string
	// Claim and Map say as which roles a token lets in: see jwt.Config.
	Claim, Map string
}

// Complete reports whether there is all that a login needs.
func (c *Config) Complete() bool { return c.Provider != "" && c.ClientID != "" && c.Redirect != "" }

// Flow is what a browser keeps between the beginning of its login and its end. Nobody else may learn of it.
type Flow struct {
	// State shows that the browser that comes back is the one that was sent, Nonce that the token was made for that, Verifier
	// (PKCE) that the code is used by who asked for it.
	State, Nonce, Verifier string
	Expires                time.Time
}

// FlowTimeout bounds the time that a user has for the login at the provider.
const FlowTimeout = 10 * time.Minute

// maxCode bounds a code of the provider, in bytes.
const maxCode = 4 << 10

// description is what a provider says of itself.
type description struct {
	Issuer       string   `json:"issuer"`
	Authorize    string   `json:"authorization_endpoint"`
	Token        string   `json:"token_endpoint"`
	Keys         string   `json:"jwks_uri"`
	TokenMethods []string `json:"token_endpoint_auth_methods_supported"`
}

// Provider leads browsers through logins. It may be used from any goroutine.
type Provider struct {
	client       *http.Client
	descriptions cache[*description]
	keys         *Keys
}

// NewProvider returns a provider, of whatever configuration. transport is nil for the usual one.
func NewProvider(transport http.RoundTripper) *Provider {
	client := newClient(transport)
	return &Provider{client, cache[*description]{client: client, read: readDescription}, NewKeys(transport)}
}

// wellKnown is where a provider describes itself, below its issuer.
const wellKnown = "/.well-known/openid-configuration"

func readDescription(address string, body []byte) (*description, error) {
	d := &description{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, fmt.Errorf("%s shows no description of an OpenID provider: %w", address, err)
	}
	if d.Issuer+wellKnown != address && strings.TrimSuffix(d.Issuer, "/")+wellKnown != address {
		return nil, fmt.Errorf("%s describes another provider, %q", address, d.Issuer)
	}
	for _, u := range []string{d.Authorize, d.Token, d.Keys} {
		if err := jwt.CheckURL(u); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", address, u, err)
		}
	}
	return d, nil
}

func (p *Provider) describe(ctx context.Context, c *Config) (*description, error) {
	return p.descriptions.get(ctx, strings.TrimSuffix(c.Provider, "/")+wellKnown, nil)
}

// Begin begins a login: it returns the address at the provider that the browser is sent to.
func (p *Provider) Begin(ctx context.Context, c *Config) (address string, f *Flow, err error) {
	d, err := p.describe(ctx, c)
	if err != nil {
		return "", nil, err
	}
	u, err := url.Parse(d.Authorize)
	if err != nil {
		return "", nil, err
	}
	f = &Flow{State: randomText(), Nonce: randomText(), Verifier: randomText(), Expires: time.Now().Add(FlowTimeout)}
	challenge := sha256.Sum256([]byte(f.Verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": c.ClientID, "redirect_uri": c.Redirect, "scope": scopes(c.Scopes), "state": f.State, "nonce": f.Nonce,
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String(), f, nil
}

func scopes(text string) string {
	list := strings.Fields(text)
	if !slices.Contains(list, "openid") {
		list = append([]string{"openid"}, list...)
	}
	return strings.Join(list, " ")
}

// randomText returns 256 bits that nobody guesses, as text.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // which never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Finish ends a login with what the browser has brought back: it returns the roles as which the token lets in, the first that the map
// has first. secret is the client's, "" if it has none.
func (p *Provider) Finish(ctx context.Context, c *Config, secret string, f *Flow, state, code string) (roles []string, err error) {
	switch now := time.Now(); {
	case subtle.ConstantTimeCompare([]byte(state), []byte(f.State)) != 1:
		return nil, errors.New("the browser was not sent to the provider from here")
	case now.After(f.Expires):
		return nil, errors.New("the login took too long")
	case code == "" || len(code) > maxCode:
		return nil, errors.New("the provider has sent no code")
	}
	d, err := p.describe(ctx, c)
	if err != nil {
		return nil, err
	}
	token, err := p.exchange(ctx, d, c, secret, f, code)
	if err != nil {
		return nil, err
	}
	v, err := jwt.New(jwt.Config{Issuer: d.Issuer, Audience: c.ClientID, KeysURL: d.Keys, Claim: c.Claim, Map: c.Map}, p.keys)
	if err != nil {
		return nil, err
	}
	who, err := v.Verify(ctx, token, time.Now())
	switch {
	case err != nil:
		return nil, err
	case subtle.ConstantTimeCompare([]byte(who.Nonce), []byte(f.Nonce)) != 1:
		return nil, errors.New("the token was not made for this login")
	case who.AuthorizedParty != "" && who.AuthorizedParty != c.ClientID, who.AuthorizedParty == "" && who.Audiences > 1:
		return nil, errors.New("the token was issued to another party")
	}
	return v.Roles(who), nil
}

// exchange has the provider give the token for a code.
func (p *Provider) exchange(ctx context.Context, d *description, c *Config, secret string, f *Flow, code string) (token string, err error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {c.Redirect}, "client_id": {c.ClientID}, "code_verifier": {f.Verifier}}
	inForm := secret != "" && slices.Contains(d.TokenMethods, "client_secret_post") && !slices.Contains(d.TokenMethods, "client_secret_basic")
	if inForm {
		form.Set("client_secret", secret)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if secret != "" && !inForm {
		r.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(secret))
	}
	body, status, err := fetch(p.client, r)
	if err != nil {
		return "", err
	}
	var answer struct {
		Error string `json:"error"`
		Token string `json:"id_token"`
	}
	err = json.Unmarshal(body, &answer)
	switch {
	case status != http.StatusOK:
		return "", fmt.Errorf("the provider refuses the code, with status %d: %.100q", status, answer.Error)
	case err != nil:
		return "", errors.New("the provider's answer to the code can't be read")
	case answer.Token == "":
		return "", errors.New("the provider has sent no id_token")
	}
	return answer.Token, nil
}
