package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// hiddenPassword stands for passwords where everybody may look.
const hiddenPassword = "********"

// roleName is the name of a role, or its oid if it is gone.
func (s *snapshot) roleName(oid privilege.Role) string {
	if r := s.c.h.Coll.RoleByOid(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + strconv.FormatUint(uint64(oid), 10) + ")"
}

// acl sets an access control list, which is NULL for the one that objects have at first.
func (w *writer) acl(column string, list privilege.ACL) {
	if list != nil && w.needs(column) {
		w.set(column, aclArray(list))
	}
}

func aclArray(list privilege.ACL) types.Datum {
	items := make([]types.Datum, len(list))
	for i, it := range list {
		items[i] = types.NewACLItem(types.ACLItemValue{
			Grantee: uint32(it.Grantee), Grantor: uint32(it.Grantor), Privileges: uint16(it.Privileges), Grantables: uint16(it.Options),
		})
	}
	return types.NewArray(items)
}

// pgDefaultACL lists the privileges of objects that there will be.
func pgDefaultACL(s *snapshot, w *writer) error {
	return s.eachRole(func(r *catalog.Role) {
		for _, d := range r.Defaults {
			if d.Database != s.db.ID {
				continue
			}
			w.oid("oid", d.Oid)
			w.oid("defaclrole", uint32(r.Oid))
			w.oid("defaclnamespace", s.schemaOidOf(d.Schema))
			w.str("defaclobjtype", string(defaultLetters[d.Kind]))
			w.acl("defaclacl", d.ACL)
			w.done()
		}
	})
}

// defaultLetters are the letters of kinds of objects in pg_default_acl.
var defaultLetters = map[privilege.Kind]byte{
	privilege.Table: 'r', privilege.Sequence: 'S', privilege.Function: 'f', privilege.Type: 'T', privilege.Schema: 'n',
}

// schemaOidOf returns the oid of a schema, 0 if it is gone.
func (s *snapshot) schemaOidOf(id catalog.ID) uint32 {
	for _, x := range s.schemas() {
		if x.ID == id {
			return x.Oid
		}
	}
	return 0
}

// maySee reports whether the user may see what a session does.
func (s *snapshot) maySee(a *Activity) bool {
	me := s.c.h.Coll.Me()
	u := s.c.h.Coll.RoleByName(a.User)
	return me.Super || me.Grants(catalog.ReadAllStatsOid) || u != nil && me.Has(u.Oid)
}

// accessible reports whether the user owns a relation or has some privilege on it or its columns: what
// information_schema shows.
func (s *snapshot) accessible(t *catalog.Table) bool {
	me := s.c.h.Coll.Me()
	return me.Has(t.Owner.Role()) || access.OnAnyColumn(me, t, access.Kind(t).All()|privilege.Column.All()) != 0
}

// mayRead reports whether the user may read a column of all rows.
func (s *snapshot) mayRead(t *catalog.Table, c *catalog.Column) bool {
	me := s.c.h.Coll.Me()
	if guarded, _ := access.RowsGuarded(s.c.h.Coll, me.Role, t); guarded {
		return false
	}
	if on, _ := access.OnTable(me, t, privilege.Select); on != 0 {
		return true
	}
	i := t.ColumnByID(c.ID)
	on, _ := access.OnColumn(me, t, max(i, 0), privilege.Select)
	return i >= 0 && on != 0
}

// accessibleColumn reports whether the user may do something with a column.
func (s *snapshot) accessibleColumn(t *catalog.Table, c *catalog.Column) bool {
	me := s.c.h.Coll.Me()
	if on, _ := access.OnTable(me, t, privilege.Column.All()); on != 0 || me.Has(t.Owner.Role()) {
		return true
	}
	i := t.ColumnByID(c.ID)
	on, _ := access.OnColumn(me, t, max(i, 0), privilege.Column.All())
	return i >= 0 && on != 0
}

// eachRole calls f for every role.
func (s *snapshot) eachRole(f func(*catalog.Role)) error {
	all, err := s.c.h.Coll.AllRoles(s.ctx)
	for _, r := range all {
		f(r)
	}
	return err
}

// pgAuthid lists the roles.
func pgAuthid(s *snapshot, w *writer) error {
	return s.eachRole(func(r *catalog.Role) {
		roleColumns(w, r)
		if r.Verifier != "" {
			w.str("rolpassword", r.Verifier)
		}
		w.done()
	})
}

func roleColumns(w *writer, r *catalog.Role) {
	w.oid("oid", uint32(r.Oid))
	w.str("rolname", r.Name)
	w.flag("rolinherit", !r.NoInherit)
	w.flag("rolcanlogin", r.Login)
	w.flag("rolsuper", r.Superuser)
	w.flag("rolcreaterole", r.CreateRole)
	w.flag("rolcreatedb", r.CreateDB)
	w.flag("rolreplication", r.Replication)
	w.flag("rolbypassrls", r.BypassRLS)
	w.num("rolconnlimit", int64(r.ConnectionLimit))
	w.set("rolvaliduntil", validUntil(r))
}

// validUntil is when the password of a role ends to be valid.
func validUntil(r *catalog.Role) types.Datum {
	if r.ValidUntil == nil {
		return types.Null
	}
	return types.NewTimestampTZ(*r.ValidUntil)
}

// pgRoles is the view of roles.
func pgRoles(s *snapshot, w *writer) error {
	return s.eachRole(func(r *catalog.Role) {
		roleColumns(w, r)
		w.str("rolpassword", hiddenPassword)
		w.set("rolconfig", s.roleConfig(r))
		w.done()
	})
}

// roleConfig is what the sessions of a role begin with in all databases.
func (s *snapshot) roleConfig(r *catalog.Role) types.Datum {
	list := catalog.SettingsOf(s.c.h.Coll.Store().ClusterSettings(), uint32(r.Oid))
	if len(list) == 0 {
		return types.Null
	}
	return settingTexts(list)
}

// settingTexts is a list of settings as PostgreSQL's catalogs have it.
func settingTexts(settings []catalog.Setting) types.Datum {
	list := make([]string, len(settings))
	for i, v := range settings {
		list[i] = v.Name + "=" + v.Value
	}
	return texts(list)
}

// pgAuthMembers lists which roles are members of which.
func pgAuthMembers(s *snapshot, w *writer) error {
	return s.eachRole(func(r *catalog.Role) {
		for _, m := range r.MemberOf {
			w.oid("roleid", uint32(m.Of))
			w.oid("member", uint32(r.Oid))
			w.oid("grantor", uint32(m.Grantor))
			w.flag("admin_option", m.Admin)
			w.done()
		}
	})
}

// pgGroup is the view of roles that cannot log in, by its older name.
func pgGroup(s *snapshot, w *writer) error {
	members := map[privilege.Role][]uint32{}
	if err := s.eachRole(func(r *catalog.Role) {
		for _, m := range r.MemberOf {
			members[m.Of] = append(members[m.Of], uint32(r.Oid))
		}
	}); err != nil {
		return err
	}
	return s.eachRole(func(r *catalog.Role) {
		if r.Login {
			return
		}
		w.str("groname", r.Name)
		w.oid("grosysid", uint32(r.Oid))
		w.set("grolist", oids(members[r.Oid]))
		w.done()
	})
}

// pgUser is the view of roles that may log in, also under its older name, which has their verifiers.
func pgUser(s *snapshot, w *writer) error {
	return s.eachRole(func(r *catalog.Role) {
		if !r.Login {
			return
		}
		w.str("usename", r.Name)
		w.oid("usesysid", uint32(r.Oid))
		w.flag("usecreatedb", r.CreateDB)
		w.flag("usesuper", r.Superuser)
		w.flag("userepl", r.Replication)
		w.flag("usebypassrls", r.BypassRLS)
		w.set("valuntil", validUntil(r))
		w.set("useconfig", s.roleConfig(r))
		if w.t.Name == "pg_user" {
			w.str("passwd", hiddenPassword)
		} else if r.Verifier != "" {
			w.str("passwd", r.Verifier)
		}
		w.done()
	})
}
