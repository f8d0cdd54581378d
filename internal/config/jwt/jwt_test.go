package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	gojwt "github.com/go-jose/go-jose/v4/jwt"
)

// issuer signs tokens.
type issuer struct {
	key  *ecdsa.PrivateKey
	keys string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &k.PublicKey, KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{k, string(b)}
}

func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	return sign(t, jose.ES256, jose.JSONWebKey{Key: i.key, KeyID: "k1"}, claims)
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := gojwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var now = time.Unix(1_700_000_000, 0)

// claims are those of a token that counts, with some changed; nil: left out.
func claims(change map[string]any) map[string]any {
	c := map[string]any{"iss": "https://id.example", "aud": []string{"other", "db"}, "sub": "eve", "exp": now.Add(time.Hour).Unix(), "nbf": now.Unix(), "groups": []string{"staff", "eng"}}
	for k, v := range change {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// TestCheck: a token that is right in all lets its bearer in; one that is wrong in anything does not.
func TestCheck(t *testing.T) {
	i, other := newIssuer(t), newIssuer(t)
	c := Config{Issuer: "https://id.example", Audience: "db", Keys: i.keys}
	v, err := New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	unsigned := "eyJhbGciOiJub25lIn0." + strings.Split(i.token(t, claims(nil)), ".")[1] + "."
	for _, test := range []struct{ name, token, role, want string }{
		{"right", i.token(t, claims(nil)), "eve", ""},
		{"other role", i.token(t, claims(nil)), "bob", "not mapped"},
		{"audience as text", i.token(t, claims(map[string]any{"aud": "db"})), "eve", ""},
		{"expired", i.token(t, claims(map[string]any{"exp": at(-2 * time.Minute)})), "eve", "expired"},
		{"within the leeway", i.token(t, claims(map[string]any{"exp": at(-30 * time.Second)})), "eve", ""},
		{"for ever", i.token(t, claims(map[string]any{"exp": nil})), "eve", "no exp claim"},
		{"not yet", i.token(t, claims(map[string]any{"nbf": at(time.Hour)})), "eve", "not valid yet"},
		{"other issuer", i.token(t, claims(map[string]any{"iss": "https://evil.example"})), "eve", "iss"},
		{"other audience", i.token(t, claims(map[string]any{"aud": "shop"})), "eve", "aud"},
		{"no audience", i.token(t, claims(map[string]any{"aud": nil})), "eve", "aud"},
		{"nobody", i.token(t, claims(map[string]any{"sub": nil})), "eve", `no text in its claim "sub"`},
		{"a number", i.token(t, claims(map[string]any{"sub": 7})), "eve", ""},
		{"root", i.token(t, claims(map[string]any{"sub": "root"})), "root", "not mapped"},
		{"other key", other.token(t, claims(nil)), "eve", "signature"},
		{"symmetric", sign(t, jose.HS256, []byte(strings.Repeat("k", 32)), claims(nil)), "eve", "no token"},
		{"unsigned", unsigned, "eve", "no token"},
		{"changed", strings.Replace(i.token(t, claims(nil)), ".", ".e30", 1), "eve", "signature"},
		{"nothing", "", "eve", "no token"},
		{"long", strings.Repeat("x", maxToken+1), "eve", "longer than"},
	} {
		err := v.Check(t.Context(), test.token, test.role, now)
		if test.name == "a number" {
			test.want = "claim"
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	for _, c := range []Config{{}, {Issuer: c.Issuer, Keys: c.Keys}, {Audience: c.Audience, Keys: c.Keys}, {Issuer: c.Issuer, Audience: c.Audience}} {
		v, err := New(c, nil)
		if err != nil || v.Check(t.Context(), i.token(t, claims(nil)), "eve", now) == nil {
			t.Errorf("%+v lets somebody in (%v)", c, err)
		}
	}
}

// TestMap: a claim lets in as the roles that the map has for it.
func TestMap(t *testing.T) {
	i := newIssuer(t)
	check := func(claim, text string, change map[string]any, role string) error {
		v, err := New(Config{Issuer: "https://id.example", Audience: "db", Keys: i.keys, Claim: claim, Map: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v.Check(t.Context(), i.token(t, claims(change)), role, now)
	}
	mail := map[string]any{"email": "ann@corp.example"}
	const lines = "# who\nboss@corp.example admin_user\n\"/(.*)@corp\\.example\" \\1\n"
	for _, test := range []struct {
		claim, text string
		change      map[string]any
		role        string
		ok          bool
	}{
		{"groups", "staff clerk", nil, "clerk", true},
		{"groups", "staff clerk", nil, "staff", false},
		{"groups", "", nil, "eng", true},
		{"email", lines, mail, "ann", true},
		{"email", lines, mail, "bob", false},
		{"email", lines, map[string]any{"email": "boss@corp.example"}, "admin_user", true},
		{"email", lines, map[string]any{"email": "ann@corp.example.evil"}, "ann", false},
		{"email", lines, map[string]any{"email": "root@corp.example"}, "root", false},
	} {
		if err := check(test.claim, test.text, test.change, test.role); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
	for text, want := range map[string]string{
		"one": "two fields", "a b c": "two fields", "/( x": "line 1", "a root": "certificate", `a \1`: "group", `/a \1`: "group",
	} {
		if err := CheckMap(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeys: what is no set of public keys is refused.
func TestKeys(t *testing.T) {
	i := newIssuer(t)
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key, KeyID: "k1"}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"": true, i.keys: true, "{}": false, "[]": false, "text": false, string(private): false,
		`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`: false,
	} {
		if err := CheckKeys(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
