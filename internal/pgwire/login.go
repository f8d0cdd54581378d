package pgwire

import (
	"context"
	"crypto/x509"
	"net/netip"
	"time"

	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Login is a login that comes another way than by the protocol: a form over HTTPS.
type Login struct {
	User, Database, Password string
	Remote, Server           netip.Addr
	// Certificate is the client's, verified; nil: it showed none.
	Certificate *x509.Certificate
}

// CheckLogin lets a user in by a password, under the rules, and with the delays after failures, of SQL clients that connect
// with TLS; or says why not.
func (s *Server) CheckLogin(ctx context.Context, l *Login) error {
	if s.sql == nil {
		return s.closed
	}
	certUser := ""
	if l.Certificate != nil {
		certUser = l.Certificate.Subject.CommonName
	}
	if certUser == l.User && certUser == catalog.RootUser {
		return nil // whom no rule locks out
	}
	method := defaultRule.Method
	if rules := s.rules(); rules != nil {
		r := hba.Find(rules, &hba.Client{
			Encrypted: true, User: l.User, Database: l.Database, Remote: l.Remote, Server: l.Server,
			MemberOf: func(role string) bool { return s.sql.MemberOf(l.User, role) },
		})
		switch {
		case r == nil, len(r.Options) > 0 && certUser != l.User:
			return s.loginRefused(l, "no rule of host-based authentication lets it in")
		}
		method = r.Method
	}
	switch method {
	case hba.Trust:
		return nil
	case hba.Cert:
		if certUser == l.User {
			return nil
		}
		return s.loginRefused(l, "the rules of host-based authentication ask for a certificate")
	case hba.CertPassword, hba.CertSCRAM:
		if certUser == l.User {
			return nil
		}
	case hba.JWT:
		return s.checkToken(l)
	case hba.Reject:
		return s.loginRefused(l, "the rules of host-based authentication reject it")
	}
	return s.checkPassword(ctx, l)
}

// checkPassword compares a password that came in clear over an encrypted connection.
func (s *Server) checkPassword(ctx context.Context, l *Login) error {
	who := throttled{l.User, l.Remote.String()}
	if err := s.waitAfterFailures(who); err != nil {
		return err
	}
	v, why, err := s.verifierOf(ctx, l.User)
	if err != nil {
		return err
	}
	if !v.Matches(l.Password) || why != "" {
		s.throttle.fail(who, time.Now())
		return s.loginRefused(l, why)
	}
	s.throttle.succeeded(who)
	return nil
}

// loginRefused logs why a login is refused. The client learns no more than that.
func (s *Server) loginRefused(l *Login, why string) error {
	s.log.Warn("login refused", "remote", l.Remote, "user", l.User, "why", why)
	return errPassword(l.User)
}

// waitAfterFailures refuses a login after several that failed, for a while.
func (s *Server) waitAfterFailures(who throttled) error {
	d := s.throttle.wait(who, time.Now())
	if d <= 0 {
		return nil
	}
	return pgerr.New(pgerr.InvalidPassword, "password authentication failed for user \"%s\"", who.user).
		WithHint("Several logins have failed: try again in %s.", d.Round(100*time.Millisecond))
}
