package roles

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// mayAdminister returns 42501 unless the user may make others members of a role.
func mayAdminister(e *statement.Env, r *catalog.Role) error {
	switch {
	case e.Coll.Me().Super:
		return nil
	case r.Superuser || r.Name == catalog.AdminRole:
		return denied("must be superuser to alter superusers")
	case mayCreateRoles(e), privilege.Administers(e.Coll.Memberships(), e.User.Role(), r.Oid):
		return nil
	}
	return denied("must have admin option on role \"%s\"", r.Name)
}

// grantMembership is GRANT and REVOKE of roles.
func grantMembership(ctx context.Context, e *statement.Env, st *ast.Grant) error {
	grantor, err := membershipGrantor(e, st.GrantedBy)
	if err != nil {
		return err
	}
	for _, p := range st.Privileges {
		if len(p.Cols) > 0 {
			return pgerr.New(pgerr.InvalidGrantOperation, "column names cannot be included in GRANT/REVOKE ROLE")
		}
		of := e.Coll.RoleByName(p.Name)
		if of == nil {
			return catalog.UndefinedRole(p.Name)
		}
		for i := range st.Roles {
			member, err := e.RoleOf(&st.Roles[i], false)
			if err != nil {
				return err
			}
			if err := mayAdminister(e, of); err != nil {
				return err
			}
			if st.Revoke {
				err = removeMember(ctx, e, member.Name, of, st.WithGrant)
			} else {
				err = addMember(ctx, e, member.Name, of.Name, st.WithGrant, grantor)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// membershipGrantor returns who is noted to have granted memberships.
func membershipGrantor(e *statement.Env, by *ast.RoleSpec) (privilege.Role, error) {
	if by == nil {
		return e.User.Role(), nil
	}
	r, err := e.RoleOf(by, false)
	if err != nil {
		return 0, err
	}
	if r.Oid != e.User.Role() && !e.Coll.Me().Super {
		return 0, denied("must be superuser to set grantor")
	}
	return r.Oid, nil
}

// addMember makes a role a member of another.
func addMember(ctx context.Context, e *statement.Env, member, of string, admin bool, grantor privilege.Role) error {
	to := e.Coll.RoleByName(of)
	if to.Oid == catalog.DatabaseOwnerOid {
		return pgerr.New(pgerr.InvalidGrantOperation, "role \"%s\" cannot have explicit members", of)
	}
	r, err := e.Coll.LockRole(ctx, member)
	switch {
	case err != nil:
		return err
	case r == nil:
		return catalog.UndefinedRole(member)
	case r.Oid == catalog.DatabaseOwnerOid:
		return pgerr.New(pgerr.InvalidGrantOperation, "role \"%s\" cannot be a member of any role", member)
	case privilege.Circular(e.Coll.Memberships(), r.Oid, to.Oid):
		return pgerr.New(pgerr.InvalidGrantOperation, "role \"%s\" is a member of role \"%s\"", of, member)
	}
	i := slices.IndexFunc(r.MemberOf, func(m privilege.Membership) bool { return m.Of == to.Oid })
	switch {
	case i < 0:
		r.MemberOf = append(r.MemberOf, privilege.Membership{Of: to.Oid, Grantor: grantor, Admin: admin})
	case !admin || r.MemberOf[i].Admin:
		e.Skip(pgerr.SuccessfulCompletion, "role \"%s\" is already a member of role \"%s\"", member, of)
		return nil
	default:
		r.MemberOf[i].Admin, r.MemberOf[i].Grantor = true, grantor
	}
	return e.Coll.Put(ctx, r)
}

// removeMember ends a membership, or the ADMIN OPTION of one.
func removeMember(ctx context.Context, e *statement.Env, member string, of *catalog.Role, optionOnly bool) error {
	r, err := e.Coll.LockRole(ctx, member)
	if err != nil {
		return err
	}
	if r == nil {
		return catalog.UndefinedRole(member)
	}
	i := slices.IndexFunc(r.MemberOf, func(m privilege.Membership) bool { return m.Of == of.Oid })
	switch {
	case i < 0:
		e.Notify("WARNING", pgerr.New(pgerr.Warning, "role \"%s\" is not a member of role \"%s\"", member, of.Name))
		return nil
	case optionOnly:
		r.MemberOf[i].Admin = false
	default:
		r.MemberOf = slices.Delete(r.MemberOf, i, i+1)
	}
	return e.Coll.Put(ctx, r)
}
