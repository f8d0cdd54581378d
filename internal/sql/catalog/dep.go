package catalog

import "github.com/lichendb/lichen/internal/sql/privilege"

// Dep is a descriptor in the version that something, for example a plan, was
// made from.
type Dep struct {
	ID      ID
	Version uint64
}

// VirtualBase is the first id of descriptors that are not stored: the relations
// and schemas of pg_catalog and information_schema. They are never changed, so
// they need no pin.
const VirtualBase ID = 1 << 62

// IsVirtual reports whether id belongs to a built-in schema or relation.
func (id ID) IsVirtual() bool { return id >= VirtualBase }

// Ident returns what all kinds of descriptors have in common.
type Ident struct {
	ID      ID
	Oid     uint32
	Version uint64
	Name    string
	Owner   privilege.Role
}

// Descriptor is a *Cluster, *Database, *Schema, *Table or *Role.
type Descriptor interface {
	// Ident returns the descriptor's common fields.
	Ident() Ident
	withVersion(v uint64) Descriptor
}

// Ident implements Descriptor.
func (d *Database) Ident() Ident { return Ident{d.ID, d.Oid, d.Version, d.Name, d.Owner.Role()} }

// Ident implements Descriptor.
func (s *Schema) Ident() Ident { return Ident{s.ID, s.Oid, s.Version, s.Name, s.Owner.Role()} }

// Ident implements Descriptor.
func (t *Table) Ident() Ident { return Ident{t.ID, t.Oid, t.Version, t.Name, t.Owner.Role()} }

func (d *Database) withVersion(v uint64) Descriptor {
	c := *d
	c.Version = v
	return &c
}

func (s *Schema) withVersion(v uint64) Descriptor {
	c := *s
	c.Version = v
	return &c
}

func (t *Table) withVersion(v uint64) Descriptor {
	c := *t
	c.Version = v
	c.prepare()
	return &c
}
