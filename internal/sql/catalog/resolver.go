package catalog

import "context"

// Resolver is what planning needs of the catalog: descriptors by name and id as
// the current transaction sees and pins them. Implementations return pgerr
// errors (42P01, 3F000, 3D000) for absent objects.
type Resolver interface {
	// ResolveTable finds a relation; an empty schema means the search path. The
	// catalog part, when given, must be the current database.
	ResolveTable(ctx context.Context, database, schema, name string) (*Table, error)
	// TableByID returns the descriptor of a relation.
	TableByID(ctx context.Context, id ID) (*Table, error)
	// TableByOid returns the descriptor of a relation or of the table that owns
	// the index with this oid.
	TableByOid(ctx context.Context, oid uint32) (*Table, error)
	// SchemaByID returns the descriptor of a schema.
	SchemaByID(ctx context.Context, id ID) (*Schema, error)
	// CurrentDatabase returns the session's database.
	CurrentDatabase() *Database
	// SearchPath returns the schemas searched for unqualified names, in order,
	// pg_catalog included.
	SearchPath() []string
}
