package pgwire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/netip"

	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/config/identmap"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// authCleartext is the code of the authentication message that asks for a password as it is.
const authCleartext = 3

// hbaRules are the rules of a setting's text.
type hbaRules struct {
	text  string
	rules []hba.Rule
}

// identityMaps are the maps of a setting's text.
type identityMaps struct {
	text string
	maps identmap.Maps
}

// defaultRule is that of a cluster without rules.
var defaultRule = &hba.Rule{Type: hba.HostSSL, Method: hba.CertPassword}

// rules returns the rules that hold now; nil if there are none.
func (s *Server) rules() []hba.Rule {
	text := s.sql.HBA()
	if text == "" {
		return nil
	}
	if known := s.hba.Load(); known != nil && known.text == text {
		return known.rules
	}
	rules, err := hba.Parse(text)
	if err != nil { // SET CLUSTER SETTING lets none pass
		s.log.Error("rules of host-based authentication can't be read: nobody but root is let in", "err", err)
	}
	if rules == nil { // comments alone let nobody in
		rules = []hba.Rule{}
	}
	s.hba.Store(&hbaRules{text, rules})
	return rules
}

// maps returns the identity maps that hold now.
func (s *Server) maps() identmap.Maps {
	text := s.sql.IdentityMaps()
	if known := s.ident.Load(); known != nil && known.text == text {
		return known.maps
	}
	maps, err := identmap.Parse(text)
	if err != nil { // SET CLUSTER SETTING lets none pass
		s.log.Error("identity maps can't be read: they let nobody in", "err", err)
		maps = nil
	}
	s.ident.Store(&identityMaps{text, maps})
	return maps
}

// lets reports whether a certificate lets its owner in as a user by a rule: as the role of its name, or as the rule's
// identity map says.
func (s *Server) lets(r *hba.Rule, cert *x509.Certificate, user string) bool {
	name := cert.Subject.CommonName
	if r.DN {
		name = subjectOf(cert)
	}
	if r.Map == "" {
		return name == user
	}
	return s.maps().Allow(r.Map, name, user)
}

// subjectOf is the whole name in a certificate, as RFC 2253 writes it: the last part first.
func subjectOf(cert *x509.Certificate) string {
	var parts pkix.RDNSequence
	if rest, err := asn1.Unmarshal(cert.RawSubject, &parts); err != nil || len(rest) > 0 {
		return cert.Subject.String()
	}
	return parts.String()
}

// ruleFor returns the rule that a client is let in by, or says that there is none.
func (c *conn) ruleFor(user, database string) (*hba.Rule, error) {
	rules := c.srv.rules()
	if rules == nil {
		return defaultRule, nil
	}
	client := c.srv.client(c.ctx, user, database, addressOf(c.wire.NetConn().RemoteAddr()), addressOf(c.wire.NetConn().LocalAddr()))
	client.Encrypted = c.encryption != nil
	if r := hba.Find(rules, client); r != nil {
		return r, nil
	}
	return nil, c.hbaError("no pg_hba.conf entry for host", user, database)
}

// addressOf is the IP address of a network address, the zero one if it has none.
func addressOf(a net.Addr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap()
}

// host is the client's address in messages, without the port.
func (c *conn) host() string {
	if a := addressOf(c.wire.NetConn().RemoteAddr()); a.IsValid() {
		return a.String()
	}
	return c.remote
}

// hbaError is 28000 for a client that rules keep out.
func (c *conn) hbaError(what, user, database string) error {
	encryption := "SSL encryption"
	if c.encryption == nil {
		encryption = "no encryption"
	}
	return pgerr.New(pgerr.InvalidAuthorizationSpecification, "%s \"%s\", user \"%s\", database \"%s\", %s", what, c.host(), user, database, encryption)
}

// show has a client show who it is as a rule says.
func (c *conn) show(r *hba.Rule, user, database string) error {
	switch {
	case r.Certificate != hba.NoCertificate && c.cert == nil:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "connection requires a valid client certificate")
	case r.Certificate == hba.OwnCertificate && !c.srv.lets(r, c.cert, user):
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "certificate authentication failed for user \"%s\"", user)
	}
	switch r.Method {
	case hba.Trust, hba.Cert:
		return nil
	case hba.SCRAM, hba.MD5: // every password is stored for SCRAM
		return c.askPassword(user)
	case hba.Password:
		return c.askCleartext(user)
	case hba.CertPassword, hba.CertSCRAM:
		return c.certificateOrPassword(user)
	case hba.JWT:
		return c.askToken(user)
	}
	return c.hbaError("pg_hba.conf rejects connection for host", user, database)
}

// cleartext has the client send its password, or what takes its place.
func (c *conn) cleartext(user string) (given string, err error) {
	if err := c.throttled(user); err != nil {
		return "", err
	}
	c.wire.Begin(wire.Authentication)
	c.wire.Int32(authCleartext)
	c.wire.End()
	body, err := c.passwordMessage()
	if err != nil {
		return "", err
	}
	m := wire.NewBody(body)
	given = string(m.String())
	return given, m.Err()
}

// askCleartext has the client send its password, and compares it.
func (c *conn) askCleartext(user string) error {
	given, err := c.cleartext(user)
	if err != nil {
		return err
	}
	v, why, err := c.srv.verifierOf(c.ctx, user)
	if err != nil {
		return err
	}
	if !v.Matches(given) || why != "" {
		return c.passwordRefused(user, why)
	}
	c.srv.throttle.succeeded(throttled{user, c.host()})
	return nil
}
