package sql

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/config/jwt"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// identity is whose session it is. Roles are known by their oids, so that they may be renamed meanwhile.
type identity struct {
	login privilege.Role // who logged in
	limit int            // of the role's sessions on a node, -1 for none
	// known are the roles that SET ROLE and SET SESSION AUTHORIZATION have named.
	known map[string]privilege.Role
	// definers are the owners of the SECURITY DEFINER routines that run, the innermost one last.
	definers []privilege.Role
}

// identify finds the role that logs in; 28000 if there is none, or it may not.
func (s *Session) identify() error {
	r := s.srv.cfg.Catalog.RoleByName(s.user)
	switch {
	case r == nil:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "role \"%s\" does not exist", s.user)
	case !r.Login && !s.internal:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "role \"%s\" is not permitted to log in", s.user)
	}
	s.auth.login, s.auth.limit = r.Oid, -1
	if !s.srv.cfg.Catalog.Superuser(r) {
		s.auth.limit = int(r.ConnectionLimit)
	}
	return nil
}

// withinLimitLocked returns 53300 if the role that logs in has all the sessions of this node that it may have. The server's mu is
// held until the session is one of them, so that no two logins take the same place.
func (s *Server) withinLimitLocked(ses *Session) error {
	if ses.auth.limit < 0 {
		return nil
	}
	n := 0
	for _, o := range s.sessions {
		if o.auth.login == ses.auth.login {
			n++
		}
	}
	if n >= ses.auth.limit {
		return pgerr.New(pgerr.TooManyConnections, "too many connections for role \"%s\"", ses.user)
	}
	return nil
}

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

// sessionRole is the user of the session: who logged in, unless SET SESSION AUTHORIZATION says otherwise.
func (s *Session) sessionRole() privilege.Role {
	if name := s.vals.Fast.SessionUser; name != "" {
		return s.auth.known[name]
	}
	return s.auth.login
}

// role is the role as which statements run: the user of the session, unless SET ROLE or a SECURITY DEFINER routine says
// otherwise.
func (s *Session) role() privilege.Role {
	if n := len(s.auth.definers); n > 0 {
		return s.auth.definers[n-1]
	}
	if name := s.vals.Fast.Role; name != "" && name != "none" {
		return s.auth.known[name]
	}
	return s.sessionRole()
}

// asDefiner calls f while statements run as a role, which they can't leave.
func (s *Session) asDefiner(r privilege.Role, f func() error) error {
	outer := s.auth.definers
	s.auth.definers = append(slices.Clip(outer), r)
	defer func() { s.auth.definers = outer }()
	return f()
}

// MayChangeRole implements sessionvar.Session.
func (o varOwner) MayChangeRole(name string) error {
	if len(o.s.auth.definers) == 0 {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "cannot set parameter \"%s\" within security-definer function", name)
}

// nameOf is the name of a role, which may be gone.
func (s *Session) nameOf(r privilege.Role) string {
	if d := s.coll.RoleByOid(r); d != nil {
		return d.Name
	}
	return s.user
}

func (s *Session) currentUser() string { return s.nameOf(s.role()) }

// become remembers a role that the session is about to be.
func (s *Session) become(r *catalog.Role) {
	if s.auth.known == nil {
		s.auth.known = map[string]privilege.Role{}
	}
	s.auth.known[r.Name] = r.Oid
}

// named returns a role that SET names.
func (s *Session) named(name string) (*catalog.Role, error) {
	if r := s.coll.RoleByName(name); r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "role \"%s\" does not exist", name)
}

// SetRole implements sessionvar.Session.
func (o varOwner) SetRole(name string) error {
	r, err := o.s.named(name)
	switch {
	case err != nil:
		return err
	case !o.s.coll.Authority(o.s.sessionRole()).MemberOf(r.Oid):
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role \"%s\"", name)
	}
	o.s.become(r)
	return nil
}

// SetSessionAuthorization implements sessionvar.Session.
func (o varOwner) SetSessionAuthorization(name string) error {
	r, err := o.s.named(name)
	switch {
	case err != nil:
		return err
	case r.Oid != o.s.auth.login && !o.s.coll.Authority(o.s.auth.login).Super:
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	o.s.become(r)
	return nil
}

// Superuser implements sessionvar.Session.
func (o varOwner) Superuser() bool { return o.s.coll.Me().Super }

// MaySet implements sessionvar.Session.
func (o varOwner) MaySet(parameter string) bool {
	has, _ := access.OnParameter(o.s.coll.Me(), o.s.coll, parameter, privilege.Set)
	return has != 0
}

// SessionUser implements sessionvar.Session.
func (o varOwner) SessionUser() string { return o.s.nameOf(o.s.sessionRole()) }

// fixed returns the parameters that follow from whose session it is, and those that are the server's.
func (s *Session) fixed(name string) (string, bool) {
	switch name {
	case "session_authorization":
		if s.coll == nil {
			return s.user, true
		}
		return s.nameOf(s.sessionRole()), true
	case "is_superuser":
		if s.coll != nil && s.auth.login != 0 && !s.coll.Me().Super {
			return "off", true
		}
		return "on", true
	}
	return s.srv.fixed(name)
}

// Role returns a role as logins see it, nil if there is none of the name.
func (s *Server) Role(name string) *catalog.Role { return s.cfg.Catalog.RoleByName(name) }

// PasswordValid reports whether the password of a role has not expired.
func PasswordValid(r *catalog.Role, now time.Time) bool {
	return r.ValidUntil == nil || *r.ValidUntil > pgMicros(now)
}

// User implements prepared.Session.
func (p planning) User() privilege.Role { return p.s.role() }
