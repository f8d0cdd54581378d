package security

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// readCerts reads a file of certificates.
func readCerts(fsys fs.FS, path string) ([]*x509.Certificate, error) {
	rest, err := readFile(fsys, path, false)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("%s holds no certificate in PEM format", path)
	}
	return certs, nil
}

// readSigner reads a private key in one of the formats in use: PKCS 8, SEC 1 or
// PKCS 1.
func readSigner(fsys fs.FS, path string) (crypto.Signer, error) {
	b, err := readFile(fsys, path, true)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if s, ok := key.(crypto.Signer); ok {
				return s, nil
			}
		case "EC PRIVATE KEY":
			return wrapKey(path)(x509.ParseECPrivateKey(block.Bytes))
		case "RSA PRIVATE KEY":
			return wrapKey(path)(x509.ParsePKCS1PrivateKey(block.Bytes))
		case "ENCRYPTED PRIVATE KEY":
			return nil, fmt.Errorf("%s is encrypted with a password: that is not supported", path)
		}
	}
	return nil, fmt.Errorf("%s holds no private key in PEM format", path)
}

// wrapKey names the file in errors of parsing it.
func wrapKey(path string) func(crypto.Signer, error) (crypto.Signer, error) {
	return func(s crypto.Signer, err error) (crypto.Signer, error) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
}

// caKeyWord stands for the file of the CA's key in commands that messages suggest.
const caKeyWord = "CA-KEY"

// command returns a command that makes certificates, as messages suggest it.
func command(what, dir string) string {
	return fmt.Sprintf("lichen cert %s --certs-dir=%s --ca-key=%s", what, shellQuote(dir), caKeyWord)
}

// source says where a certificate and its key are, and what makes them.
type source struct {
	fs            fs.FS
	dir           string
	ca, cert, key string // paths
	create        string // a command
}

func newSource(fsys fs.FS, dir, cert, key, create string) source {
	return source{
		fs: fsys, dir: dir, create: command(create, dir),
		ca: fsys.PathJoin(dir, CACert), cert: fsys.PathJoin(dir, cert), key: fsys.PathJoin(dir, key),
	}
}

func nodeSource(fsys fs.FS, dir string) source {
	return newSource(fsys, dir, NodeCert, NodeKey, "create-node HOST...")
}

func clientSource(fsys fs.FS, dir, user string) source {
	return newSource(fsys, dir, ClientCert(user), ClientKey(user), "create-client "+shellQuote(user))
}

// bundle is what a node or a client has: the CA, its certificate and its key.
type bundle struct {
	cert  tls.Certificate
	roots *x509.CertPool
	// expires is when the first of them does.
	expires time.Time
}

// load reads a certificate, its key and the CA, and checks that they go together
// and are good for the usages.
func (s source) load(usages ...x509.ExtKeyUsage) (*bundle, error) {
	cas, err := readCerts(s.fs, s.ca)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the CA's certificate %s is missing: copy it from the directory where it was made, or run '%s' if there is no CA yet",
			s.ca, command("create-ca", s.dir))
	} else if err != nil {
		return nil, err
	}
	certPEM, err := readFile(s.fs, s.cert, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: run '%s'", s.cert, s.create)
	} else if err != nil {
		return nil, err
	}
	keyPEM, err := readFile(s.fs, s.key, true)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s, the key of %s, is missing: run '%s --overwrite'", s.key, s.cert, s.create)
	} else if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key (%s): run '%s --overwrite'",
			s.cert, s.key, strings.TrimPrefix(err.Error(), "tls: "), s.create)
	}
	b := &bundle{cert: cert, roots: x509.NewCertPool(), expires: cert.Leaf.NotAfter}
	for _, ca := range cas {
		b.roots.AddCert(ca)
	}
	for _, u := range usages {
		if err := b.verify(u); err != nil {
			return nil, s.explain(err)
		}
	}
	return b, nil
}

// verify checks that the CA signed the certificate, that both are valid now, and
// that the certificate may be used so.
func (b *bundle) verify(usage x509.ExtKeyUsage) error {
	opts := x509.VerifyOptions{Roots: b.roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage}}
	for _, der := range b.cert.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		opts.Intermediates.AddCert(c)
	}
	chains, err := b.cert.Leaf.Verify(opts)
	if err != nil {
		return err
	}
	for _, c := range chains[0] {
		if c.NotAfter.Before(b.expires) {
			b.expires = c.NotAfter
		}
	}
	return nil
}

// explain says what to do about an error of verify.
func (s source) explain(err error) error {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%s was not signed by the CA in %s: take both from the same cluster, or run '%s --overwrite'", s.cert, s.ca, s.create)
	case !errors.As(err, &invalid) || invalid.Cert == nil:
	case invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("%s was made for another use: run '%s --overwrite'", s.cert, s.create)
	case invalid.Reason == x509.Expired:
		return s.explainTime(invalid.Cert)
	}
	return fmt.Errorf("%s: %w", s.cert, err)
}

// explainTime says what to do about a certificate that is not valid now.
func (s source) explainTime(c *x509.Certificate) error {
	path, remedy := s.cert, fmt.Sprintf("run '%s --overwrite'", s.create)
	if c.IsCA {
		path, remedy = s.ca, fmt.Sprintf("run '%s --overwrite', then make all other certificates anew", command("create-ca", s.dir))
	}
	if now := time.Now(); now.Before(c.NotBefore) {
		return fmt.Errorf("%s is valid from %s on, but here it is %s: set this machine's clock", path, date(c.NotBefore), date(now))
	}
	return fmt.Errorf("%s expired on %s: %s", path, date(c.NotAfter), remedy)
}
