package catalog

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
)

// Listing is what a database holds at one moment, in the order of ids: what scans of the
// catalog read. It never changes.
type Listing struct {
	Databases  []*Database // of the cluster
	Schemas    []*Schema
	Relations  []*Table // tables, views, sequences
	Views      []*Table // those of Relations with a query
	Naming     []*Table // those of Relations and Types that may name a table or view
	Types      []*Table
	Collations []*Table
	Routines   []*Table // without operators
	Operators  []*Table
	owned      []*Table // sequences that belong to columns, by the tables' ids
}

// newListing sorts out what the database db holds of all.
func newListing(all []Descriptor, db ID) *Listing {
	l := &Listing{}
	for _, d := range all {
		switch d := d.(type) {
		case *Database:
			l.Databases = append(l.Databases, d)
		case *Schema:
			if d.Database == db {
				l.Schemas = append(l.Schemas, d)
			}
		case *Table:
			switch {
			case d.Database != db:
			case d.Kind == KindCollation:
				l.Collations = append(l.Collations, d)
			case d.OwnOperator():
				l.Operators = append(l.Operators, d)
			case d.Kind == KindRoutine:
				l.Routines = append(l.Routines, d)
			case d.Kind == KindType:
				l.Types = append(l.Types, d)
				l.Naming = append(l.Naming, d)
			default:
				l.Relations = append(l.Relations, d)
				if d.View != nil {
					l.Views = append(l.Views, d)
				}
				if d.mayName() {
					l.Naming = append(l.Naming, d)
				}
				if d.Kind == KindSequence && d.Sequence.OwnerTable != 0 {
					l.owned = append(l.owned, d)
				}
			}
		}
	}
	slices.SortStableFunc(l.owned, func(a, b *Table) int { return cmp.Compare(a.Sequence.OwnerTable, b.Sequence.OwnerTable) })
	return l
}

// OwnedBy returns the sequences that belong to columns of a table.
func (l *Listing) OwnedBy(table ID) []*Table {
	from, _ := slices.BinarySearchFunc(l.owned, table, func(q *Table, id ID) int { return cmp.Compare(q.Sequence.OwnerTable, id) })
	to := from
	for to < len(l.owned) && l.owned[to].Sequence.OwnerTable == table {
		to++
	}
	return l.owned[from:to]
}

// mayName reports whether the query, a stored text or the type of a column may name a table or
// a view: by its row type, qualified, or in a constant of an object's name. Foreign keys and
// sequences that belong to columns are known otherwise.
func (t *Table) mayName() bool {
	if t.View != nil || t.Policies != nil {
		return true
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Domain != nil || c.Type.Oid >= FirstUserOid {
			return true
		}
		if c.OwnsSequence == 0 && namesObject(c.Default) || namesObject(c.OnUpdate) || namesObject(c.Generated) {
			return true
		}
	}
	return slices.ContainsFunc(t.Checks, func(k Check) bool { return namesObject(k.Expr) }) ||
		slices.ContainsFunc(t.Indexes, func(ix Index) bool { return namesObject(ix.Where) })
}

// namesObject reports whether a stored text has a name with a schema, or a constant that
// stands for an object.
func namesObject(text string) bool {
	return strings.Contains(text, ".") || strings.Contains(text, "reg")
}

// Relation returns the relation with an id, nil if it is not listed.
func (l *Listing) Relation(id ID) *Table {
	i, ok := slices.BinarySearchFunc(l.Relations, id, func(t *Table, id ID) int { return cmp.Compare(t.ID, id) })
	if !ok {
		return nil
	}
	return l.Relations[i]
}

// contents are all descriptors of one moment, in the order of their ids, with the listings
// that were asked for, one for each database at most.
type contents struct {
	all        []Descriptor
	generation uint64

	mu       sync.Mutex
	listings map[ID]*Listing
}

func (c *contents) listing(db ID) *Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listings[db]
	if l == nil {
		l = newListing(c.all, db)
		if c.listings == nil {
			c.listings = map[ID]*Listing{}
		}
		c.listings[db] = l
	}
	return l
}

// committed returns what is committed at present. It is kept for all sessions until the
// catalog changes.
func (s *Store) committed() *contents {
	if c := s.contents.Load(); c != nil && c.generation == s.Generation() {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.contents.Load()
	if base != nil && base.generation == s.Generation() {
		return base // another session was first
	}
	c := &contents{generation: s.Generation()}
	if base != nil && s.unlisted != nil {
		c.all = replaced(base.all, slices.Collect(maps.Keys(s.unlisted)), s.current)
	} else {
		c.all = replaced(nil, slices.Collect(maps.Keys(s.objects)), s.current)
	}
	s.unlisted = map[ID]struct{}{}
	s.contents.Store(c)
	return c
}

// current returns the newest version of an object, nil if there is none. The caller holds mu.
func (s *Store) current(id ID) Descriptor {
	if o := s.objects[id]; o != nil {
		return o.cur.Load().desc
	}
	return nil
}

// unlist notes that contents is out of date about an object, unless listing all costs no more. The
// caller holds mu.
func (s *Store) unlist(id ID) {
	if s.unlisted == nil {
		return
	}
	if s.unlisted[id] = struct{}{}; len(s.unlisted) > len(s.objects)/2 {
		s.unlisted = nil
	}
}

// replaced returns base, which is in the order of ids, with what there is now of some objects.
func replaced(base []Descriptor, ids []ID, now func(ID) Descriptor) []Descriptor {
	slices.Sort(ids)
	out := make([]Descriptor, 0, len(base)+len(ids))
	for _, id := range ids {
		at, found := slices.BinarySearchFunc(base, id, func(d Descriptor, id ID) int { return cmp.Compare(d.Ident().ID, id) })
		out = append(out, base[:at]...)
		if base = base[at:]; found {
			base = base[1:]
		}
		if d := now(id); d != nil {
			out = append(out, d)
		}
	}
	return append(out, base...)
}

// past is the catalog as a transaction that reads in the past sees it.
type past struct {
	at hlc.Timestamp
	contents
}

// ReadPast reads the catalog as it was if the transaction reads in the past: before
// Listing, PeekOwner and Descriptors. Otherwise it does nothing.
func (c *Collection) ReadPast(ctx context.Context) error {
	if !c.historical || c.past != nil && c.past.at == c.txn.Options().AsOf {
		return nil
	}
	p := &past{at: c.txn.Options().AsOf}
	err := scanSystem(ctx, c.txn, sysDescriptor, func(k, v []byte) error {
		id, err := decodeIDSuffix(k)
		if err != nil {
			return err
		}
		d, err := decodeDescriptor(id, v)
		p.all = append(p.all, d)
		return err
	})
	if err != nil {
		return err
	}
	c.past = p
	return nil
}

// contents returns all that the transaction sees. A change of its own makes it anew.
func (c *Collection) contents() *contents {
	switch {
	case c.historical:
		return &c.past.contents
	case c.changes == nil:
		return c.store.committed()
	}
	base := c.store.committed()
	if own := c.changes.contents; own != nil && own.generation == base.generation {
		return own
	}
	c.changes.contents = &contents{all: c.changes.over(base.all), generation: base.generation}
	return c.changes.contents
}

// over returns what base becomes by the changes, in the order of ids.
func (ch *changes) over(base []Descriptor) []Descriptor {
	return replaced(base, slices.Collect(maps.Keys(ch.descs)), func(id ID) Descriptor { return ch.descs[id] })
}

// Listing returns what the session's database holds, as its transaction sees it, without
// pinning anything. ReadPast has come before.
func (c *Collection) Listing() *Listing { return c.contents().listing(c.db.ID) }

// Descriptors returns all stored descriptors that the transaction sees, in the
// order of their ids, without pinning them. They are shared with others.
func (c *Collection) Descriptors(ctx context.Context) ([]Descriptor, error) {
	if err := c.ReadPast(ctx); err != nil {
		return nil, err
	}
	return c.contents().all, nil
}

// oidsOf yields the oids of an object and of its parts: the indexes, constraints and row
// ids of a table, the labels, constraints, casts and the array of a type.
func oidsOf(d Descriptor) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		some := func(oid uint32) bool { return oid == 0 || yield(oid) }
		switch d := d.(type) {
		case *Database:
			some(d.Oid)
		case *Schema:
			some(d.Oid)
		case *Role:
			some(uint32(d.Oid))
		case *Table:
			_ = some(d.Oid) && some(d.RowIDOid) && some(d.RowArrayOid) && d.partOids(some)
		}
	}
}

// partOids passes the oids of the parts of t to f until that says no.
func (t *Table) partOids(f func(uint32) bool) bool {
	for i := range t.Indexes {
		if !f(t.Indexes[i].Oid) || !f(t.Indexes[i].ConstraintOid) {
			return false
		}
	}
	for i := range t.Checks {
		if !f(t.Checks[i].Oid) {
			return false
		}
	}
	for i := range t.ForeignKeys {
		if !f(t.ForeignKeys[i].Oid) {
			return false
		}
	}
	for i := range t.Triggers {
		if g := &t.Triggers[i]; !f(g.Oid) || g.ConstraintOid != 0 && !f(g.ConstraintOid) {
			return false
		}
	}
	for i := range t.Extended {
		if !f(t.Extended[i].Oid) {
			return false
		}
	}
	if t.UserType == nil || t.UserType.Def == nil {
		return t.policyOids(f)
	}
	def := t.UserType.Def
	for i := range def.Labels {
		if !f(def.Labels[i].Oid) {
			return false
		}
	}
	for i := range def.Checks {
		if !f(def.Checks[i].Oid) {
			return false
		}
	}
	for i := range def.Casts {
		if !f(def.Casts[i].Oid) {
			return false
		}
	}
	return f(def.ArrayOid)
}

// PeekOwner returns the database, schema or relation that has an oid or a part with it,
// built-in ones excepted, without pinning it; nil if there is none. ReadPast has come
// before.
func (c *Collection) PeekOwner(oid uint32) Descriptor {
	if oid == 0 {
		return nil
	}
	if c.historical {
		return c.past.owner(oid)
	}
	if c.changes != nil {
		if id, ok := c.changes.byOid[oid]; ok {
			return c.changes.descs[id]
		}
	}
	c.store.mu.RLock()
	id, ok := c.store.byOid[oid]
	c.store.mu.RUnlock()
	if !ok {
		return nil
	}
	d := c.peek(id)
	if d == nil {
		return nil
	}
	for o := range oidsOf(d) {
		if o == oid {
			return d
		}
	}
	return nil
}

// owner is PeekOwner in the past, which is not asked often.
func (p *past) owner(oid uint32) Descriptor {
	for _, d := range p.all {
		for o := range oidsOf(d) {
			if o == oid {
				return d
			}
		}
	}
	return nil
}

// PeekSchemas returns the schemas of the session's database, in the order of their ids,
// without pinning them. ReadPast has come before.
func (c *Collection) PeekSchemas() []*Schema {
	if c.historical {
		return c.Listing().Schemas
	}
	var ids []ID
	c.store.mu.RLock()
	for id, db := range c.store.schemas {
		if db == c.db.ID {
			ids = append(ids, id)
		}
	}
	c.store.mu.RUnlock()
	if c.changes != nil {
		for _, id := range c.changes.schemas {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	var out []*Schema
	for _, id := range ids {
		if s, ok := c.peek(id).(*Schema); ok && s.Database == c.db.ID {
			out = append(out, s)
		}
	}
	return out
}

// PeekNamed returns the relation, or the table of the index, that has a name in a
// stored schema of the session's database, without pinning it; nil if there is none.
func (c *Collection) PeekNamed(ctx context.Context, schema ID, name string) *Table {
	e, ok, err := c.lookup(ctx, NameKey{Database: c.db.ID, Schema: schema, Name: name})
	if err != nil || !ok {
		return nil
	}
	return c.peekTable(ctx, e.ID)
}

// PeekSchemaNamed returns a schema, built in or of the session's database, without pinning
// it; nil if there is none.
func (c *Collection) PeekSchemaNamed(ctx context.Context, name string) *Schema {
	if s := c.store.virtual.schemas[name]; s != nil {
		return s
	}
	e, ok, err := c.lookup(ctx, NameKey{Database: c.db.ID, Name: name})
	if err != nil || !ok {
		return nil
	}
	d, err := c.Peek(ctx, e.ID)
	if err != nil {
		return nil
	}
	s, _ := d.(*Schema)
	return s
}

// BuiltInByOid returns a built-in relation, nil if there is none with that oid.
func (c *Collection) BuiltInByOid(oid uint32) *Table { return c.builtIn(c.store.virtual.byOid[oid]) }

// BuiltInNamed returns the relation of that name in a built-in schema, nil if there is none.
func (c *Collection) BuiltInNamed(schema ID, name string) *Table {
	return c.builtIn(c.store.virtual.names[NameKey{Schema: schema, Name: name}])
}
