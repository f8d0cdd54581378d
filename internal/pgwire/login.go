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
	err := s.checkLogin(ctx, l)
	if err != nil {
		s.tellRefused(l.User, l.Database, l.Remote.String(), err)
	}
	return err
}

func (s *Server) checkLogin(ctx context.Context, l *Login) error {
	rule, err := s.ruleOf(ctx, l)
	if err != nil {
		return err
	}
	if commonName(l.Certificate) == l.User && l.User == catalog.RootUser {
		return nil // whom no rule locks out
	}
	switch {
	case rule.Certificate != hba.NoCertificate && l.Certificate == nil:
		return s.loginRefused(l, "the rules of host-based authentication ask for a certificate")
	case rule.Certificate == hba.OwnCertificate && !s.lets(rule, l.Certificate, l.User):
		return s.loginRefused(l, "the certificate is not the user's")
	}
	switch rule.Method {
	case hba.Trust, hba.Cert:
		return nil
	case hba.CertPassword, hba.CertSCRAM:
		if commonName(l.Certificate) == l.User {
			return nil
		}
	case hba.JWT:
		return s.checkToken(ctx, l)
	case hba.Reject:
		return s.loginRefused(l, "the rules of host-based authentication reject it")
	}
	return s.checkPassword(ctx, l)
}

// ruleOf returns the rule that says how a login shows who it is.
func (s *Server) ruleOf(ctx context.Context, l *Login) (*hba.Rule, error) {
	rules := s.rules()
	if rules == nil || commonName(l.Certificate) == l.User && l.User == catalog.RootUser {
		return defaultRule, nil
	}
	if r := hba.Find(rules, s.client(ctx, l.User, l.Database, l.Remote, l.Server)); r != nil {
		return r, nil
	}
	return nil, s.loginRefused(l, "no rule of host-based authentication lets it in")
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

// RefuseLogin logs why a login is refused that the caller has found wrong, tells the audit log, and returns what its client
// may learn.
func (s *Server) RefuseLogin(l *Login, why string) error {
	err := s.loginRefused(l, why)
	if s.sql != nil {
		s.tellRefused(l.User, l.Database, l.Remote.String(), err)
	}
	return err
}

// tellRefused tells the audit log of a login that came to nothing.
func (s *Server) tellRefused(user, database, client string, err error) {
	s.sql.TellRefused(user, database, client, err)
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
