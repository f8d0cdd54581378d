package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// SystemRoutines returns the functions that are built in, and those of the database's extensions: of a name, of all names if it is empty, in
// a schema, or where names without a schema are looked up if that is empty.
func (c *Catalog) SystemRoutines(schema, name string) (out []access.SystemRoutine) {
	list := routines().all
	if name != "" {
		list = routines().byName[name]
	}
	list = slices.Clip(list)
	if s, err := c.snapshot(c.ctx()); err == nil {
		for _, x := range s.extensions() {
			for _, r := range x.routines() {
				if name == "" || r.name == name {
					list = append(list, r)
				}
			}
		}
	}
	for _, r := range list {
		if schema == "" && r.schemaName() != nameInformationSchema && (r.schemaText == "" || c.onPath(r)) || r.schemaName() == schema {
			out = append(out, access.SystemRoutine{Oid: r.oid, Name: r.name, Signature: c.signature(r), Args: r.args, Restricted: r.restricted})
		}
	}
	return out
}

// DescribeBuiltIn names what is built in, and has a list, as messages about what depends on a role do.
func (c *Catalog) DescribeBuiltIn(x privilege.SystemACL) string {
	oid := x.Oid
	switch x.Kind {
	case privilege.Table, privilege.Column:
		if t := c.h.Coll.BuiltInByOid(oid); t != nil {
			return c.describeColumn(t, x.Column)
		}
	case privilege.Function:
		if r := c.routineByOid(oid); r != nil {
			return "function " + c.signature(r)
		}
	case privilege.Type:
		if t, ok := types.ByOid(oid); ok {
			return "type " + types.FormatType(t)
		}
	case privilege.Language:
		for _, l := range access.Languages {
			if l.Oid == oid {
				return "language " + l.Name
			}
		}
	}
	return "an object of the system"
}

// describeColumn names a column of a relation that is built in, or the relation if that is 0.
func (c *Catalog) describeColumn(t *catalog.Table, attnum int16) string {
	what := "table "
	if t.BuiltInView {
		what = "view "
	}
	name, _ := c.relationName(t.Oid)
	what += name
	for i := range t.Columns {
		if t.Columns[i].Attnum == attnum {
			return "column " + t.Columns[i].Name + " of " + what
		}
	}
	return what
}

// pgParameterACL lists the parameters on which something was granted.
func pgParameterACL(s *snapshot, w *writer) error {
	for _, x := range s.c.h.Coll.ClusterACLs() {
		w.oid("oid", x.Oid)
		w.str("parname", x.Name)
		w.acl("paracl", x.ACL)
		w.done()
	}
	return nil
}

// builtInACL is what was granted on a function of the system or of an extension; nil if it is what it was at first.
func (s *snapshot) builtInACL(r *routine) privilege.ACL {
	return privilege.FindSystemACL(s.c.h.Coll.DatabaseACLs(), privilege.Function, r.oid)
}

// aclColumns are those of tables whose fixed rows are of objects that something may be granted on.
var aclColumns = map[string]struct {
	kind   privilege.Kind
	column string
}{
	"pg_proc": {privilege.Function, "proacl"}, "pg_type": {privilege.Type, "typacl"}, "pg_language": {privilege.Language, "lanacl"},
}

// withGrants returns a fixed row as it is in the database, where something may have been granted on the object.
func (s *snapshot) withGrants(t *catalog.Table, r types.Row) types.Row {
	all := s.c.h.Coll.DatabaseACLs()
	if all == nil {
		return r
	}
	c, ok := aclColumns[t.Name]
	if !ok {
		return r
	}
	list := privilege.FindSystemACL(all, c.kind, uint32(r[0].Int())) // the oid comes first
	if list == nil {
		return r
	}
	i, _ := t.ColumnByName(c.column)
	r = slices.Clone(r)
	r[i] = aclArray(list)
	return r
}

// onRoutine returns whether a role may call a routine, and grant that on.
func (c *Catalog) onRoutine(who *catalog.Authority, r *routine, want privilege.Bits) (has, options privilege.Bits) {
	if r.user != nil {
		return access.OnTable(who, r.user, want)
	}
	return access.OnFunction(who, c.h.Coll.DatabaseACLs(), r.oid, r.restricted, want)
}
