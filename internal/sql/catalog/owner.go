package catalog

import "github.com/lichendb/lichen/internal/sql/privilege"

// SetOwner gives the table another owner, who has then granted what the old one had. The columns are the
// table's own to change.
func (t *Table) SetOwner(o Owner) {
	old := t.Owner.Role()
	t.ACL = t.ACL.WithOwner(old, o.Role())
	for i := range t.Columns {
		t.Columns[i].ACL = t.Columns[i].ACL.WithOwner(old, o.Role())
	}
	t.Owner = o
}

// SetOwner gives the schema another owner.
func (s *Schema) SetOwner(o Owner) {
	if s.ACL == nil && s.open() {
		s.ACL = s.Privileges() // which does not follow from the new owner
	}
	s.ACL, s.Owner = s.ACL.WithOwner(s.Owner.Role(), o.Role()), o
}

// open reports whether everybody may use the schema as it was made: it is public, or built in.
func (s *Schema) open() bool { return s.Owner == DatabaseOwnerOid || s.ID.IsVirtual() }

// Privileges is who may do what with the schema.
func (s *Schema) Privileges() privilege.ACL {
	if s.ACL == nil && s.open() {
		everybody := privilege.Item{Grantee: privilege.Public, Grantor: s.Owner.Role(), Privileges: privilege.Usage}
		return append(privilege.Schema.Default(s.Owner.Role()), everybody)
	}
	return s.ACL.Or(privilege.Schema, s.Owner.Role())
}

// SetOwner gives the database another owner.
func (d *Database) SetOwner(o Owner) {
	d.ACL, d.Owner = d.ACL.WithOwner(d.Owner.Role(), o.Role()), o
}

// DefaultACL returns the list of a new object of a kind that the role makes in a schema; nil where that is the one
// that all objects of the kind have at first.
func (r *Role) DefaultACL(db, schema ID, kind privilege.Kind) privilege.ACL {
	list, found := kind.Default(r.Oid), false
	for i := range r.Defaults {
		if d := &r.Defaults[i]; d.Database == db && d.Schema == 0 && d.Kind == kind {
			list, found = d.ACL, true
		}
	}
	for i := range r.Defaults {
		d := &r.Defaults[i]
		if d.Database != db || d.Schema != schema || schema == 0 || d.Kind != kind {
			continue
		}
		found = true
		for _, it := range d.ACL {
			list, _ = list.Grant(r.Oid, it.Grantor, it.Grantee, it.Privileges, it.Options) // by the owner: nothing is circular
		}
	}
	if !found {
		return nil
	}
	return list
}
