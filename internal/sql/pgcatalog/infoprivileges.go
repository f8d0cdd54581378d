package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// granted emits a row of a view of privileges for each that a list has of those wanted: of lists that the user has a part in, as
// grantor or grantee, or, but in the views of role_..._grants, as one of all. more sets the other columns.
func (s *snapshot) granted(w *writer, list privilege.ACL, owner catalog.Owner, want privilege.Bits, more func(privilege string)) {
	me := s.c.h.Coll.Me()
	everybody := !strings.HasPrefix(w.t.Name, "role_")
	for _, it := range list {
		if !me.Has(it.Grantor) && !(it.Grantee == privilege.Public && everybody) && !(it.Grantee != privilege.Public && me.Has(it.Grantee)) {
			continue
		}
		grantee, all := "PUBLIC", false
		if it.Grantee != privilege.Public {
			grantee, all = s.roleName(it.Grantee), s.c.h.Coll.Authority(it.Grantee).Has(owner.Role())
		}
		for bit := privilege.Bits(1); bit != 0; bit <<= 1 {
			if it.Privileges&want&bit == 0 {
				continue
			}
			w.str("grantor", s.roleName(it.Grantor))
			w.str("grantee", grantee)
			w.str("is_grantable", yesNo(all || it.Options&bit != 0))
			name := strings.ToUpper(bit.String())
			w.str("privilege_type", name)
			more(name)
			w.done()
		}
	}
}

// eachOfRows calls f for the tables and views.
func (s *snapshot) eachOfRows(f func(*catalog.Table)) {
	for _, t := range s.relations() {
		if t.Kind != catalog.KindSequence && !t.Materialized() {
			f(t)
		}
	}
}

// isTablePrivileges is information_schema.table_privileges and role_table_grants.
func isTablePrivileges(s *snapshot, w *writer) error {
	s.eachOfRows(func(t *catalog.Table) {
		s.granted(w, t.ACL.Or(privilege.Table, t.Owner.Role()), t.Owner, privilege.Table.All(), func(p string) {
			s.place(w, "table", t)
			w.str("with_hierarchy", yesNo(p == "SELECT"))
		})
	})
	return nil
}

// isColumnPrivileges is information_schema.column_privileges and role_column_grants: what is granted on a table is granted on all
// of its columns.
func isColumnPrivileges(s *snapshot, w *writer) error {
	s.eachOfRows(func(t *catalog.Table) {
		whole := t.ACL.Or(privilege.Table, t.Owner.Role())
		for _, c := range visibleColumns(t) {
			s.granted(w, whole.OfColumn(c.ACL), t.Owner, privilege.Column.All(), func(string) {
				s.place(w, "table", t)
				w.str("column_name", c.Name)
			})
		}
	})
	return nil
}

// isRoutinePrivileges is information_schema.routine_privileges and role_routine_grants.
func isRoutinePrivileges(s *snapshot, w *writer) error {
	for _, r := range s.allRoutines() {
		list, owner := s.privileges(r)
		s.granted(w, list, owner, privilege.Execute, func(string) {
			s.routinePlace(w, r)
			s.named(w, "routine", r.schemaName(), r.name)
		})
	}
	return nil
}

// privileges is who may call a routine, and who owns it.
func (s *snapshot) privileges(r *routine) (privilege.ACL, catalog.Owner) {
	if r.user != nil {
		return r.user.ACL.Or(privilege.Function, r.user.Owner.Role()), r.user.Owner
	}
	return access.FunctionACL(s.c.h.Coll.DatabaseACLs(), r.oid, r.restricted), catalog.RootOid
}

// isUDTPrivileges is information_schema.udt_privileges and role_udt_grants: of composite types, and of the row types of tables and
// views, on which nobody grants anything.
func isUDTPrivileges(s *snapshot, w *writer) error {
	row := func(t *catalog.Table, list privilege.ACL) {
		s.granted(w, list, t.Owner, privilege.Usage, func(string) {
			s.place(w, "udt", t)
			w.str("privilege_type", "TYPE USAGE")
		})
	}
	for _, t := range s.composites() {
		row(t, t.ACL.Or(privilege.Type, t.Owner.Role()))
	}
	for _, t := range s.tables() {
		if t.Kind != catalog.KindSequence {
			row(t, privilege.Type.Default(t.Owner.Role()))
		}
	}
	return nil
}

// isUsagePrivileges is information_schema.usage_privileges and role_usage_grants, of domains and sequences.
func isUsagePrivileges(s *snapshot, w *writer) error {
	row := func(t *catalog.Table, kind string, list privilege.ACL) {
		s.granted(w, list, t.Owner, privilege.Usage, func(string) {
			s.place(w, "object", t)
			w.str("object_type", kind)
		})
	}
	for _, t := range s.tables() {
		if t.Kind == catalog.KindSequence {
			row(t, "SEQUENCE", t.ACL) // PostgreSQL shows what was granted only
		}
	}
	return s.eachType(types.DefDomain, func(d *catalog.Table, _ *types.Def) {
		row(d, "DOMAIN", d.ACL.Or(privilege.Type, d.Owner.Role()))
	})
}

// isEnabledRoles is information_schema.enabled_roles: those whose privileges the user has.
func isEnabledRoles(s *snapshot, w *writer) error {
	me := s.c.h.Coll.Me()
	return s.eachRole(func(r *catalog.Role) {
		if me.Has(r.Oid) {
			w.str("role_name", r.Name)
			w.done()
		}
	})
}

// isApplicableRoles is information_schema.applicable_roles, and administrable_role_authorizations: memberships of the roles whose
// privileges the user has.
func isApplicableRoles(s *snapshot, w *writer) error {
	me, all := s.c.h.Coll.Me(), w.t.Name == "applicable_roles"
	memberships := s.c.h.Coll.Memberships()
	return s.eachRole(func(r *catalog.Role) {
		if !me.Has(r.Oid) {
			return
		}
		for _, m := range memberships.MemberOf(r.Oid) {
			if m.Admin || all {
				w.str("grantee", r.Name)
				w.str("role_name", s.roleName(m.Of))
				w.str("is_grantable", yesNo(m.Admin))
				w.done()
			}
		}
	})
}
