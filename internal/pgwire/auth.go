package pgwire

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Auth says how clients show who they are.
type Auth uint8

const (
	// AuthTrust believes every client that it is who it says, and speaks with it in
	// clear if it does not ask for encryption.
	AuthTrust Auth = iota
	// AuthEncrypted demands an encrypted connection, and a client certificate, verified by
	// the TLS configuration, that is made out to the user, or the user's password.
	AuthEncrypted
)

const (
	// tlsHandshake is the first byte of a TLS connection. No start-up message begins
	// with it: it would be longer than allowed.
	tlsHandshake = 0x16
	// alpnSQL is the protocol that a client must ask for if it begins with TLS at
	// once, so that it is not made to talk to another service under the same name.
	alpnSQL = "postgresql"
)

// certificateHint says how a client comes by what shows who it is.
const certificateHint = "'lichen cert create-client' makes a certificate; lichen's commands find it in --certs-dir, other clients by sslcert, sslkey and sslrootcert. ALTER ROLE ... PASSWORD sets a password."

// authenticate lets a client in as user, or says why not.
func (c *conn) authenticate(user, database string) error {
	switch {
	case c.srv.auth == AuthTrust, c.certUser() == user && user == catalog.RootUser: // whom no rule locks out
		return nil
	}
	rule, err := c.ruleFor(user, database)
	switch {
	case err != nil:
		return err
	case c.encryption == nil && rule.Type != hba.HostNoSSL:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification,
			"unencrypted connections are refused: connect with TLS (sslmode=verify-full) and a client certificate or a password").
			WithHint(certificateHint)
	}
	return c.show(rule, user, database)
}

// certificateOrPassword is how clients log in where there are no rules.
func (c *conn) certificateOrPassword(user string) error {
	switch c.certUser() {
	case "":
		return c.askPassword(user)
	case user:
		return nil
	}
	return pgerr.New(pgerr.InvalidAuthorizationSpecification,
		"the client certificate is for user \"%s\", not for \"%s\"", c.certUser(), user)
}

// certUser is whom the client's certificate is made out to, "" if it has shown none.
func (c *conn) certUser() string { return commonName(c.cert) }

func commonName(cert *x509.Certificate) string {
	if cert == nil {
		return ""
	}
	return cert.Subject.CommonName
}

// answerSSL answers a request for encryption.
func (c *conn) answerSSL() error {
	if c.srv.tls == nil || c.encryption != nil {
		return c.refuseEncryption("SSL")
	}
	if err := c.checkNothingBehind("SSL"); err != nil {
		return err
	}
	if err := c.answerByte(wire.EncryptionAccepted); err != nil {
		return err
	}
	_, err := c.handshake(tls.Server(c.wire.NetConn(), c.srv.tls))
	return err
}

// directTLS encrypts the connection of a client that begins with TLS without asking.
func (c *conn) directTLS() error {
	t, begun := c.wire.NetConn().(*tls.Conn)
	if !begun {
		if c.srv.tls == nil {
			return nil
		}
		first, err := c.wire.Peek()
		if err != nil {
			return quietEOF(err)
		}
		if first != tlsHandshake {
			return nil
		}
		t = tls.Server(&wire.Replay{Conn: c.wire.NetConn(), First: c.wire.TakeInput()}, c.srv.tls)
	}
	proto, err := c.handshake(t)
	if err == nil && proto != alpnSQL {
		return pgerr.New(pgerr.ProtocolViolation, "a connection that begins with TLS must ask for the protocol \"%s\" (ALPN)", alpnSQL)
	}
	return err
}

// handshake goes on with an encrypted connection, and returns the protocol that
// client and server agreed on.
func (c *conn) handshake(t *tls.Conn) (proto string, err error) {
	if err := t.HandshakeContext(c.ctx); err != nil {
		c.srv.log.Info("TLS handshake failed", "remote", c.remote, "err", err)
		wire.Linger(t.NetConn())
		return "", errDone
	}
	st := t.ConnectionState()
	c.encryption = encryptionOf(&st)
	if len(st.VerifiedChains) > 0 {
		c.cert = st.PeerCertificates[0]
	}
	c.wire.Upgrade(t)
	return st.NegotiatedProtocol, nil
}

// encryptionOf returns what a handshake has come to, as PostgreSQL's pg_stat_ssl does.
func encryptionOf(st *tls.ConnectionState) *sql.Encryption {
	e := &sql.Encryption{
		Version: strings.Replace(tls.VersionName(st.Version), "TLS ", "TLSv", 1),
		Cipher:  tls.CipherSuiteName(st.CipherSuite), Bits: 256,
	}
	if strings.Contains(e.Cipher, "AES_128") {
		e.Bits = 128
	}
	if len(st.VerifiedChains) > 0 {
		c := st.PeerCertificates[0]
		e.ClientDN, e.IssuerDN, e.Serial = distinguishedName(&c.Subject), distinguishedName(&c.Issuer), c.SerialNumber.String()
	}
	return e
}

// attributeNames are the short names of what names in certificates consist of.
var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU",
}

// distinguishedName writes a name as OpenSSL does in one line: /O=Lichen/CN=root.
func distinguishedName(n *pkix.Name) string {
	var b strings.Builder
	for _, a := range n.Names {
		id := a.Type.String()
		fmt.Fprintf(&b, "/%s=%v", cmp.Or(attributeNames[id], id), a.Value)
	}
	return b.String()
}
