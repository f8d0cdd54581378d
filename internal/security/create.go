package security

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/fs"
)

// How long certificates are valid unless the Creator says otherwise.
const (
	DefaultCALifetime = 10 * 365 * 24 * time.Hour
	DefaultLifetime   = 5 * 365 * 24 * time.Hour
)

const (
	// clockSlack is how long before it was made a certificate is valid already:
	// other machines' clocks may be behind.
	clockSlack = 24 * time.Hour
	// minRSA and maxRSA bound the size of RSA keys in bits.
	minRSA, maxRSA = 2048, 8192
	// maxName bounds the name in a certificate, in bytes (X.509's ub-common-name).
	maxName = 64

	// NodeName is the name to which the certificates of nodes are made out, RootName
	// that of the user who operates the cluster.
	NodeName     = "node"
	RootName     = "root"
	organization = "Lichen"
	caName       = "Lichen CA"
)

// Creator makes certificates.
type Creator struct {
	// FS is the file system of the files below; nil means the disk.
	FS fs.FS
	// Dir is the directory of certificates, CAKey the file of the CA's key.
	Dir, CAKey string
	// Lifetime is how long the certificate is valid; 0 means the default, at most
	// as long as the CA.
	Lifetime time.Duration
	// RSABits is the size of an RSA key; 0 means an ECDSA key on the curve P-256.
	RSABits int
	// PKCS8 writes a client's key in binary form too, as Java reads it.
	PKCS8 bool
	// Overwrite replaces files that are there.
	Overwrite bool
	// Now is the time of creation; zero means the present.
	Now time.Time
	// Wrote, if set, is called with the path of each file that was made.
	Wrote func(path string)
}

// CA makes the CA's certificate and key.
func (c Creator) CA() error {
	c.fill()
	cert := c.FS.PathJoin(c.Dir, CACert)
	if err := c.checkFree("create-ca", cert, c.CAKey); err != nil {
		return err
	}
	key, err := c.newKey()
	if err != nil {
		return err
	}
	tmpl, err := c.template(caName, DefaultCALifetime)
	if err != nil {
		return err
	}
	tmpl.IsCA, tmpl.BasicConstraintsValid, tmpl.MaxPathLenZero = true, true, true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	return c.sign(tmpl, tmpl, key, key, cert, c.CAKey)
}

// Node makes the certificate and key of a node that is reached under the given
// host names and IP addresses. The node uses them towards clients and towards
// other nodes.
func (c Creator) Node(hosts []string) error {
	c.fill()
	if len(hosts) == 0 {
		return errors.New("name the hosts and IP addresses under which the node is reached")
	}
	tmpl, err := c.template(NodeName, DefaultLifetime)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if ip := net.ParseIP(strings.Trim(h, "[]")); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else if err := checkHost(h); err != nil {
			return err
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, h)
		}
	}
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return c.signed("create-node", tmpl, NodeCert, NodeKey)
}

// Client makes the certificate and key with which a client logs in as user.
func (c Creator) Client(user string) error {
	c.fill()
	if err := checkUser(user); err != nil {
		return err
	}
	tmpl, err := c.template(user, DefaultLifetime)
	if err != nil {
		return err
	}
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return c.signed("create-client", tmpl, ClientCert(user), ClientKey(user))
}

func (c *Creator) fill() {
	if c.FS == nil {
		c.FS = fs.Disk()
	}
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
}

// checkHost refuses what a client can't ask for as a host name.
func checkHost(h string) error {
	if host, _, err := net.SplitHostPort(h); err == nil {
		return fmt.Errorf("%q has a port: certificates are for hosts; give %q", h, host)
	}
	name := strings.TrimPrefix(h, "*.")
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		bad := strings.ContainsFunc(label, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
		})
		if label == "" || bad {
			return fmt.Errorf("%q is neither a host name nor an IP address", h)
		}
	}
	return nil
}

// checkUser refuses names that can't be a user's in a certificate and in the name
// of a file.
func checkUser(user string) error {
	switch {
	case user == "":
		return errors.New("name the user")
	case user == NodeName:
		return fmt.Errorf("%q is the name of nodes: run 'lichen cert create-node' for those", user)
	case len(user) > maxName-1:
		return fmt.Errorf("the user's name is longer than %d bytes", maxName-1)
	case !utf8.ValidString(user) || strings.ContainsFunc(user, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }):
		return fmt.Errorf("%q can't be in the name of a file", user)
	}
	return nil
}

// checkFree refuses to replace files unless that is wanted.
func (c *Creator) checkFree(verb string, paths ...string) error {
	if c.Overwrite {
		return nil
	}
	for _, p := range paths {
		there, err := exists(c.FS, p)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if verb == "create-ca" {
			return fmt.Errorf("%s exists already; --overwrite replaces it, and with it the certificates of all nodes and clients become worthless", p)
		}
		return fmt.Errorf("%s exists already; --overwrite replaces it", p)
	}
	return nil
}

func (c *Creator) newKey() (crypto.Signer, error) {
	if c.RSABits == 0 {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if c.RSABits < minRSA || c.RSABits > maxRSA {
		return nil, fmt.Errorf("an RSA key of %d bits is not supported: choose from %d to %d, or 0 for an ECDSA key", c.RSABits, minRSA, maxRSA)
	}
	return rsa.GenerateKey(rand.Reader, c.RSABits)
}

// template fills in what all certificates have in common.
func (c *Creator) template(name string, lifetime time.Duration) (*x509.Certificate, error) {
	if c.Lifetime < 0 {
		return nil, errors.New("the lifetime is negative")
	}
	if c.Lifetime > 0 {
		lifetime = c.Lifetime
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), // it must not be zero
		Subject:      pkix.Name{CommonName: name, Organization: []string{organization}},
		NotBefore:    c.Now.Add(-clockSlack),
		NotAfter:     c.Now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}, nil
}

// signed makes a key and a certificate that the CA signs.
func (c *Creator) signed(verb string, tmpl *x509.Certificate, certName, keyName string) error {
	cert, keyFile := c.FS.PathJoin(c.Dir, certName), c.FS.PathJoin(c.Dir, keyName)
	if err := c.checkFree(verb, cert, keyFile); err != nil {
		return err
	}
	ca, caKey, err := c.loadCA()
	if err != nil {
		return err
	}
	switch {
	case ca.NotAfter.Before(c.Now):
		return fmt.Errorf("the CA's certificate expired on %s: make another with 'lichen cert create-ca --overwrite', and all others after it", date(ca.NotAfter))
	case tmpl.NotAfter.After(ca.NotAfter) && c.Lifetime > 0:
		return fmt.Errorf("the certificate would be valid until %s, longer than that of the CA, %s: give a shorter --lifetime",
			date(tmpl.NotAfter), date(ca.NotAfter))
	case tmpl.NotAfter.After(ca.NotAfter):
		tmpl.NotAfter = ca.NotAfter
	}
	if tmpl.NotBefore.Before(ca.NotBefore) {
		tmpl.NotBefore = ca.NotBefore
	}
	key, err := c.newKey()
	if err != nil {
		return err
	}
	return c.sign(tmpl, ca, key, caKey, cert, keyFile)
}

// loadCA reads the key of the CA and the certificate that belongs to it.
func (c *Creator) loadCA() (*x509.Certificate, crypto.Signer, error) {
	certPath := c.FS.PathJoin(c.Dir, CACert)
	create := fmt.Sprintf("run 'lichen cert create-ca --certs-dir=%s --ca-key=%s' if there is no CA yet", shellQuote(c.Dir), shellQuote(c.CAKey))
	key, err := readSigner(c.FS, c.CAKey)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("the CA's key %s is missing: %s", c.CAKey, create)
	} else if err != nil {
		return nil, nil, err
	}
	cas, err := readCerts(c.FS, certPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("the CA's certificate %s is missing: copy it from the directory where it was made; %s", certPath, create)
	} else if err != nil {
		return nil, nil, err
	}
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	for _, ca := range cas {
		if ok && pub.Equal(ca.PublicKey) {
			return ca, key, nil
		}
	}
	return nil, nil, fmt.Errorf("%s is not the key of %s: give --ca-key the key that was made with it", c.CAKey, certPath)
}

// sign signs a certificate and writes it and its key.
func (c *Creator) sign(tmpl, parent *x509.Certificate, key, parentKey crypto.Signer, certPath, keyPath string) error {
	if _, ok := key.(*rsa.PrivateKey); !ok {
		tmpl.KeyUsage &^= x509.KeyUsageKeyEncipherment // it is RSA's only
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), parentKey)
	if err != nil {
		return fmt.Errorf("making %s: %w", certPath, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("making %s: %w", keyPath, err)
	}
	files := []newFile{
		{keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), keyMode},
		{certPath, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), certMode},
	}
	if c.PKCS8 {
		files = append(files, newFile{keyPath + binarySuffix, keyDER, keyMode})
	}
	if err := install(c.FS, files...); err != nil {
		return err
	}
	for _, f := range files {
		if c.Wrote != nil {
			c.Wrote(f.path)
		}
	}
	return nil
}

// date is how messages give times.
func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
