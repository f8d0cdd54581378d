package catalog

import "slices"

// Extension is an extension of PostgreSQL's whose functions are built in.
type Extension struct {
	Name, Version, Comment string
	// Oid is that of the one which every database has, 0 for those that CREATE EXTENSION adds.
	Oid uint32
}

// Extensions are those that CREATE EXTENSION knows.
var Extensions = []Extension{
	{Name: "pg_trgm", Version: "1.6", Comment: "text similarity measurement and index searching based on trigrams"},
	{Name: "pgcrypto", Version: "1.3", Comment: "cryptographic functions"},
	{Name: "plpgsql", Version: "1.0", Comment: "PL/pgSQL procedural language", Oid: 13559},
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

// CreatedExtension is an extension that CREATE EXTENSION added to a database.
type CreatedExtension struct {
	Name    string
	Oid     uint32
	Owner   Owner
	Comment string
}

// Installed returns the extensions of the database, by their names.
func (d *Database) Installed() []CreatedExtension {
	var out []CreatedExtension
	for i := range Extensions {
		x := &Extensions[i]
		if x.Oid != 0 {
			out = append(out, CreatedExtension{x.Name, x.Oid, RootOid, x.Comment})
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
