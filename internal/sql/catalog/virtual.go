package catalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/privilege"
)

// virtualCatalog finds the built-in schemas and relations. It never changes.
type virtualCatalog struct {
	all     []VirtualSchema
	schemas map[string]*Schema
	byID    map[ID]Descriptor
	byOid   map[uint32]*Table
	byType  map[uint32]*Table  // by the oids of their row types, and of these types' arrays
	names   map[NameKey]*Table // Database is 0
}

func (v *virtualCatalog) init(all []VirtualSchema) {
	*v = virtualCatalog{
		all: all, schemas: map[string]*Schema{}, byID: map[ID]Descriptor{},
		byOid: map[uint32]*Table{}, byType: map[uint32]*Table{}, names: map[NameKey]*Table{},
	}
	for _, s := range all {
		v.schemas[s.Schema.Name] = s.Schema
		v.byID[s.Schema.ID] = s.Schema
		for _, t := range s.Tables {
			v.byID[t.ID] = t
			v.byOid[t.Oid] = t
			v.byType[t.Oid], v.byType[t.RowArrayOid] = t, t
			v.names[NameKey{Schema: s.Schema.ID, Name: t.Name}] = t
		}
	}
}

// BuiltInOfType returns the built-in relation whose rows, or arrays of whose rows, have the type
// with an oid; nil if there is none.
func (c *Collection) BuiltInOfType(oid uint32) *Table { return c.builtIn(c.store.virtual.byType[oid]) }

// builtIn returns a built-in relation as the current database has it: with what was granted there. nil stays nil.
func (c *Collection) builtIn(t *Table) *Table {
	all := c.DatabaseACLs()
	if t == nil || !privilege.OnRelation(all, t.Oid) {
		return t
	}
	own := *t
	if list := privilege.FindSystemACL(all, privilege.Table, t.Oid); list != nil {
		own.ACL = list
	}
	own.Columns = slices.Clone(t.Columns)
	for i := range own.Columns {
		own.Columns[i].ACL = privilege.FindColumnACL(all, t.Oid, own.Columns[i].Attnum)
	}
	return &own
}
