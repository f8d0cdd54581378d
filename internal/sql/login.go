package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/config/jwt"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// withinLimitLocked returns 53300 if the role that logs in has all the sessions of this node that it may have. The server's mu is
// held until the session is one of them, so that no two logins take the same place.
func (s *Server) withinLimitLocked(ses *Session) error {
	who := &ses.ex.who
	if who.Limit() < 0 {
		return nil
	}
	n := 0
	for _, o := range s.sessions {
		if o.ex.who.Login() == who.Login() {
			n++
		}
	}
	if n >= who.Limit() {
		return pgerr.New(pgerr.TooManyConnections, "too many connections for role \"%s\"", who.User())
	}
	return nil
}

// Role returns a role as logins see it, nil if there is none of the name.
func (s *Server) Role(name string) *catalog.Role { return s.cfg.Catalog.RoleByName(name) }

// MemberOf reports whether a user is a member of a role, however indirectly, or is it; superusers are members of nothing for that.
func (s *Server) MemberOf(user, role string) bool {
	u, r := s.Role(user), s.Role(role)
	return u != nil && r != nil && s.cfg.Catalog.MemberOf(u, r)
}

// LoginSecret returns the secret of the cluster that salts of roles without a password come from.
func (s *Server) LoginSecret(ctx context.Context) ([]byte, error) {
	return s.cfg.DB.Secret(ctx, "login")
}

// HBA returns the rules of host-based authentication.
func (s *Server) HBA() string { return clustersetting.Get(s.cfg.Settings).HBA }

// IdentityMaps returns the identity maps of rules of host-based authentication.
func (s *Server) IdentityMaps() string { return clustersetting.Get(s.cfg.Settings).IdentityMaps }

// JWT returns what tokens let users log in.
func (s *Server) JWT() jwt.Config {
	v := clustersetting.Get(s.cfg.Settings)
	return jwt.Config{Issuer: v.JWTIssuer, Audience: v.JWTAudience, Keys: v.JWTKeys, KeysURL: v.JWTKeysURL, Claim: v.JWTClaim, Map: v.JWTMap}
}

// PasswordValid reports whether the password of a role has not expired.
func PasswordValid(r *catalog.Role, now time.Time) bool {
	return r.ValidUntil == nil || *r.ValidUntil > pgMicros(now)
}
