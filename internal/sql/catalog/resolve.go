package catalog

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

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

// pgCatalog is searched first unless search_path names it.
const pgCatalog = "pg_catalog"

// CurrentDatabase implements Resolver.
func (c *Collection) CurrentDatabase() *Database {
	if d, ok := c.peek(c.db.ID).(*Database); ok {
		return d
	}
	return c.db
}

// InSchema calls f, for which search_path begins with a schema.
func (c *Collection) InSchema(name string, f func() error) error {
	outer := c.path
	c.path = pathWith{name, outer}
	defer func() { c.path = outer }()
	return f()
}

// pathWith is a search_path with one more schema before it.
type pathWith struct {
	first string
	SearchPathSource
}

// SearchPathSetting implements SearchPathSource.
func (p pathWith) SearchPathSetting() []string {
	return append([]string{p.first}, p.SearchPathSource.SearchPathSetting()...)
}

// SearchPath implements Resolver.
func (c *Collection) SearchPath() []string {
	path := c.path.SearchPathSetting()
	if !slices.Contains(path, pgCatalog) {
		path = append([]string{pgCatalog}, path...)
	}
	if c.temp.used {
		path = c.withTemp(path)
	}
	return path
}

// lookup finds what a name stands for, as the transaction sees it.
func (c *Collection) lookup(ctx context.Context, k NameKey) (NameEntry, bool, error) {
	if c.changes != nil {
		if e, ok := c.changes.names[k]; ok {
			if e == nil {
				return NameEntry{}, false, nil
			}
			return *e, true, nil
		}
	}
	if c.historical {
		v, found, err := c.txn.Get(ctx, nameKey(k))
		if err != nil || !found {
			return NameEntry{}, false, err
		}
		e, err := decodeName(v)
		return e, err == nil, err
	}
	e, ok := c.store.name(k)
	return e, ok, nil
}

// get pins a descriptor and returns it, nil if there is none.
func (c *Collection) get(ctx context.Context, id ID) (Descriptor, error) {
	if c.changes != nil {
		if d, ok := c.changes.descs[id]; ok {
			return d, nil
		}
	}
	if id.IsVirtual() {
		d := c.store.virtual.byID[id]
		if t, ok := d.(*Table); ok {
			d = c.builtIn(t)
		}
		return d, nil
	}
	if c.historical {
		v, found, err := c.txn.Get(ctx, descriptorKey(id))
		if err != nil || !found {
			return nil, err
		}
		return decodeDescriptor(id, v)
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	o := c.store.object(id)
	if o == nil {
		return nil, nil
	}
	if err := c.pin(ctx, o); err != nil {
		return nil, err
	}
	return o.cur.Load().desc, nil
}

// find returns the descriptor that a name stands for, pinned, with the entry;
// nil if there is none, or if this transaction has taken the name for what it is
// about to make. DDL may rename it while find waits for the pin: then it looks
// again.
func (c *Collection) find(ctx context.Context, k NameKey) (Descriptor, NameEntry, error) {
	if err := c.enter(ctx); err != nil {
		return nil, NameEntry{}, err
	}
	for {
		e, ok, err := c.lookup(ctx, k)
		if err != nil || !ok {
			return nil, NameEntry{}, err
		}
		d, err := c.get(ctx, e.ID)
		if err != nil {
			return nil, NameEntry{}, err
		}
		again, ok, err := c.lookup(ctx, k)
		if err != nil {
			return nil, NameEntry{}, err
		}
		if ok && again == e && d != nil {
			return d, e, nil
		}
		if c.changes != nil && c.changes.names[k] != nil && d == nil {
			return nil, NameEntry{}, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, NameEntry{}, err
		}
	}
}

// FindSchema returns a schema of the current database, or nil.
func (c *Collection) FindSchema(ctx context.Context, name string) (*Schema, error) {
	if s := c.store.virtual.schemas[name]; s != nil {
		return s, nil
	}
	if name == pgTemp {
		name = c.tempName()
		if !c.temp.used {
			return nil, nil
		}
	}
	d, _, err := c.find(ctx, NameKey{Database: c.db.ID, Name: name})
	s, _ := d.(*Schema)
	return s, err
}

// schemasFor returns the schemas where a name is looked for: the one it is qualified
// with, which must exist, else those of the search path.
func (c *Collection) schemasFor(ctx context.Context, schema string) (list []*Schema, err error) {
	path := []string{schema}
	if schema == "" {
		path = c.SearchPath()
	}
	for _, p := range path {
		s, err := c.FindSchema(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case s != nil && schema != "" && !c.MayUse(s):
			return nil, deniedSchema(s)
		case s != nil && c.MayUse(s):
			list = append(list, s)
		case s != nil:
		case schema != "":
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", schema)
		}
	}
	return list, nil
}

// FindDatabase returns a database, or nil.
func (c *Collection) FindDatabase(ctx context.Context, name string) (*Database, error) {
	d, _, err := c.find(ctx, NameKey{Name: name})
	db, _ := d.(*Database)
	return db, err
}

// findIn looks for a relation or index in one schema.
func (c *Collection) findIn(ctx context.Context, s *Schema, name string) (*Table, bool, error) {
	if s.ID.IsVirtual() {
		return c.builtIn(c.store.virtual.names[NameKey{Schema: s.ID, Name: name}]), false, nil
	}
	d, e, err := c.find(ctx, NameKey{Database: s.Database, Schema: s.ID, Name: name})
	t, _ := d.(*Table)
	return t, e.Index, err
}

// FindRelation finds a relation, which a composite type is too, or an index, whose table it then
// returns with index set. An empty schema means the search path; database, if given, must be
// the current one. It returns nil if there is none.
func (c *Collection) FindRelation(ctx context.Context, database, schema, name string) (t *Table, index bool, err error) {
	if database != "" && database != c.CurrentDatabase().Name {
		return nil, false, pgerr.Unsupported("cross-database references are not implemented: \"%s.%s.%s\"", database, schema, name)
	}
	if schema != "" {
		s, err := c.FindSchema(ctx, schema)
		switch {
		case err != nil || s == nil:
			return nil, false, err
		case !c.MayUse(s):
			return nil, false, deniedSchema(s)
		}
		return c.findIn(ctx, s, name)
	}
	for _, p := range c.SearchPath() {
		s, err := c.FindSchema(ctx, p)
		if err != nil {
			return nil, false, err
		}
		if s == nil || !c.MayUse(s) {
			continue
		}
		if t, index, err = c.findIn(ctx, s, name); err != nil || t != nil {
			return t, index, err
		}
	}
	return nil, false, nil
}

// deniedSchema is 42501 for names in a schema that the user may not look up.
func deniedSchema(s *Schema) error {
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", s.Name)
}

// ResolveTable implements Resolver.
func (c *Collection) ResolveTable(ctx context.Context, database, schema, name string) (*Table, error) {
	t, index, err := c.FindRelation(ctx, database, schema, name)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, c.UndefinedRelation(ctx, schema, name)
	case schema != "" && c.Temporary(t) && schema != pgTemp && schema != c.TempSchemaName():
		return nil, pgerr.Unsupported("cannot access temporary tables of other sessions")
	case index:
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", name).
			WithDetail("This operation is not supported for indexes.")
	case t.IsComposite():
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is a composite type", name)
	}
	return t, nil
}

// UndefinedTable returns 42P01 for a name as it was written.
func UndefinedTable(schema, name string) error {
	if schema != "" {
		name = schema + "." + name
	}
	return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}

// UndefinedRelation is UndefinedTable with the name that may be meant, or with the time that
// is read at and when the relation began.
func (c *Collection) UndefinedRelation(ctx context.Context, schema, name string) error {
	if c.historical {
		return c.undefinedThen(schema, name)
	}
	path := c.SearchPath()
	if schema != "" {
		path = []string{schema}
	}
	var names []string
	for _, p := range path {
		s, err := c.FindSchema(ctx, p)
		if err != nil {
			return err
		}
		if s != nil && c.MayUse(s) {
			names = append(names, c.store.namesIn(s)...)
		}
	}
	return pgerr.From(UndefinedTable(schema, name)).WithSuggestion("relation", name, slices.Values(names))
}

// undefinedThen is UndefinedTable for a statement that reads the past.
func (c *Collection) undefinedThen(schema, name string) error {
	at := c.txn.Options().AsOf
	err := pgerr.From(UndefinedTable(schema, name))
	if t := c.present(schema, name); t != nil && t.Created > at.WallTime {
		return err.WithDetail("The statement reads the database as of %s; the relation was created at %s.",
			at.Date(), hlc.Timestamp{WallTime: t.Created}.Date())
	}
	return err.WithDetail("The statement reads the database as of %s.", at.Date())
}

// present returns the relation that a name stands for now, nil if there is none.
func (c *Collection) present(schema, name string) *Table {
	path := c.SearchPath()
	if schema != "" {
		path = []string{schema}
	}
	for _, p := range path {
		s, ok := c.store.name(NameKey{Database: c.db.ID, Name: p})
		if !ok {
			continue
		}
		if e, ok := c.store.name(NameKey{Database: c.db.ID, Schema: s.ID, Name: name}); ok {
			o := c.store.object(e.ID)
			if o == nil {
				return nil
			}
			t, _ := o.cur.Load().desc.(*Table)
			return t
		}
	}
	return nil
}

// TableByID implements Resolver.
func (c *Collection) TableByID(ctx context.Context, id ID) (*Table, error) {
	d, err := c.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if t, ok := d.(*Table); ok {
		return t, nil
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation with id %d does not exist", id)
}

// TableByOid implements Resolver.
func (c *Collection) TableByOid(ctx context.Context, oid uint32) (*Table, error) {
	if t := c.BuiltInByOid(oid); t != nil {
		return t, nil
	}
	if t := c.changes.tableByOid(oid); t != nil {
		return t.withOid(oid), nil
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	c.store.mu.RLock()
	id, ok := c.store.byOid[oid]
	c.store.mu.RUnlock()
	if ok {
		d, err := c.get(ctx, id)
		if err != nil {
			return nil, err
		}
		if t, ok := d.(*Table); ok && t.hasOid(oid) {
			return t.withOid(oid), nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
}

// withOid returns what oid stands for: the table, or its row id generator.
func (t *Table) withOid(oid uint32) *Table {
	if oid == t.RowIDOid {
		return t.rowIDSeq
	}
	return t
}

func (t *Table) hasOid(oid uint32) bool {
	if oid == 0 {
		return false
	}
	return t.Oid == oid || t.RowIDOid == oid || slices.ContainsFunc(t.Indexes, func(ix Index) bool { return ix.Oid == oid })
}

// SchemaByID implements Resolver.
func (c *Collection) SchemaByID(ctx context.Context, id ID) (*Schema, error) {
	d, err := c.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if s, ok := d.(*Schema); ok {
		return s, nil
	}
	return nil, pgerr.New(pgerr.InvalidSchemaName, "schema with id %d does not exist", id)
}

// Peek returns a descriptor without pinning it, nil if there is none: for
// listings, which may be overtaken by DDL.
func (c *Collection) Peek(ctx context.Context, id ID) (Descriptor, error) {
	if c.historical || id.IsVirtual() {
		return c.get(ctx, id)
	}
	return c.peek(id), nil
}

// VirtualSchemas returns the built-in schemas, whose relations are as no database has changed them.
func (c *Collection) VirtualSchemas() []VirtualSchema { return c.store.virtual.all }

// PeekByOid is TableByOid without a pin, for printing; nil if there is none.
func (c *Collection) PeekByOid(ctx context.Context, oid uint32) *Table {
	if t := c.BuiltInByOid(oid); t != nil {
		return t
	}
	if t := c.changes.tableByOid(oid); t != nil {
		return t
	}
	c.store.mu.RLock()
	id, ok := c.store.byOid[oid]
	c.store.mu.RUnlock()
	if !ok {
		return nil
	}
	d, err := c.Peek(ctx, id)
	if t, ok := d.(*Table); err == nil && ok && t.hasOid(oid) {
		return t
	}
	return nil
}

// PeekSearchPath returns the schemas of the search path that exist, without pinning
// anything.
func (c *Collection) PeekSearchPath(ctx context.Context) []string {
	var out []string
	for _, p := range c.SearchPath() {
		there := c.store.virtual.schemas[p] != nil
		if !there {
			_, there, _ = c.lookup(ctx, NameKey{Database: c.db.ID, Name: p}) // not found, for all that is known
		}
		if there {
			out = append(out, p)
		}
	}
	return out
}

// PeekRelation finds the relation, the composite type or the table of the index, that the search
// path finds by a bare name, without pinning anything; nil if there is none.
func (c *Collection) PeekRelation(ctx context.Context, name string) *Table {
	for _, p := range c.SearchPath() {
		if s := c.store.virtual.schemas[p]; s != nil {
			if t := c.BuiltInNamed(s.ID, name); t != nil {
				return t
			}
			continue
		}
		e, ok, err := c.lookup(ctx, NameKey{Database: c.db.ID, Name: p})
		if err != nil || !ok {
			continue
		}
		e, ok, err = c.lookup(ctx, NameKey{Database: c.db.ID, Schema: e.ID, Name: name})
		if err != nil || !ok {
			continue
		}
		if t := c.peekTable(ctx, e.ID); t != nil {
			return t
		}
	}
	return nil
}

// peekTable is Peek for a table, nil if there is none.
func (c *Collection) peekTable(ctx context.Context, id ID) *Table {
	d, err := c.Peek(ctx, id)
	if err != nil {
		return nil
	}
	t, _ := d.(*Table)
	return t
}
