package roles

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// denied is 42501 with a message.
func denied(format string, args ...any) error {
	return pgerr.New(pgerr.InsufficientPrivilege, format, args...)
}

// mayCreateRoles reports whether the user has CREATEROLE.
func mayCreateRoles(e *statement.Env) bool {
	if e.Coll.Me().Super {
		return true
	}
	r := e.Coll.RoleByOid(e.User.Role())
	return r != nil && r.CreateRole
}

// checkName refuses names that no role can have.
func checkName(name string) error {
	switch {
	case catalog.ReservedRoleName(name):
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", name).
			WithDetail("Role names starting with \"pg_\" are reserved.")
	case name == "":
		return pgerr.New(pgerr.InvalidName, "a role's name cannot be empty")
	}
	return nil
}

// Create is CREATE ROLE, USER and GROUP.
func Create(ctx context.Context, e *statement.Env, st *ast.CreateRole) error {
	name, err := newName(&st.Name)
	if err != nil {
		return err
	}
	o, err := readOptions(e, st.Options)
	if err != nil {
		return err
	}
	switch {
	case e.Coll.Me().Super:
	case o.is("superuser"):
		return denied("must be superuser to create superusers")
	case o.is("replication"):
		return denied("must be superuser to create replication users")
	case o.is("bypassrls"):
		return denied("must be superuser to create bypassrls users")
	case !mayCreateRoles(e):
		return denied("permission denied to create role")
	}
	if err := checkName(name); err != nil {
		return err
	}
	if st.IfNotExists && e.Coll.RoleByName(name) != nil {
		e.Skip(pgerr.DuplicateObject, "role \"%s\" already exists, skipping", name)
		return nil
	}
	r := &catalog.Role{Name: name, Login: st.Kind == ast.KindUser, ConnectionLimit: -1}
	if err := o.apply(e, r); err != nil {
		return err
	}
	if err := e.Coll.CreateRole(ctx, r); err != nil {
		return err
	}
	return addNamedMembers(ctx, e, r, o)
}

// newName returns the name of a role that is made.
func newName(s *ast.RoleSpec) (string, error) {
	word := ""
	switch s.Kind {
	case ast.RoleNamed:
		return s.Name, nil
	case ast.RolePublic:
		return "", pgerr.New(pgerr.ReservedName, "role name \"public\" is reserved").At(s.Pos)
	case ast.RoleCurrentRole:
		word = "CURRENT_ROLE"
	case ast.RoleCurrentUser:
		word = "CURRENT_USER"
	default:
		word = "SESSION_USER"
	}
	return "", pgerr.New(pgerr.ReservedName, "%s cannot be used as a role name here", word).At(s.Pos)
}

// addNamedMembers makes the memberships that CREATE ROLE asks for.
func addNamedMembers(ctx context.Context, e *statement.Env, r *catalog.Role, o *options) error {
	add := func(member, of string, admin bool) error {
		return addMember(ctx, e, member, of, admin, e.User.Role())
	}
	for _, of := range o.inRoles {
		if e.Coll.RoleByName(of) == nil {
			return catalog.UndefinedRole(of)
		}
		if err := mayAdminister(e, e.Coll.RoleByName(of)); err != nil {
			return err
		}
		if err := add(r.Name, of, false); err != nil {
			return err
		}
	}
	for _, m := range o.admins {
		if err := add(m, r.Name, true); err != nil {
			return err
		}
	}
	for _, m := range o.members {
		if err := add(m, r.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// Alter is ALTER ROLE with options or RENAME TO; SET is the caller's.
func Alter(ctx context.Context, e *statement.Env, st *ast.AlterRole) error {
	known, err := e.RoleOf(&st.Name, false)
	if err != nil {
		if st.IfExists && st.Name.Kind == ast.RoleNamed {
			e.Skip(pgerr.SuccessfulCompletion, "role \"%s\" does not exist, skipping", st.Name.Name)
			return nil
		}
		return err
	}
	if known.Reserved() {
		return errReserved(known, "Cannot alter reserved roles.")
	}
	if st.NewName != "" {
		return rename(ctx, e, known, st.NewName)
	}
	o, err := readOptions(e, st.Options)
	if err != nil {
		return err
	}
	if err := mayAlter(e, known, o); err != nil {
		return err
	}
	r, err := e.Coll.LockRole(ctx, known.Name)
	if err != nil {
		return err
	}
	if r == nil {
		return catalog.UndefinedRole(known.Name)
	}
	if r.Oid == catalog.RootOid && (o.isnt("superuser") || o.isnt("login")) {
		return denied("role \"%s\" stays a superuser who can log in", r.Name)
	}
	if err := o.apply(e, r); err != nil {
		return err
	}
	if err := e.Coll.Put(ctx, r); err != nil {
		return err
	}
	return addNamedMembers(ctx, e, r, o)
}

func errReserved(r *catalog.Role, detail string) error {
	return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", r.Name).WithDetail("%s", detail)
}

// mayAlter returns 42501 unless the user may change a role by options.
func mayAlter(e *statement.Env, r *catalog.Role, o *options) error {
	if e.Coll.Me().Super {
		return nil
	}
	switch {
	case r.Superuser || o.has("superuser"):
		return denied("must be superuser to alter superuser roles or change superuser attribute")
	case r.Replication || o.has("replication"):
		return denied("must be superuser to alter replication roles or change replication attribute")
	case o.has("bypassrls"):
		return denied("must be superuser to change bypassrls attribute")
	case !mayCreateRoles(e) && (r.Oid != e.User.Role() || !o.onlyPassword()):
		return denied("permission denied")
	}
	return nil
}

// Comment is COMMENT ON ROLE.
func Comment(ctx context.Context, e *statement.Env, name, text string) error {
	r := e.Coll.RoleByName(name)
	switch {
	case r == nil:
		return catalog.UndefinedRole(name)
	case r.Superuser && !e.Coll.Me().Super:
		return denied("must be superuser")
	case !mayCreateRoles(e):
		return denied("must have CREATEROLE privilege")
	}
	locked, err := e.Coll.LockRole(ctx, name)
	if err != nil {
		return err
	}
	if locked == nil {
		return catalog.UndefinedRole(name)
	}
	locked.Comment = text
	return e.Coll.Put(ctx, locked)
}

// rename is ALTER ROLE RENAME TO.
func rename(ctx context.Context, e *statement.Env, r *catalog.Role, name string) error {
	switch {
	case r.Oid == e.SessionUser.Role():
		return pgerr.Unsupported("session user cannot be renamed")
	case r.Oid == e.User.Role():
		return pgerr.Unsupported("current user cannot be renamed")
	case r.Oid == catalog.RootOid:
		return pgerr.Unsupported("role \"%s\" cannot be renamed", r.Name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	switch {
	case r.Superuser && !e.Coll.Me().Super:
		return denied("must be superuser to rename superusers")
	case !mayCreateRoles(e):
		return denied("permission denied to rename role")
	case e.Coll.RoleByName(name) != nil:
		return pgerr.New(pgerr.DuplicateObject, "role \"%s\" already exists", name)
	}
	locked, err := e.Coll.LockRole(ctx, r.Name)
	if err != nil {
		return err
	}
	if locked == nil {
		return catalog.UndefinedRole(r.Name)
	}
	return e.Coll.RenameRole(ctx, locked, name)
}

// Drop is DROP ROLE, USER and GROUP.
func Drop(ctx context.Context, e *statement.Env, st *ast.DropRole) error {
	if !mayCreateRoles(e) {
		return denied("permission denied to drop role")
	}
	for i := range st.Names {
		s := &st.Names[i]
		if s.Kind != ast.RoleNamed {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot use special role specifier in DROP ROLE").At(s.Pos)
		}
		r := e.Coll.RoleByName(s.Name)
		switch {
		case r == nil && st.IfExists:
			e.Skip(pgerr.SuccessfulCompletion, "role \"%s\" does not exist, skipping", s.Name)
			continue
		case r == nil:
			return catalog.UndefinedRole(s.Name)
		}
		if err := dropRole(ctx, e, r); err != nil {
			return err
		}
	}
	return nil
}

// dropRole drops a role that nothing depends on.
func dropRole(ctx context.Context, e *statement.Env, r *catalog.Role) error {
	switch {
	case r.Oid == e.User.Role():
		return pgerr.New(pgerr.ObjectInUse, "current user cannot be dropped")
	case r.Oid == e.SessionUser.Role():
		return pgerr.New(pgerr.ObjectInUse, "session user cannot be dropped")
	case r.BuiltIn():
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop role %s because it is required by the database system", r.Name)
	case r.Superuser && !e.Coll.Me().Super:
		return denied("must be superuser to drop superusers")
	}
	locked, err := e.Coll.LockRole(ctx, r.Name)
	if err != nil {
		return err
	}
	if locked == nil {
		return catalog.UndefinedRole(r.Name)
	}
	uses, err := dependents(ctx, e, r.Oid)
	if err != nil {
		return err
	}
	if len(uses) > 0 {
		return pgerr.New(pgerr.DependentObjectsStillExist, "role \"%s\" cannot be dropped because some objects depend on it", r.Name).
			WithDetail("%s", strings.Join(uses, "\n"))
	}
	if err := forget(ctx, e, r.Oid); err != nil {
		return err
	}
	return e.Coll.DropRole(ctx, locked)
}

// forget ends the memberships in a role that goes, and drops its settings.
func forget(ctx context.Context, e *statement.Env, oid privilege.Role) error {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		switch d := d.(type) {
		case *catalog.Role:
			in := func(m privilege.Membership) bool { return m.Of == oid }
			if !slices.ContainsFunc(d.MemberOf, in) {
				continue
			}
			m, err := e.Coll.LockRole(ctx, d.Name)
			if err != nil || m == nil {
				return err
			}
			m.MemberOf = slices.DeleteFunc(m.MemberOf, in)
			if err := e.Coll.Put(ctx, m); err != nil {
				return err
			}
		case *catalog.Database:
			if err := forgetSettings(ctx, e, d.ID, d.Settings, oid); err != nil {
				return err
			}
		case *catalog.Cluster:
			if err := forgetSettings(ctx, e, d.ID, d.Settings, oid); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetSettings drops what the sessions of a role begin with, in a database or in the cluster.
func forgetSettings(ctx context.Context, e *statement.Env, id catalog.ID, all []catalog.RoleSettings, role privilege.Role) error {
	if catalog.SettingsOf(all, uint32(role)) == nil {
		return nil
	}
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	d, err := e.Coll.Peek(ctx, id)
	switch d := d.(type) {
	case *catalog.Database:
		n := *d
		n.Settings = catalog.WithSettings(d.Settings, uint32(role), nil)
		return e.Coll.Put(ctx, &n)
	case *catalog.Cluster:
		n := *d
		n.Settings = catalog.WithSettings(d.Settings, uint32(role), nil)
		return e.Coll.Put(ctx, &n)
	}
	return err
}
