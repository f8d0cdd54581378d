package catalog

import (
	"context"
	"encoding/binary"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// changes are what a transaction has changed in the catalog, in the order it
// did, so that a savepoint can be rolled back.
type changes struct {
	log []change
	// The newest state of what the log mentions; nil stands for absent.
	descs map[ID]Descriptor
	names map[NameKey]*NameEntry
	// byOid maps the oids of the objects in descs, and of their parts, to their ids.
	byOid map[uint32]ID
	// schemas are the ids of the schemas in descs, some of them twice.
	schemas []ID
	// contents is what the transaction sees, nil if that was not asked for since the last
	// change.
	contents *contents
	// cleanups are the records of spans to clear that the transaction wrote or
	// deleted (see cleanup.go).
	cleanups []cleanupID
}

// change is one entry of the log: a descriptor or a name.
type change struct {
	id     ID
	desc   Descriptor
	isName bool
	name   NameKey
	entry  *NameEntry
}

func newChanges() *changes {
	return &changes{descs: map[ID]Descriptor{}, names: map[NameKey]*NameEntry{}, byOid: map[uint32]ID{}}
}

func (ch *changes) add(e change) {
	ch.log = append(ch.log, e)
	ch.apply(e)
}

func (ch *changes) apply(e change) {
	ch.contents = nil
	if e.isName {
		ch.names[e.name] = e.entry
		return
	}
	if old := ch.descs[e.id]; old != nil {
		for oid := range oidsOf(old) {
			delete(ch.byOid, oid)
		}
	}
	ch.descs[e.id] = e.desc
	if _, ok := e.desc.(*Schema); ok {
		ch.schemas = append(ch.schemas, e.id)
	}
	if e.desc != nil {
		for oid := range oidsOf(e.desc) {
			ch.byOid[oid] = e.id
		}
	}
}

// tableByOid returns the changed table that has an oid, or an index or row ids with it;
// nil if there is none, or no change.
func (ch *changes) tableByOid(oid uint32) *Table {
	if ch == nil {
		return nil
	}
	if t, ok := ch.descs[ch.byOid[oid]].(*Table); ok && t.hasOid(oid) {
		return t
	}
	return nil
}

func (ch *changes) truncate(n int) {
	log := ch.log[:n]
	ch.log = nil
	clear(ch.descs)
	clear(ch.names)
	clear(ch.byOid)
	ch.schemas, ch.contents = nil, nil
	for _, e := range log {
		ch.add(e)
	}
}

func (c *Collection) change(e change) {
	if c.changes == nil {
		c.changes = newChanges()
	}
	c.changes.add(e)
	c.edition++
}

// NewID returns an unused descriptor id.
func (c *Collection) NewID(ctx context.Context) (ID, error) {
	n, err := c.store.ids.Take(ctx, c.store.db)
	return ID(n), err
}

// NewOid returns an unused oid.
func (c *Collection) NewOid(ctx context.Context) (uint32, error) {
	n, err := c.store.oids.Take(ctx, c.store.db)
	return uint32(n), err
}

func decodeIDSuffix(k []byte) (ID, error) {
	n := len(keys.SystemKey(sysDescriptor))
	if len(k) != n+8 {
		return 0, pgerr.New(pgerr.DataCorrupted, "damaged descriptor key in the catalog")
	}
	return ID(binary.BigEndian.Uint64(k[n:])), nil
}

// Put writes a new version of a descriptor, which the caller created or has
// locked with LockExclusive. It sets the version.
func (c *Collection) Put(ctx context.Context, d Descriptor) error {
	id := d.Ident().ID
	next := uint64(1)
	old := c.peek(id)
	if old != nil {
		next = old.Ident().Version + 1
	}
	if err := c.keepOwner(ctx, old, d.Ident().Owner); err != nil {
		return err
	}
	switch d := d.(type) {
	case *Cluster:
		d.Version = next
	case *Database:
		d.Version = next
	case *Schema:
		d.Version = next
	case *Role:
		d.Version = next
	case *Table:
		d.Version = next
		if next == 1 {
			d.Created = c.store.db.Clock().Now().WallTime
		}
		d.prepare()
		if err := d.check(); err != nil {
			return err
		}
	}
	b, err := encodeDescriptor(d)
	if err != nil {
		return err
	}
	if err := c.lockAndPut(ctx, descriptorKey(id), b); err != nil {
		return err
	}
	c.change(change{id: id, desc: d})
	return nil
}

// Remove deletes a descriptor, which the caller has locked. Names are removed
// apart.
func (c *Collection) Remove(ctx context.Context, id ID) error {
	if err := c.lockAndPut(ctx, descriptorKey(id), nil); err != nil {
		return err
	}
	c.change(change{id: id})
	return nil
}

// lockAndPut writes a key, or deletes it if value is nil.
func (c *Collection) lockAndPut(ctx context.Context, key, value []byte) error {
	if _, err := c.txn.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		return err
	}
	if value == nil {
		return c.txn.Delete(key)
	}
	return c.txn.Put(key, value)
}

// AddName takes a name; taken says that it stands for something else. It waits
// for a transaction that is about to take or free the same name.
func (c *Collection) AddName(ctx context.Context, k NameKey, e NameEntry) (taken bool, err error) {
	key := nameKey(k)
	res, err := c.txn.Lock(ctx, key, lock.Update, lock.WaitBlock)
	if err != nil || res.Found {
		return err == nil, err
	}
	if err := c.txn.Put(key, encodeName(e)); err != nil {
		return false, err
	}
	c.change(change{isName: true, name: k, entry: &e})
	return false, nil
}

// LockName returns what a name stands for, and keeps others from taking or freeing it until the
// transaction ends.
func (c *Collection) LockName(ctx context.Context, k NameKey) (e NameEntry, found bool, err error) {
	res, err := c.txn.Lock(ctx, nameKey(k), lock.Update, lock.WaitBlock)
	if err != nil || !res.Found {
		return NameEntry{}, false, err
	}
	e, err = decodeName(res.Value)
	return e, err == nil, err
}

// NameTaken reports whether the transaction took a name for an object that it has not
// stored yet, which no search finds.
func (c *Collection) NameTaken(k NameKey) bool {
	if c.changes == nil {
		return false
	}
	e := c.changes.names[k]
	return e != nil && c.changes.descs[e.ID] == nil && c.store.object(e.ID) == nil
}

// RemoveName frees a name.
func (c *Collection) RemoveName(ctx context.Context, k NameKey) error {
	if err := c.lockAndPut(ctx, nameKey(k), nil); err != nil {
		return err
	}
	c.change(change{isName: true, name: k})
	return nil
}

// CreateDatabase makes a database with its schema public.
func (c *Collection) CreateDatabase(ctx context.Context, name string, owner Owner) (*Database, error) {
	if TemplateByName(name) != nil {
		return nil, DuplicateDatabaseError(name)
	}
	d := &Database{Name: name, Owner: owner}
	var err error
	if d.ID, err = c.NewID(ctx); err != nil {
		return nil, err
	}
	if d.Oid, err = c.NewOid(ctx); err != nil {
		return nil, err
	}
	taken, err := c.AddName(ctx, NameKey{Name: name}, NameEntry{ID: d.ID})
	if err != nil {
		return nil, err
	}
	if taken {
		return nil, DuplicateDatabaseError(name)
	}
	if err := c.Put(ctx, d); err != nil {
		return nil, err
	}
	public, err := c.CreateSchema(ctx, d.ID, "public", DatabaseOwnerOid)
	if err != nil {
		return nil, err
	}
	public.Comment = "standard public schema"
	return d, c.Put(ctx, public)
}

// CreateSchema makes a schema.
func (c *Collection) CreateSchema(ctx context.Context, db ID, name string, owner Owner) (*Schema, error) {
	s := &Schema{Database: db, Name: name, Owner: owner}
	var err error
	if s.ID, err = c.NewID(ctx); err != nil {
		return nil, err
	}
	if s.Oid, err = c.NewOid(ctx); err != nil {
		return nil, err
	}
	taken, err := c.AddName(ctx, NameKey{Database: db, Name: name}, NameEntry{ID: s.ID})
	if err != nil {
		return nil, err
	}
	if taken {
		return nil, pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists", name)
	}
	return s, c.Put(ctx, s)
}
