package security

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/lichendb/lichen/internal/fs"
)

// Client says where the certificates of a client are.
type Client struct {
	// CA, Cert and Key are paths: libpq's sslrootcert, sslcert and sslkey.
	CA, Cert, Key string
	source        source
}

// ClientFiles returns where a user's certificates lie in dir.
func ClientFiles(fsys fs.FS, dir, user string) Client {
	s := clientSource(fsys, dir, user)
	return Client{CA: s.ca, Cert: s.cert, Key: s.key, source: s}
}

// Check loads the certificates and says what is wrong with them, and what to do
// about it.
func (c Client) Check(user string) error {
	_, err := c.load(user)
	return err
}

func (c Client) load(user string) (*bundle, error) {
	b, err := c.source.load(x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	if cn := b.cert.Leaf.Subject.CommonName; cn != user {
		return nil, fmt.Errorf("%s is made out to %q, not to %q: run '%s --overwrite'", c.Cert, cn, user, c.source.create)
	}
	return b, nil
}

// ClientTLS is for connections of a SQL client as user. The host to be verified,
// ServerName, is left to the caller.
func ClientTLS(dir, user string) (*tls.Config, error) { return ClientTLSFS(fs.Disk(), dir, user) }

// ClientTLSFS is ClientTLS on another file system.
func ClientTLSFS(fsys fs.FS, dir, user string) (*tls.Config, error) {
	b, err := ClientFiles(fsys, dir, user).load(user)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: b.roots, Certificates: []tls.Certificate{b.cert}}, nil
}

// HaveCA reports whether dir has a CA's certificate: whether clients who named no
// directory find what they need to connect securely.
func HaveCA(fsys fs.FS, dir string) bool {
	there, err := exists(fsys, fsys.PathJoin(dir, CACert))
	return there && err == nil
}

// ServerTLS is for connections of a client that shows no certificate, as one with a password: it only verifies the server's.
func ServerTLS(dir string) (*tls.Config, error) {
	fsys := fs.Disk()
	path := fsys.PathJoin(dir, CACert)
	certs, err := readCerts(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	roots := x509.NewCertPool()
	for _, c := range certs {
		roots.AddCert(c)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, nil
}
