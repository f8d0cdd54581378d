package catalog

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/catalog/idgen"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// VirtualSchema is a built-in schema, the same in every database.
type VirtualSchema struct {
	Schema *Schema
	Tables []*Table
}

// Options are what a Store is made of.
type Options struct {
	DB *kv.DB
	// Waits is the graph of waits that the row locks use too.
	Waits *concurrency.WaitGraph
	// Virtual are the built-in schemas.
	Virtual []VirtualSchema

	// Where several nodes serve SQL: Node and Incarnation are this one's. Peers reaches the others; nil
	// means that there are none. Clock tells when registrations expire; nil is the clock of DB.
	Node        kvpb.NodeID
	Incarnation int64
	Peers       Peers
	Clock       *hlc.Clock
}

// Store is the catalog of a node: every committed descriptor, in memory.
type Store struct {
	db         *kv.DB
	waits      *concurrency.WaitGraph
	generation atomic.Uint64
	// access is a number that grows with what plans depend on without being made from it: roles, and
	// who may use schemas and databases. See AccessGeneration.
	access    atomic.Uint64
	ids, oids *idgen.Generator
	virtual   virtualCatalog
	sequences sequences
	cleanups  cleanups
	lockTimes obs.Times // see LockTimes
	gw        *gateway  // nil: no other node serves SQL

	mu      sync.RWMutex
	objects map[ID]*object
	byOid   map[uint32]ID // see oidsOf
	names   namespace
	schemas map[ID]ID // schema → database
	counts  map[ID]*Counts
	// routines are the routines of a name.
	routines map[namedRoutine][]ID

	magnitude atomic.Int32 // see Magnitude
	// contents lists the descriptors of some generation, nil if nobody has asked.
	contents atomic.Pointer[contents]
	// unlisted are the objects that have changed since contents was made; nil: too many.
	unlisted map[ID]struct{}

	sessionsMu sync.Mutex
	sessions   map[*Collection]struct{}
}

// NewStore returns an empty Store; Bootstrap fills it.
func NewStore(o Options) *Store {
	s := &Store{
		db: o.DB, waits: o.Waits,
		objects: map[ID]*object{}, byOid: map[uint32]ID{}, names: newNamespace(map[NameKey]NameEntry{}), schemas: map[ID]ID{}, counts: map[ID]*Counts{}, routines: map[namedRoutine][]ID{},
		sessions: map[*Collection]struct{}{},
	}
	if s.waits == nil {
		s.waits = concurrency.NewWaitGraph()
	}
	s.ids = idgen.New(keys.SystemKey(sysNextID), 1, uint64(VirtualBase))
	s.oids = idgen.New(keys.SystemKey(sysNextOid), FirstUserOid, 1<<32)
	s.virtual.init(o.Virtual)
	s.sequences.init()
	s.cleanups.init()
	if o.Peers != nil {
		s.gw = newGateway(s, o)
	}
	s.generation.Store(1)
	return s
}

// FirstUserOid is the first oid of objects that are not of the system, as in PostgreSQL.
const FirstUserOid = 16384

// The databases that a new cluster has.
var bootstrapDatabases = [...]string{"defaultdb", "postgres"}

// bootstrapAttempts bounds how often Bootstrap looks whether another node was
// first.
const bootstrapAttempts = 10

// Bootstrap reads the catalog and creates what a new cluster lacks. Several nodes
// may do so at once.
func (s *Store) Bootstrap(ctx context.Context) error {
	var err error
	for range bootstrapAttempts {
		if err = s.load(ctx); err == nil && len(s.names.entries) > 0 {
			return nil
		}
		if err == nil {
			err = s.create(ctx)
		}
		if pgerr.CodeOf(err) != pgerr.DuplicateDatabase && !kv.IsRetryable(err) && !kv.IsAmbiguous(err) {
			return err
		}
	}
	return err
}

// create makes the databases of a new cluster.
func (s *Store) create(ctx context.Context) error {
	c := s.NewCollection()
	defer c.Close()
	txn := s.db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	c.Begin(txn)
	var err error
	for _, name := range bootstrapDatabases {
		if _, err = c.CreateDatabase(ctx, name, RootOid); err != nil {
			break
		}
	}
	if err == nil {
		err = txn.Commit(ctx)
	} else {
		txn.Rollback(ctx)
	}
	if err != nil {
		c.RolledBack(ctx)
		return err
	}
	c.Committed(ctx)
	return nil
}

// load reads all descriptors and names.
func (s *Store) load(ctx context.Context) error {
	return s.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		img, err := readImage(ctx, txn)
		if err != nil {
			return err
		}
		s.mu.Lock()
		for id, d := range img.descs {
			s.setDescriptor(id, d, hlc.Timestamp{})
		}
		s.names = newNamespace(img.names)
		s.setMagnitude()
		s.mu.Unlock()
		return s.loadCleanups(ctx, txn)
	})
}

// scanSystem calls f for every system key that begins with prefix.
func scanSystem(ctx context.Context, txn *kv.Txn, prefix string, f func(k, v []byte) error) error {
	return kv.Each(ctx, txn, keys.SystemSpan(prefix), func(k, v []byte) (more bool, err error) { return true, f(k, v) })
}

// setDescriptor makes d, nil for dropped, the newest version of id. The caller
// holds mu or is alone.
func (s *Store) setDescriptor(id ID, d Descriptor, since hlc.Timestamp) {
	var stored uint64
	if d != nil {
		stored = d.Ident().Version
	}
	o := s.objects[id]
	if o == nil {
		if d == nil {
			return
		}
		o = &object{id: id}
		s.objects[id] = o
	} else if old := o.cur.Load().desc; old != nil {
		s.forgetOids(old)
		s.note(old, -1)
		s.noteRoutine(old, false)
		if d != nil && d.Ident().Version <= old.Ident().Version {
			d = d.withVersion(old.Ident().Version + 1)
		}
	}
	o.cur.Store(&version{desc: d, since: since, stored: stored})
	s.unlist(id)
	if d == nil {
		delete(s.objects, id)
		delete(s.schemas, id)
		return
	}
	if d, ok := d.(*Schema); ok {
		s.schemas[id] = d.Database
	}
	for oid := range oidsOf(d) {
		s.byOid[oid] = id
	}
	s.note(d, 1)
	s.noteRoutine(d, true)
}

func (s *Store) forgetOids(d Descriptor) {
	for oid := range oidsOf(d) {
		delete(s.byOid, oid)
	}
}

// object returns the committed object with that id, or nil.
func (s *Store) object(id ID) *object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[id]
}

// namesIn lists the relations of a schema, and its indexes.
func (s *Store) namesIn(schema *Schema) (names []string) {
	if schema.ID.IsVirtual() {
		for k := range s.virtual.names {
			if k.Schema == schema.ID {
				names = append(names, k.Name)
			}
		}
		return names
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k := range s.names.entries {
		if k.Database == schema.Database && k.Schema == schema.ID && !strings.ContainsRune(k.Name, 0) {
			names = append(names, k.Name)
		}
	}
	return names
}

func (s *Store) name(k NameKey) (NameEntry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.names.entries[k]
	return e, ok
}

// publish makes the changes of a committed transaction visible.
func (s *Store) publish(ch *changes, since hlc.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	renamed, decides := map[ID]bool{}, false
	for id, d := range ch.descs {
		if o := s.objects[id]; o != nil && d != nil {
			if _, isTable := d.(*Table); !isTable && o.cur.Load().desc.Ident().Name != d.Ident().Name {
				renamed[id] = true
			}
		}
		decides = decides || s.decidesAccess(id, d)
		s.setDescriptor(id, d, since)
	}
	for k, e := range ch.names {
		s.supersedeRoutines(k)
		if e == nil {
			s.names.remove(k)
			continue
		}
		s.names.put(k, *e)
		s.supersedeNamesakes(k)
	}
	for id := range renamed {
		s.supersedeContents(id)
	}
	s.setMagnitude()
	if decides { // once everything can be seen: a plan made under the new number was made with it
		s.access.Add(1)
	}
	s.generation.Add(1)
}

// AccessGeneration returns a number that grows whenever a plan that is still valid otherwise may need
// other privileges, or its user have others.
func (s *Store) AccessGeneration() uint64 { return s.access.Load() }

// decidesAccess reports whether a change of an object to d may change what users of others may do. The
// caller holds mu.
func (s *Store) decidesAccess(id ID, d Descriptor) bool {
	if d == nil {
		if d = s.current(id); d == nil {
			return false
		}
	}
	switch d := d.(type) {
	case *Role, *Database:
		return true
	case *Schema:
		return d.Temp == nil
	}
	return false
}

// supersedeNamesakes gives the relations and types of that name in other schemas of the
// database a new version: plans that found one of them on the search path must
// be made again.
func (s *Store) supersedeNamesakes(k NameKey) {
	if k.Schema == 0 {
		return
	}
	for schema, db := range s.schemas {
		if db != k.Database || schema == k.Schema {
			continue
		}
		other := TypeName(k.Name)
		if name, ok := strings.CutPrefix(k.Name, TypeName("")); ok {
			other = name
		}
		for _, name := range [...]string{k.Name, other} {
			if e, ok := s.names.entries[NameKey{k.Database, schema, name}]; ok {
				s.supersede(e.ID)
			}
		}
	}
}

// supersedeContents does the same for all relations of a database or schema
// that was renamed.
func (s *Store) supersedeContents(id ID) {
	for k, e := range s.names.entries {
		if k.Schema == id || k.Database == id && k.Schema != 0 {
			s.supersede(e.ID)
		}
	}
}

func (s *Store) supersede(id ID) {
	if o := s.objects[id]; o != nil {
		v := o.cur.Load()
		s.unlist(id)
		o.cur.Store(&version{desc: v.desc.withVersion(v.desc.Ident().Version + 1), since: v.since, stored: v.stored})
	}
}

// DB returns the key space that holds the catalog.
func (s *Store) DB() *kv.DB { return s.db }

// Generation returns a number that grows whenever committed DDL changes the
// catalog.
func (s *Store) Generation() uint64 { return s.generation.Load() }

// Exists reports whether a committed object has the id.
func (s *Store) Exists(id ID) bool { return s.object(id) != nil }

// DatabaseByName returns a database, or 3D000; 57P03 if the node can't tell, as it has left its
// cluster or lost contact with it.
func (s *Store) DatabaseByName(ctx context.Context, name string) (*Database, error) {
	if err := s.gw.knows(ctx); err != nil {
		return nil, err
	}
	if e, ok := s.name(NameKey{Name: name}); ok {
		if o := s.object(e.ID); o != nil {
			if d, ok := o.cur.Load().desc.(*Database); ok {
				return d, nil
			}
		}
	}
	return nil, pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
}

// DatabaseByID returns a database.
func (s *Store) DatabaseByID(id ID) (*Database, error) {
	if o := s.object(id); o != nil {
		if d, ok := o.cur.Load().desc.(*Database); ok {
			return d, nil
		}
	}
	return nil, pgerr.New(pgerr.InvalidCatalogName, "database with id %d does not exist", id)
}

// eachSession calls f for every session.
func (s *Store) eachSession(f func(*Collection)) {
	s.sessionsMu.Lock()
	defer s.sessionsMu.Unlock()
	for c := range s.sessions {
		f(c)
	}
}

// SessionsOf returns how many sessions other than except are connected to a
// database.
func (s *Store) SessionsOf(db ID, except *Collection) int {
	n := s.localSessions(db, except)
	if s.gw != nil {
		n += s.gw.sessionsOf(db)
	}
	return n
}

func (s *Store) localSessions(db ID, except *Collection) int {
	n := 0
	s.eachSession(func(c *Collection) {
		if c != except && ID(c.dbID.Load()) == db {
			n++
		}
	})
	return n
}
