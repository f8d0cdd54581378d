package access

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// mask is ACL.Mask, but that superusers may do everything.
func mask(a *catalog.Authority, acl privilege.ACL, owner catalog.Owner, want privilege.Bits) (has, options privilege.Bits) {
	if a.Super {
		return want, want
	}
	return acl.Mask(owner.Role(), a.Grants, want)
}

// Kind returns the kind of a relation, type or routine.
func Kind(t *catalog.Table) privilege.Kind {
	switch t.Kind {
	case catalog.KindSequence:
		return privilege.Sequence
	case catalog.KindType:
		return privilege.Type
	case catalog.KindRoutine:
		return privilege.Function
	}
	return privilege.Table
}

// Writes are the privileges by which the rows of a table change.
const writes = privilege.Insert | privilege.Update | privilege.Delete

// OnTable returns which privileges a role has on a relation, type or routine, and which of them it may grant on.
func OnTable(a *catalog.Authority, t *catalog.Table, want privilege.Bits) (has, options privilege.Bits) {
	has, options = mask(a, t.ACL.Or(Kind(t), t.Owner.Role()), t.Owner, want)
	if a.Grants(catalog.ReadAllDataOid) {
		has |= want & privilege.Select
	}
	if a.Grants(catalog.WriteAllDataOid) && t.Kind != catalog.KindVirtual {
		has |= want & writes
	}
	return has, options
}

// OnColumn is OnTable for what is granted on a column itself.
func OnColumn(a *catalog.Authority, t *catalog.Table, column int, want privilege.Bits) (has, options privilege.Bits) {
	return mask(a, t.Columns[column].ACL, t.Owner, want)
}

// onAnyColumn returns the privileges that a role has on some column itself.
func onAnyColumn(a *catalog.Authority, t *catalog.Table, want privilege.Bits) (has privilege.Bits) {
	for i := range t.Columns {
		on, _ := OnColumn(a, t, i, want)
		has |= on
	}
	return has
}

// OnAnyColumn returns the privileges that a role has on a relation or on some of its columns.
func OnAnyColumn(a *catalog.Authority, t *catalog.Table, want privilege.Bits) privilege.Bits {
	has, _ := OnTable(a, t, want)
	return has | onAnyColumn(a, t, want)
}

// OnSchema returns which privileges a role has on a schema of the session, and which of them it may
// grant on. The session's temporary schema is open to it.
func OnSchema(c *catalog.Collection, a *catalog.Authority, s *catalog.Schema, want privilege.Bits) (has, options privilege.Bits) {
	if s.Temp != nil && c.OwnTemp(s) {
		return want, want
	}
	has, options = mask(a, s.Privileges(), s.Owner, want)
	if a.Grants(catalog.ReadAllDataOid) || a.Grants(catalog.WriteAllDataOid) {
		has |= want & privilege.Usage
	}
	return has, options
}

// OnDatabase returns which privileges a role has on a database, and which of them it may grant on.
func OnDatabase(a *catalog.Authority, d *catalog.Database, want privilege.Bits) (has, options privilege.Bits) {
	return mask(a, d.ACL.Or(privilege.Database, d.Owner.Role()), d.Owner, want)
}
