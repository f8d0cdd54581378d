package pgwire

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/lichendb/lichen/internal/password"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The codes of the authentication messages that ask for SASL, go on with it, and end it.
const (
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12
)

// secretTimeout bounds how long a login waits for the secret of the cluster.
const secretTimeout = 5 * time.Second

// mockSecret is what the salts of roles without a password come from: see password.Mock. It is the cluster's, so that no other node, nor this one
// after a restart, tells by another salt which roles there are. Where it can't be read no login comes to anything.
func (s *Server) mockSecret(ctx context.Context) ([]byte, error) {
	if known := s.mock.Load(); known != nil {
		return *known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	secret, err := s.sql.LoginSecret(ctx)
	if err == nil {
		s.mock.Store(&secret)
	}
	return secret, err
}

// errPassword is all that a client learns of a login that failed.
func errPassword(user string) error {
	return pgerr.New(pgerr.InvalidPassword, "password authentication failed for user \"%s\"", user)
}

// askPassword has the client show by SCRAM-SHA-256 that it knows the password of a role. Where there is none that it
// could know, the exchange takes the same course and fails at its end.
func (c *conn) askPassword(user string) error {
	if err := c.throttled(user); err != nil {
		return err
	}
	v, why, err := c.srv.verifierOf(c.ctx, user)
	if err != nil {
		return err
	}
	cert := c.srv.certificate()
	binding, plus := password.Binding(cert)
	mechanism, first, err := c.beginSASL(plus)
	if err != nil {
		return err
	}
	if mechanism != password.Mechanism && (mechanism != password.MechanismPlus || !plus) {
		return pgerr.New(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	x, err := password.NewExchange(v, binding, plus)
	if err != nil {
		return err
	}
	answer, _, err := x.Step(string(first))
	if err != nil {
		return pgerr.New(pgerr.ProtocolViolation, "malformed SCRAM message").WithDetail("%s", err.Error())
	}
	c.saslMessage(authSASLContinue, answer)
	last, err := c.passwordMessage()
	if err != nil {
		return err
	}
	answer, done, err := x.Step(string(last))
	if !done {
		if why == "" && err != nil {
			why = err.Error()
		}
		return c.passwordRefused(user, why)
	}
	c.srv.throttle.succeeded(throttled{user, c.host()})
	c.saslMessage(authSASLFinal, answer)
	return nil
}

// passwordRefused counts and logs a password that is wrong. The client learns no more than that.
func (c *conn) passwordRefused(user, why string) error {
	c.srv.throttle.fail(throttled{user, c.host()}, time.Now())
	c.srv.log.Warn("password refused", "remote", c.remote, "user", user, "why", why)
	return errPassword(user)
}

// throttled refuses a login after several that failed, for a while.
func (c *conn) throttled(user string) error {
	return c.srv.waitAfterFailures(throttled{user, c.host()})
}

// verifierOf returns the verifier of a role's password, or one that no password matches and, for the log, why.
func (s *Server) verifierOf(ctx context.Context, user string) (v password.Verifier, why string, err error) {
	secret, err := s.mockSecret(ctx) // for all users alike
	if err != nil {
		return v, "", err
	}
	r := s.sql.Role(user)
	switch {
	case r == nil:
		why = "there is no such role"
	case r.Verifier == "":
		why = "the role has no password"
	case !sql.PasswordValid(r, time.Now()):
		why = "the password has expired"
	default:
		v, err := password.Parse(r.Verifier)
		if err == nil {
			return v, "", nil
		}
		why = err.Error()
	}
	return password.Mock(secret, user), why, nil
}

// beginSASL offers the mechanisms, and returns the one that the client takes with its first message.
func (c *conn) beginSASL(plus bool) (mechanism string, first []byte, err error) {
	c.wire.Begin(wire.Authentication)
	c.wire.Int32(authSASL)
	if plus {
		c.wire.String(password.MechanismPlus)
	}
	c.wire.String(password.Mechanism)
	c.wire.Byte(0)
	c.wire.End()
	body, err := c.passwordMessage()
	if err != nil {
		return "", nil, err
	}
	m := wire.NewBody(body)
	mechanism = string(m.String())
	if n := int(m.Int32()); n >= 0 {
		first = m.Bytes(n)
	}
	return mechanism, first, m.Err()
}

func (c *conn) saslMessage(code int32, data string) {
	c.wire.Begin(wire.Authentication)
	c.wire.Int32(code)
	c.wire.Bytes([]byte(data))
	c.wire.End()
}

// passwordMessage sends what was asked and reads the client's answer. The answer is valid until the next one.
func (c *conn) passwordMessage() ([]byte, error) {
	if err := c.wire.Flush(); err != nil {
		return nil, errDone
	}
	c.wire.Login(true)
	typ, body, err := c.wire.Next()
	c.wire.Login(false)
	switch {
	case err != nil:
		return nil, quietEOF(err)
	case typ != wire.Password:
		return nil, pgerr.New(pgerr.ProtocolViolation, "expected SASL response, got message type %d", typ)
	}
	return body, nil
}

// certificate is what logins are bound to, nil if that is nothing.
func (s *Server) certificate() *tls.Certificate {
	if s.cert == nil {
		return nil
	}
	return s.cert()
}
