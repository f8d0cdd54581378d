package catalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Authority is what a role may act as. It never changes.
type Authority struct {
	Role privilege.Role
	// Super says that it may do everything.
	Super bool
	// roles are those whose privileges it has, itself first; members those that it is a member of, by SET ROLE
	// only or not.
	roles, members []privilege.Role
}

// Has reports whether the role has the privileges of another.
func (a *Authority) Has(r privilege.Role) bool { return a.Super || slices.Contains(a.roles, r) }

// Grants is Has for the grantees of access control lists: what a superuser may do does not come from them.
func (a *Authority) Grants(r privilege.Role) bool { return slices.Contains(a.roles, r) }

// MemberOf reports whether the role may become another by SET ROLE.
func (a *Authority) MemberOf(r privilege.Role) bool { return a.Super || slices.Contains(a.members, r) }

// Roles returns the roles whose privileges it has, itself first.
func (a *Authority) Roles() []privilege.Role { return a.roles }

// Members returns the roles that it is a member of, itself first.
func (a *Authority) Members() []privilege.Role { return a.members }

// graph is the memberships of the roles that a transaction sees. It implements privilege.Graph.
type graph struct {
	roles Roles
	// owner owns the database, and so is a member of DatabaseOwnerRole; 0 if there is no database.
	owner privilege.Role
}

// MemberOf implements privilege.Graph.
func (g graph) MemberOf(r privilege.Role) []privilege.Membership {
	var list []privilege.Membership
	if d := g.roles.RoleByOid(r); d != nil {
		list = d.MemberOf
	}
	if r == g.owner && r != 0 {
		return append(slices.Clip(list), privilege.Membership{Of: DatabaseOwnerOid, Grantor: RootOid})
	}
	return list
}

// Inherits implements privilege.Graph.
func (g graph) Inherits(r privilege.Role) bool {
	d := g.roles.RoleByOid(r)
	return d != nil && !d.NoInherit
}

// Memberships returns the graph of memberships that the transaction sees.
func (c *Collection) Memberships() privilege.Graph { return c.memberships() }

func (c *Collection) memberships() graph {
	g := graph{roles: c}
	if c.db != nil {
		g.owner = c.CurrentDatabase().Owner.Role()
	}
	return g
}

// authorityOf computes the authority of a role.
func authorityOf(g graph, role privilege.Role) *Authority {
	a := &Authority{Role: role, roles: privilege.Roles(g, role, true), members: privilege.Roles(g, role, false)}
	d := g.roles.RoleByOid(role)
	a.Super = d != nil && d.Superuser || slices.Contains(a.roles, adminOid)
	return a
}

// maxAuthorities bounds how many roles a session remembers the authority of.
const maxAuthorities = 64

// authorities remembers what was computed of the roles as they are.
type authorities struct {
	generation uint64
	database   ID
	log        int // of changes
	of         map[privilege.Role]*Authority
}

// Me returns what the session's user may act as.
func (c *Collection) Me() *Authority { return c.Authority(c.User()) }

// Authority returns what a role may act as, as the transaction sees the catalog.
func (c *Collection) Authority(role privilege.Role) *Authority {
	known := &c.authorities
	gen, log := c.Generation(), 0
	if c.changes != nil {
		log = len(c.changes.log)
	}
	var db ID
	if c.db != nil {
		db = c.db.ID
	}
	if known.generation != gen || known.log != log || known.database != db || len(known.of) >= maxAuthorities {
		*known = authorities{generation: gen, log: log, database: db}
	}
	a := known.of[role]
	if a == nil {
		a = authorityOf(c.memberships(), role)
		if known.of == nil {
			known.of = map[privilege.Role]*Authority{}
		}
		known.of[role] = a
	}
	return a
}

// Superuser reports whether a committed role may do everything.
func (s *Store) Superuser(r *Role) bool { return authorityOf(graph{roles: s}, r.Oid).Super }

// MemberOf reports whether a committed role is a member of another, however indirectly, or is it.
func (s *Store) MemberOf(r, of *Role) bool {
	return slices.Contains(authorityOf(graph{roles: s}, r.Oid).members, of.Oid)
}
