package access

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Roles is what is asked about roles. catalog.Collection implements it.
type Roles interface {
	User() privilege.Role
	Authority(privilege.Role) *catalog.Authority
	RoleByOid(privilege.Role) *catalog.Role
	ReadsPast() bool
	Known(catalog.ID) catalog.Descriptor
}

// Present returns t with the policies and the owner that it has at present, for a statement that reads the past; a relation that
// is gone has those that it had.
func Present(c Roles, t *catalog.Table) *catalog.Table {
	if !c.ReadsPast() {
		return t
	}
	present, ok := c.Known(t.ID).(*catalog.Table)
	if !ok {
		return t
	}
	n := *t
	n.Owner, n.RowSecurity, n.ForceRowSecurity, n.Policies = present.Owner, present.RowSecurity, present.ForceRowSecurity, present.Policies
	return &n
}

// RowsGuarded reports whether the policies of t say which of its rows a role sees; owner that it owns t. Superusers and
// roles with BYPASSRLS see all rows, as owners do unless FORCE says otherwise.
func RowsGuarded(c Roles, role privilege.Role, t *catalog.Table) (guarded, owner bool) {
	if !t.RowSecurity {
		return false, false
	}
	a := c.Authority(role)
	if r := c.RoleByOid(role); a.Super || r != nil && r.BypassRLS {
		return false, false
	}
	owner = a.Has(t.Owner.Role())
	return !owner || t.ForceRowSecurity, owner
}

// Policies returns the policies of t that are for a command and a role, in the order of their names: one of the
// permissive ones and all restrictive ones must hold.
func Policies(a *catalog.Authority, t *catalog.Table, command byte) (permissive, restrictive []*catalog.Policy) {
	for i := range t.Policies {
		p := &t.Policies[i]
		switch {
		case !p.For(command) || !p.Of(a):
		case p.Restrictive:
			restrictive = append(restrictive, p)
		default:
			permissive = append(permissive, p)
		}
	}
	return permissive, restrictive
}

// SeesKeys reports whether the user may read all rows and columns of a table, so that its keys are for it to see.
func SeesKeys(c *catalog.Collection, t *catalog.Table) bool {
	has, _ := OnTable(c.Me(), t, privilege.Select)
	guarded, _ := RowsGuarded(c, c.User(), t)
	return has != 0 && !guarded
}

// Shown says which values of a table's rows errors may show the user: of columns that it may read, of no row if policies hide rows from
// it. The zero value shows all.
type Shown struct {
	none bool
	may  func(column int) bool // nil: all columns
}

// ShownTo returns what errors may show the session's user of a table.
func ShownTo(c *catalog.Collection, t *catalog.Table) Shown {
	if guarded, _ := RowsGuarded(c, c.User(), t); guarded {
		return Shown{none: true}
	}
	a := c.Me()
	if has, _ := OnTable(a, t, privilege.Select); has != 0 {
		return Shown{}
	}
	return Shown{may: func(i int) bool {
		has, _ := OnColumn(a, t, i, privilege.Select)
		return has != 0
	}}
}

// All reports whether all columns may be shown.
func (s Shown) All() bool { return !s.none && s.may == nil }

// None reports whether nothing of any row may be shown.
func (s Shown) None() bool { return s.none }

// Columns reports whether some columns may be shown.
func (s Shown) Columns(list []int) bool {
	if s.none || s.may == nil {
		return !s.none
	}
	for _, i := range list {
		if !s.may(i) {
			return false
		}
	}
	return true
}

// Column reports whether a column may be shown.
func (s Shown) Column(i int) bool { return !s.none && (s.may == nil || s.may(i)) }
