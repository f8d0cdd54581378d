package pgwire

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/config/jwt"
)

// Tokens say whether a token lets its bearer log in as a role, and if not, why: for the log.
type Tokens interface {
	Check(ctx context.Context, token, role string, now time.Time) error
}

// tokenSettings is what the cluster settings say about tokens, read once.
type tokenSettings struct {
	of     jwt.Config
	tokens Tokens
}

// refusing are the tokens of settings that can't be read.
type refusing struct{ err error }

// Check implements Tokens.
func (r refusing) Check(context.Context, string, string, time.Time) error { return r.err }

// tokens returns what checks tokens by the settings that hold now.
func (s *Server) tokens() Tokens {
	of := s.sql.JWT()
	if known := s.jwt.Load(); known != nil && known.of == of {
		return known.tokens
	}
	var t Tokens
	v, err := jwt.New(of, s.keys)
	if t = v; err != nil { // SET CLUSTER SETTING lets none pass
		t = refusing{err}
	}
	s.jwt.Store(&tokenSettings{of, t})
	return t
}

// askToken has the client send a token in place of its password. The connection is encrypted: rules of the method say hostssl.
func (c *conn) askToken(user string) error {
	given, err := c.cleartext(user)
	if err != nil {
		return err
	}
	if err := c.srv.tokens().Check(c.ctx, given, user, time.Now()); err != nil {
		return c.passwordRefused(user, err.Error())
	}
	c.srv.throttle.succeeded(throttled{user, c.host()})
	return nil
}

// checkToken checks a token that came in place of a password.
func (s *Server) checkToken(ctx context.Context, l *Login) error {
	who := throttled{l.User, l.Remote.String()}
	if err := s.waitAfterFailures(who); err != nil {
		return err
	}
	if err := s.tokens().Check(ctx, l.Password, l.User, time.Now()); err != nil {
		s.throttle.fail(who, time.Now())
		return s.loginRefused(l, err.Error())
	}
	s.throttle.succeeded(who)
	return nil
}

// CheckVouched lets a user in whom an identity provider vouches for, as of a browser that has logged in there; or says why not. Where
// there are rules of host-based authentication, the one for the user must let tokens in.
func (s *Server) CheckVouched(ctx context.Context, l *Login) error {
	if s.sql == nil {
		return s.closed
	}
	rule, err := s.ruleOf(ctx, l)
	switch {
	case err != nil:
	case rule != defaultRule && rule.Method != hba.JWT && rule.Method != hba.Trust:
		err = s.loginRefused(l, "the rules of host-based authentication ask for another method than jwt")
	case rule.Certificate != hba.NoCertificate:
		err = s.loginRefused(l, "the rules of host-based authentication ask for a certificate")
	}
	if err != nil {
		s.tellRefused(l.User, l.Database, l.Remote.String(), err)
	}
	return err
}
