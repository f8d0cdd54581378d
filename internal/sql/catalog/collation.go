package catalog

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/types"
)

// The providers of collations, as in pg_collation.collprovider.
const (
	ProviderICU  byte = 'i'
	ProviderLibc byte = 'c'
)

// CollationDef is what a user-defined collation is; nothing of it changes.
type CollationDef struct {
	Provider byte
	// Locale is ICU's. Collate and Ctype are those of libc.
	Locale         string `json:",omitempty"`
	Collate, Ctype string `json:",omitempty"`
	// AnyEncoding is set of copies of C and POSIX.
	AnyEncoding bool `json:",omitempty"`
	// Nondeterministic collations take strings for equal that differ.
	Nondeterministic bool `json:",omitempty"`
	// Rules is the locale whose order it has, "" for that of bytes.
	Rules string `json:",omitempty"`
	// Version is that of the rules when it was made.
	Version string `json:",omitempty"`
}

// Type returns what types carry of the collation that t describes.
func (d *CollationDef) Type(t *Table) *types.Collation {
	return &types.Collation{Oid: t.Oid, Name: t.Name, Locale: d.Rules, Nondeterministic: d.Nondeterministic}
}

// Encoding is the encoding that the collation is for, -1 for any.
func (d *CollationDef) Encoding() int64 {
	if d.Provider == ProviderLibc && !d.AnyEncoding {
		return 6
	}
	return -1
}

// CollationName is under what name a collation is found in its schema: collations have a name
// space of their own.
func CollationName(name string) string { return "collation\x00" + name }

// StoredName is under what name t is found in its schema.
func (t *Table) StoredName() string {
	switch {
	case t.Kind == KindCollation:
		return CollationName(t.Name)
	case t.OwnOperator():
		return OperatorName(t.Name, t.Routine.IdentityTypes())
	case t.Kind == KindRoutine:
		return RoutineName(t.Name, t.Routine.IdentityTypes())
	case t.Kind == KindType && !t.IsComposite():
		return TypeName(t.Name)
	}
	return t.Name
}

// CollationFinder is a Resolver that knows user-defined collations.
type CollationFinder interface {
	// FindCollation returns the descriptor of a collation by its name, nil if there is
	// none; an empty schema means the search path.
	FindCollation(ctx context.Context, schema, name string) (*Table, error)
}

// FindCollation implements CollationFinder.
func (c *Collection) FindCollation(ctx context.Context, schema, name string) (*Table, error) {
	schemas, err := c.schemasFor(ctx, schema)
	if err != nil {
		return nil, err
	}
	for _, s := range schemas {
		if s.ID.IsVirtual() {
			if s.Name == pgCatalog && types.CollationByName(name) != nil {
				return nil, nil
			}
			continue
		}
		if t, _, err := c.findIn(ctx, s, CollationName(name)); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// UsesCollation reports whether t, or what it is made of, has the collation with the oid.
func UsesCollation(t *types.T, oid uint32) bool {
	if t == nil {
		return false
	}
	if c := t.Declared(); c != nil && c.Oid == oid || UsesCollation(t.Elem, oid) {
		return true
	}
	if t.Def == nil {
		return false
	}
	for _, f := range t.Def.Fields {
		if UsesCollation(f.Type, oid) {
			return true
		}
	}
	return UsesCollation(t.Def.Base, oid)
}
