package catalog

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Extension is an extension of PostgreSQL's whose objects are built in: a database shows them once it has the extension.
type Extension struct {
	Name, Version, Comment string
	// Oid is that of the one which every database has, 0 for those that CREATE EXTENSION adds.
	Oid uint32
	// Views are made in the schema of the extension. They have descriptors of their own.
	Views []ExtensionView
	// Untrusted ones are for superusers to create.
	Untrusted bool
}

// ExtensionView is a view that an extension brings, which everybody may read.
type ExtensionView struct {
	Name  string
	Query string // with %s for the schema
}

// ExtensionViewACL is what is granted on an extension's views at first.
func ExtensionViewACL(owner Owner) privilege.ACL {
	return append(privilege.Table.Default(owner.Role()), privilege.Item{Grantee: privilege.Public, Grantor: owner.Role(), Privileges: privilege.Select})
}

// Extensions are those that CREATE EXTENSION knows.
var Extensions = []Extension{
	{Name: "citext", Version: "1.6", Comment: "data type for case-insensitive character strings"},
	{Name: "fuzzystrmatch", Version: "1.1", Comment: "determine similarities and distance between strings"},
	{Name: "hstore", Version: "1.8", Comment: "data type for storing sets of (key, value) pairs"},
	{Name: "intarray", Version: "1.5", Comment: "functions, operators, and index support for 1-D arrays of integers"},
	{Name: "ltree", Version: "1.2", Comment: "data type for hierarchical tree-like structures"},
	{
		Name: "pg_stat_statements", Version: "1.10", Comment: "track planning and execution statistics of all SQL statements executed", Untrusted: true,
		Views: []ExtensionView{
			{"pg_stat_statements", "SELECT * FROM %s.pg_stat_statements(true)"},
			{"pg_stat_statements_info", "SELECT * FROM %s.pg_stat_statements_info()"},
		},
	},
	{Name: "pg_trgm", Version: "1.6", Comment: "text similarity measurement and index searching based on trigrams"},
	{Name: "pgcrypto", Version: "1.3", Comment: "cryptographic functions"},
	{Name: "plpgsql", Version: "1.0", Comment: "PL/pgSQL procedural language", Oid: 13559},
	{Name: "tablefunc", Version: "1.0", Comment: "functions that manipulate whole tables, including crosstab"},
	{Name: "unaccent", Version: "1.1", Comment: "text search dictionary that removes accents"},
	{Name: "uuid-ossp", Version: "1.1", Comment: "generate universally unique identifiers (UUIDs)"},
}

// ExtensionByName returns an extension, nil if there is none of the name.
func ExtensionByName(name string) *Extension {
	for i := range Extensions {
		if Extensions[i].Name == name {
			return &Extensions[i]
		}
	}
	return nil
}

// ExtensionOfClass returns the extension that brings an operator class of indexes, "" if it is part of the system.
func ExtensionOfClass(class string) string {
	switch class {
	case "gin_trgm_ops":
		return "pg_trgm"
	case "gin_hstore_ops":
		return "hstore"
	case "gin__int_ops":
		return "intarray"
	}
	return ""
}

// CreatedExtension is an extension that CREATE EXTENSION added to a database.
type CreatedExtension struct {
	Name    string
	Oid     uint32
	Owner   Owner
	Comment string
	// Schema is where its objects are, 0 for public, where all were before it was recorded.
	Schema ID `json:",omitempty"`
}

// Installed returns the extensions of the database, by their names.
func (d *Database) Installed() []CreatedExtension {
	var out []CreatedExtension
	for i := range Extensions {
		x := &Extensions[i]
		if x.Oid != 0 {
			out = append(out, CreatedExtension{Name: x.Name, Oid: x.Oid, Owner: RootOid, Comment: x.Comment})
		}
		if n := d.created(x.Name); n >= 0 {
			out = append(out, d.Extensions[n])
		}
	}
	return out
}

// created returns the place of an extension among those that were created, -1 if it was not.
func (d *Database) created(name string) int {
	return slices.IndexFunc(d.Extensions, func(x CreatedExtension) bool { return x.Name == name })
}

// ExtensionNamed returns an extension of the database, nil if it has none of the name.
func (d *Database) ExtensionNamed(name string) *CreatedExtension {
	for _, x := range d.Installed() {
		if x.Name == name {
			return &x
		}
	}
	return nil
}

// ExtensionFinder is a Resolver that knows the extensions of the database.
type ExtensionFinder interface {
	// SeesExtension reports whether a name with a schema, or one of the search path if that is empty, leads to the objects of an
	// extension. HasExtension reports whether the database has it.
	SeesExtension(ctx context.Context, schema, extension string) bool
	HasExtension(ctx context.Context, extension string) bool
	// PeekExtensionSchema returns the schema of an extension's objects, nil if the database has not the extension, and whether
	// it is on the search path. It pins nothing.
	PeekExtensionSchema(ctx context.Context, extension string) (in *Schema, visible bool)
}

// HasExtension implements ExtensionFinder. The transaction pins what it has found.
func (c *Collection) HasExtension(ctx context.Context, extension string) bool {
	if !c.historical && c.CurrentDatabase().ExtensionNamed(extension) == nil {
		return false // nobody is to find it
	}
	d, err := c.get(ctx, c.db.ID)
	db, ok := d.(*Database)
	return err == nil && ok && db.ExtensionNamed(extension) != nil
}

// SeesExtension implements ExtensionFinder. The transaction pins what it has found.
func (c *Collection) SeesExtension(ctx context.Context, schema, extension string) bool {
	if !c.HasExtension(ctx, extension) {
		return false
	}
	in, visible := c.PeekExtensionSchema(ctx, extension)
	return schema == "" && visible || schema != "" && in != nil && in.Name == schema
}

// PeekExtensionSchema implements ExtensionFinder.
func (c *Collection) PeekExtensionSchema(ctx context.Context, extension string) (in *Schema, visible bool) {
	x := c.CurrentDatabase().ExtensionNamed(extension)
	switch {
	case x == nil:
		return nil, false
	case x.Schema == 0:
		in = c.PeekSchemaNamed(ctx, "public")
	default:
		d, err := c.Peek(ctx, x.Schema)
		if err != nil {
			return nil, false
		}
		in, _ = d.(*Schema)
	}
	return in, in != nil && slices.Contains(c.SearchPath(), in.Name)
}
