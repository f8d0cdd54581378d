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
	s.ACL, s.Owner = s.ACL.WithOwner(s.Owner.Role(), o.Role()), o
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
