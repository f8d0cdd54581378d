// Package jwt checks tokens (JSON Web Tokens, RFC 7519) by which an identity provider, as of OpenID Connect, vouches for
// who logs in.
//
// Above it: config/setting (the cluster settings that say whose tokens count), idp (which has keys from an address), pgwire (logins). Below it:
// config/rulelines, and go-jose for signatures ([0025](../../../docs/decisions/0025-tokens.md)). Reading order: jwt.go, rolemap.go.
//
// Invariants:
//
//  1. A token lets somebody in only if a key of the setting has signed it, with an algorithm that needs a public key, and issuer,
//     audience and times are right (Verifier.Check; TestCheck).
//  2. It lets him in as the roles that the map has for his claim, and no others (roleMap.allows; TestMap).
//
// A Verifier does not change.
package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	gojwt "github.com/go-jose/go-jose/v4/jwt"
)

const (
	// maxToken bounds a token, in bytes: the message that a SQL client sends it in is not longer.
	maxToken = 9 << 10
	// leeway is how far the clocks of the provider and of this machine may be apart.
	leeway = time.Minute
	// defaultClaim says who it is where the setting does not name another claim.
	defaultClaim = "sub"
)

// algorithms are those that tokens may be signed with: whoever can check one cannot sign another.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Config says whose tokens count.
type Config struct {
	Issuer, Audience string
	Keys             string // a JSON Web Key Set
	KeysURL          string // where the issuer shows one: its keys count besides
	Claim            string // that says who it is; empty: sub
	Map              string // from what the claim says to roles
}

// KeySource has the key sets that issuers show at an address.
type KeySource interface {
	// Keys returns the keys at an address. A set without the key of an id is no longer the newest, if there is any.
	Keys(ctx context.Context, url, id string) (jose.JSONWebKeySet, error)
}

// Verifier checks tokens.
type Verifier struct {
	c      Config
	keys   jose.JSONWebKeySet
	source KeySource
	m      roleMap
}

// New returns a verifier of the tokens that c lets count; source has the keys at its KeysURL.
func New(c Config, source KeySource) (*Verifier, error) {
	v := &Verifier{c: c, source: source}
	if v.c.Claim == "" {
		v.c.Claim = defaultClaim
	}
	var err error
	if v.keys, err = parseKeys(c.Keys); err != nil {
		return nil, err
	}
	v.m, err = parseMap(c.Map)
	return v, err
}

// CheckKeys reports what is wrong with a key set.
func CheckKeys(text string) error {
	_, err := parseKeys(text)
	return err
}

// CheckMap reports what is wrong with a map.
func CheckMap(text string) error {
	_, err := parseMap(text)
	return err
}

func parseKeys(text string) (set jose.JSONWebKeySet, err error) {
	if text == "" {
		return set, nil
	}
	return ReadKeys([]byte(text))
}

// ReadKeys reads a key set, which must hold public keys only.
func ReadKeys(text []byte) (set jose.JSONWebKeySet, err error) {
	if err := json.Unmarshal(text, &set); err != nil {
		return set, fmt.Errorf("no JSON Web Key Set, as an issuer shows at its jwks_uri: %w", err)
	}
	if len(set.Keys) == 0 {
		return set, errors.New(`the key set has no keys: it is an object {"keys": […]}`)
	}
	for _, k := range set.Keys {
		if !k.IsPublic() || !k.Valid() {
			return set, fmt.Errorf("the key %q is no public key for signatures: private and symmetric ones don't belong into a setting", k.KeyID)
		}
	}
	return set, nil
}

// Identity is who a token is about.
type Identity struct {
	// Names are what the claim says.
	Names []string
	// Nonce is that of the request for the token, AuthorizedParty whom it was issued to, Audiences how many it is for.
	Nonce, AuthorizedParty string
	Audiences              int
}

// Check returns nil if a token lets its bearer in as a role, and otherwise why not, for the log.
func (v *Verifier) Check(ctx context.Context, token, role string, now time.Time) error {
	who, err := v.Verify(ctx, token, now)
	if err != nil {
		return err
	}
	for _, w := range who.Names {
		if v.m.allows(w, role) {
			return nil
		}
	}
	return fmt.Errorf("the claim %q of the token is not mapped to the role", v.c.Claim)
}

// Roles returns the roles that the map has for who a token is about, the first line that fits first. Which of them there are is
// not known here.
func (v *Verifier) Roles(who *Identity) (out []string) {
	for _, w := range who.Names {
		out = append(out, v.m.roles(w)...)
	}
	return out
}

// Verify returns who a token is about if it counts, and otherwise why not.
func (v *Verifier) Verify(ctx context.Context, token string, now time.Time) (*Identity, error) {
	if v.c.Issuer == "" || v.c.Audience == "" || len(v.keys.Keys) == 0 && v.c.KeysURL == "" {
		return nil, errors.New("the cluster settings server.jwt_authentication.issuer, audience and jwks or jwks_url are not all set")
	}
	if len(token) > maxToken {
		return nil, fmt.Errorf("the token is longer than %d bytes", maxToken)
	}
	t, err := gojwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("no token: %w", err)
	}
	var known gojwt.Claims
	claims := map[string]any{}
	if err := v.claims(ctx, t, &known, &claims); err != nil {
		return nil, err
	}
	if known.Expiry == nil {
		return nil, errors.New("the token has no exp claim: it would never expire")
	}
	expected := gojwt.Expected{Issuer: v.c.Issuer, AnyAudience: gojwt.Audience{v.c.Audience}, Time: now}
	if err := known.ValidateWithLeeway(expected, leeway); err != nil {
		return nil, err
	}
	who := &Identity{Names: valuesOf(claims[v.c.Claim]), Audiences: len(known.Audience)}
	if len(who.Names) == 0 {
		return nil, fmt.Errorf("the token has no text in its claim %q", v.c.Claim)
	}
	who.Nonce, _ = claims["nonce"].(string)
	who.AuthorizedParty, _ = claims["azp"].(string)
	return who, nil
}

// claims checks the signature of a token and reads what it says.
func (v *Verifier) claims(ctx context.Context, t *gojwt.JSONWebToken, known *gojwt.Claims, all *map[string]any) error {
	err := t.Claims(v.keys, all)
	if err != nil && v.c.KeysURL != "" {
		shown, fetching := v.source.Keys(ctx, v.c.KeysURL, t.Headers[0].KeyID)
		if fetching != nil {
			return fmt.Errorf("the issuer's keys can't be had: %w", fetching)
		}
		err = t.Claims(shown, all)
	}
	if err != nil {
		return fmt.Errorf("the signature is of no key of the issuer: %w", err)
	}
	if err := t.UnsafeClaimsWithoutVerification(known); err != nil { // they have been verified
		return fmt.Errorf("malformed claims: %w", err)
	}
	return nil
}

// valuesOf returns the texts of a claim, which may be a list, as of groups.
func valuesOf(claim any) (out []string) {
	switch c := claim.(type) {
	case string:
		if c != "" {
			out = append(out, c)
		}
	case []any:
		for _, x := range c {
			out = append(out, valuesOf(x)...)
		}
	}
	return out
}
