// Package jwt checks tokens (JSON Web Tokens, RFC 7519) by which an identity provider, as of OpenID Connect, vouches for
// who logs in.
//
// Above it: config/setting (the cluster settings that say whose tokens count), pgwire (logins). Below it:
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
	Claim            string // that says who it is; empty: sub
	Map              string // from what the claim says to roles
}

// Verifier checks tokens.
type Verifier struct {
	c    Config
	keys jose.JSONWebKeySet
	m    roleMap
}

// New returns a verifier of the tokens that c lets count.
func New(c Config) (*Verifier, error) {
	v := &Verifier{c: c}
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
	if err := json.Unmarshal([]byte(text), &set); err != nil {
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

// Check returns nil if a token lets its bearer in as a role, and otherwise why not, for the log.
func (v *Verifier) Check(token, role string, now time.Time) error {
	if v.c.Issuer == "" || v.c.Audience == "" || len(v.keys.Keys) == 0 {
		return errors.New("the cluster settings server.jwt_authentication.issuer, audience and jwks are not all set")
	}
	if len(token) > maxToken {
		return fmt.Errorf("the token is longer than %d bytes", maxToken)
	}
	t, err := gojwt.ParseSigned(token, algorithms)
	if err != nil {
		return fmt.Errorf("no token: %w", err)
	}
	var known gojwt.Claims
	claims := map[string]any{}
	if err := t.Claims(v.keys, &claims); err != nil {
		return fmt.Errorf("the signature is of no key of the setting: %w", err)
	}
	if err := t.UnsafeClaimsWithoutVerification(&known); err != nil { // they have been verified
		return fmt.Errorf("malformed claims: %w", err)
	}
	if known.Expiry == nil {
		return errors.New("the token has no exp claim: it would never expire")
	}
	expected := gojwt.Expected{Issuer: v.c.Issuer, AnyAudience: gojwt.Audience{v.c.Audience}, Time: now}
	if err := known.ValidateWithLeeway(expected, leeway); err != nil {
		return err
	}
	who := valuesOf(claims[v.c.Claim])
	if len(who) == 0 {
		return fmt.Errorf("the token has no text in its claim %q", v.c.Claim)
	}
	for _, w := range who {
		if v.m.allows(w, role) {
			return nil
		}
	}
	return fmt.Errorf("the claim %q of the token is not mapped to the role", v.c.Claim)
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
