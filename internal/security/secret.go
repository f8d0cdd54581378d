package security

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// OIDCSecret is the file with the secret that an identity provider has given the console.
const OIDCSecret = "oidc.secret"

// OIDCSecret returns the secret that an identity provider has given the console, "" if there is no file. It is read each time, so
// that another holds at once; the file must be private, like a key.
func (n *Node) OIDCSecret() (string, error) {
	fsys := n.source.fs
	if fsys == nil { // the certificates come from no directory
		return "", nil
	}
	path := fsys.PathJoin(n.source.dir, OIDCSecret)
	b, err := readFile(fsys, path, true)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", fmt.Errorf("%s must hold the secret in one line", path)
	}
	return secret, nil
}
