package password

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
)

const (
	// prefix is what verifiers begin with.
	prefix = "SCRAM-SHA-256$"
	// iterations is how often a new verifier hashes, saltBytes how long its salt is: PostgreSQL's.
	iterations = 4096
	saltBytes  = 16
	// maxIterations bounds what a verifier that was made elsewhere has clients do.
	maxIterations = 10_000_000
)

// Verifier is what is stored of a password.
type Verifier struct{ stored scram.StoredCredentials }

// New makes a verifier of a password.
func New(password string) (Verifier, error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return Verifier{}, err
	}
	return derive(password, scram.KeyFactors{Salt: string(salt), Iters: iterations})
}

// derive computes the verifier of a password. What SASLprep refuses is taken as it is.
func derive(password string, f scram.KeyFactors) (Verifier, error) {
	c, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		if c, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return Verifier{}, err
		}
	}
	s, err := c.GetStoredCredentialsWithError(f)
	return Verifier{s}, err
}

// Looks reports whether a text is meant to be a verifier rather than a password.
func Looks(text string) bool {
	_, err := Parse(text)
	return err == nil
}

// Parse reads the text of a verifier.
func Parse(text string) (Verifier, error) {
	bad := fmt.Errorf("malformed SCRAM-SHA-256 verifier")
	rest, ok := strings.CutPrefix(text, prefix)
	head, keys, ok2 := strings.Cut(rest, "$")
	iters, salt, ok3 := strings.Cut(head, ":")
	stored, server, ok4 := strings.Cut(keys, ":")
	n, err := strconv.Atoi(iters)
	if !ok || !ok2 || !ok3 || !ok4 || err != nil || n < 1 || n > maxIterations {
		return Verifier{}, bad
	}
	var parts [3][]byte
	for i, s := range [...]string{salt, stored, server} {
		if parts[i], err = base64.StdEncoding.DecodeString(s); err != nil {
			return Verifier{}, bad
		}
	}
	if len(parts[0]) == 0 || len(parts[1]) != sha256.Size || len(parts[2]) != sha256.Size {
		return Verifier{}, bad
	}
	return Verifier{scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(parts[0]), Iters: n}, StoredKey: parts[1], ServerKey: parts[2],
	}}, nil
}

// String returns the text that is stored.
func (v Verifier) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return prefix + strconv.Itoa(v.stored.Iters) + ":" + b64([]byte(v.stored.Salt)) + "$" + b64(v.stored.StoredKey) + ":" + b64(v.stored.ServerKey)
}

// Matches reports whether a password is the one that the verifier was made of.
func (v Verifier) Matches(password string) bool {
	got, err := derive(password, v.stored.KeyFactors)
	return err == nil && hmac.Equal(got.stored.StoredKey, v.stored.StoredKey)
}

// Mock returns a verifier that no password matches, with a salt that depends on the secret of a cluster and the
// name of the role: who tries names can't tell those that have a password.
func Mock(secret []byte, role string) Verifier {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(role))
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // which never fails
	return Verifier{scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(mac.Sum(nil)[:saltBytes]), Iters: iterations}, StoredKey: key, ServerKey: key,
	}}
}
