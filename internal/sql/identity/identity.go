package identity

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// Session is whose session it is. Init comes first, then LogIn.
type Session struct {
	user     string
	internal bool
	vals     *settings.Values
	coll     *catalog.Collection // nil until LogIn

	login privilege.Role
	limit int // of the role's sessions on a node, -1 for none
	// known are the roles that SET ROLE and SET SESSION AUTHORIZATION have named.
	known map[string]privilege.Role
	// definers are the owners of the SECURITY DEFINER routines that run, the innermost one last.
	definers []privilege.Role
}

// Init makes it that of a user, as the client has named it. An internal session is the server's own, which does what
// the user may but is not told what it may not see. vals has the parameters of the session.
func (s *Session) Init(user string, internal bool, vals *settings.Values) {
	*s = Session{user: user, internal: internal, vals: vals}
}

// LogIn finds the role that logs in; 28000 if there is none, or it may not.
func (s *Session) LogIn(store *catalog.Store, coll *catalog.Collection) error {
	r := store.RoleByName(s.user)
	switch {
	case r == nil:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "role \"%s\" does not exist", s.user)
	case !r.Login && !s.internal:
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "role \"%s\" is not permitted to log in", s.user)
	}
	s.coll, s.login, s.limit = coll, r.Oid, -1
	if !store.Superuser(r) {
		s.limit = int(r.ConnectionLimit)
	}
	return nil
}

// User is the name under which the client has logged in.
func (s *Session) User() string { return s.user }

// Internal reports whether the session is the server's own.
func (s *Session) Internal() bool { return s.internal }

// Login is the role that has logged in.
func (s *Session) Login() privilege.Role { return s.login }

// Limit is how many sessions the role may have on a node; negative for any number.
func (s *Session) Limit() int { return s.limit }

// SessionRole is the login role, unless SET SESSION AUTHORIZATION says otherwise.
func (s *Session) SessionRole() privilege.Role {
	if name := s.vals.Fast.SessionUser; name != "" {
		return s.known[name]
	}
	return s.login
}

// Role is the current role, as which statements run: the session role, unless SET ROLE or a SECURITY DEFINER routine
// says otherwise.
func (s *Session) Role() privilege.Role {
	if n := len(s.definers); n > 0 {
		return s.definers[n-1]
	}
	if name := s.vals.Fast.Role; name != "" && name != "none" {
		return s.known[name]
	}
	return s.SessionRole()
}

// AsDefiner calls f while statements run as a role, which they can't leave.
func (s *Session) AsDefiner(r privilege.Role, f func() error) error {
	outer := s.definers
	s.definers = append(slices.Clip(outer), r)
	defer func() { s.definers = outer }()
	return f()
}

// NameOf is the name of a role, which may be gone.
func (s *Session) NameOf(r privilege.Role) string {
	if d := s.coll.RoleByOid(r); d != nil {
		return d.Name
	}
	return s.user
}

// UserName is the name of a role for SQL's functions, 42704 if it is gone.
func (s *Session) UserName(r privilege.Role) (string, error) {
	if d := s.coll.RoleByOid(r); d != nil {
		return d.Name, nil
	}
	return "", pgerr.New(pgerr.UndefinedObject, "invalid role OID: %d", r)
}

// CurrentUser is the name of the current role.
func (s *Session) CurrentUser() string { return s.NameOf(s.Role()) }

// SessionUser is the name of the session role.
func (s *Session) SessionUser() string { return s.NameOf(s.SessionRole()) }

// MayChangeRole returns 42501 while a routine runs as its owner.
func (s *Session) MayChangeRole(parameter string) error {
	if len(s.definers) == 0 {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "cannot set parameter \"%s\" within security-definer function", parameter)
}

// SetRole notes the role that SET ROLE makes the current one; 42501 if the session role is no member of it.
func (s *Session) SetRole(name string) error {
	r, err := s.named(name)
	switch {
	case err != nil:
		return err
	case !s.coll.Authority(s.SessionRole()).MemberOf(r.Oid):
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role \"%s\"", name)
	}
	s.become(r)
	return nil
}

// SetSessionAuthorization notes the role that SET SESSION AUTHORIZATION makes the session role; 42501 if the login role
// may not become it.
func (s *Session) SetSessionAuthorization(name string) error {
	r, err := s.named(name)
	switch {
	case err != nil:
		return err
	case r.Oid != s.login && !s.coll.Authority(s.login).Super:
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	s.become(r)
	return nil
}

// named returns a role that SET names.
func (s *Session) named(name string) (*catalog.Role, error) {
	if r := s.coll.RoleByName(name); r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "role \"%s\" does not exist", name)
}

// become remembers a role that the session is about to be.
func (s *Session) become(r *catalog.Role) {
	if s.known == nil {
		s.known = map[string]privilege.Role{}
	}
	s.known[r.Name] = r.Oid
}

// Superuser reports whether the current role may do everything.
func (s *Session) Superuser() bool { return s.coll.Me().Super }

// MaySet reports whether a parameter that is the superusers' to change was granted to the current role.
func (s *Session) MaySet(parameter string) bool {
	has, _ := access.OnParameter(s.coll.Me(), s.coll, parameter, privilege.Set)
	return has != 0
}

// Parameter returns the parameters that follow from whose session it is; false for all others.
func (s *Session) Parameter(name string) (string, bool) {
	switch name {
	case "session_authorization":
		if s.coll == nil {
			return s.user, true
		}
		return s.SessionUser(), true
	case "is_superuser":
		if s.coll != nil && !s.coll.Me().Super {
			return "off", true
		}
		return "on", true
	}
	return "", false
}
