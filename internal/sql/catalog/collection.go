package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Collection is one session's view of the catalog: the committed descriptors,
// what its transaction has changed, and the pins and locks that it holds until
// the transaction ends. It implements Resolver.
type Collection struct {
	store *Store
	db    *Database
	path  SearchPathSource
	user  func() privilege.Role // nil: RootOid
	// mayUse decides whether the user may look up names in a schema; nil: in all.
	mayUse func(*Collection, *Schema) bool
	// trusted counts who reads stored names at present: see Trust.
	trusted int
	txn     *kv.Txn

	// historical says that the transaction reads AS OF a time: descriptors are
	// read as they were then.
	historical bool
	past       *past // what it reads: see ReadPast
	// noWait says that waiting for an object is an error: see NoWait.
	noWait      bool
	statements  int // of the transaction
	committing  bool
	authorities authorities
	changes     *changes       // nil: none
	edition     uint64         // see Edition
	labels      []*atomic.Bool // of the labels that the transaction has added to enums: whether it has committed

	temp struct {
		owner TempOwner
		used  bool // it may exist
		// onCommit are the tables to look after at the end of a transaction, and perhaps
		// some that are gone.
		onCommit []ID
	}

	// lockFor is how long LockBriefly makes others wait, lockUntil when that is over; zero before they do.
	lockFor   time.Duration
	lockUntil time.Time

	npins  int
	pins   [inlinePins]atomic.Pointer[object]
	locked []heldLock

	// In a cluster of several gateways: registration is the number of that under which the
	// transaction has used the catalog, 0 if it has not yet; active says that
	// others must be notified of its end.
	registration uint64
	active       bool
	// attempt counts how often the transaction has given up its locks on others (gateway.withdraw).
	attempt int
	// deadline is the highest that the commit was given: see CommitDeadline.
	deadline hlc.Timestamp
	// stored are the descriptors whose stored form the transaction has locked,
	// waiting is its wait for one more.
	stored  []ID
	waiting atomic.Pointer[storedWait]
	// start stands for the transaction's where there is none (remoteTxn).
	start hlc.Timestamp

	moreMu  sync.Mutex
	more    []*object
	hasMore atomic.Bool

	dbID         atomic.Uint64
	txnHi, txnLo atomic.Uint64
}

// SearchPathSource yields the value of search_path.
type SearchPathSource interface{ SearchPathSetting() []string }

// NewCollection returns the view of a new session; Close gives it up.
func (s *Store) NewCollection() *Collection {
	c := &Collection{store: s}
	s.sessionsMu.Lock()
	s.sessions[c] = struct{}{}
	s.sessionsMu.Unlock()
	return c
}

// Close ends the session. Its transaction must have ended.
func (c *Collection) Close() {
	c.unpinAll(hlc.Timestamp{})
	c.unlockAll()
	s := c.store
	s.sessionsMu.Lock()
	delete(s.sessions, c)
	s.sessionsMu.Unlock()
}

// Store returns the node's catalog.
func (c *Collection) Store() *Store { return c.store }

// SetSession says which database the session is connected to and where its
// search_path comes from.
func (c *Collection) SetSession(db *Database, path SearchPathSource) {
	c.db, c.path = db, path
	c.dbID.Store(uint64(db.ID))
}

// SetUser says where the role comes from as which the session acts at present, and what decides whether it may look
// up names in a schema.
func (c *Collection) SetUser(user func() privilege.Role, mayUse func(*Collection, *Schema) bool) {
	c.user, c.mayUse = user, mayUse
}

// Trust opens all schemas to the session until the end: for names in stored queries and expressions, which
// mean what they meant to whoever stored them.
func (c *Collection) Trust() (end func()) {
	c.trusted++
	return func() { c.trusted-- }
}

// MayUse reports whether the session's user may look up names in a schema.
func (c *Collection) MayUse(s *Schema) bool {
	if c.mayUse == nil || c.trusted > 0 || s.ID.IsVirtual() {
		return true
	}
	if now, ok := c.peek(s.ID).(*Schema); ok && c.historical {
		s = now // whose privileges count
	}
	return c.mayUse(c, s)
}

// User returns the role as which the session acts.
func (c *Collection) User() privilege.Role {
	if c.user == nil {
		return RootOid
	}
	return c.user()
}

// Begin starts a transaction; the one before has ended with Committed or
// RolledBack.
func (c *Collection) Begin(txn *kv.Txn) {
	c.txn = txn
	id := txn.ID()
	c.txnHi.Store(id.Hi)
	c.txnLo.Store(id.Lo)
	c.historical, c.statements, c.committing = false, 0, false
	c.past = nil
	c.registration, c.deadline, c.attempt = 0, hlc.Timestamp{}, 0
}

func (c *Collection) txnID() concurrency.TxnID {
	return concurrency.TxnID{Hi: c.txnHi.Load(), Lo: c.txnLo.Load()}
}

// TxnID returns the id of the session's transaction, or of the last one; any goroutine
// may ask.
func (c *Collection) TxnID() concurrency.TxnID { return c.txnID() }

// BeginStatement starts a statement of the transaction.
func (c *Collection) BeginStatement() {
	c.statements++
	c.trusted = 0
	c.historical = c.txn != nil && !c.txn.Options().AsOf.IsEmpty()
}

// Generation returns a number that grows whenever committed DDL changes the
// catalog of the node.
func (c *Collection) Generation() uint64 { return c.store.generation.Load() }

// Edition returns a number that differs between any two states of the catalog that transactions of this collection have seen at the same
// generation, unless they read the past.
func (c *Collection) Edition() uint64 { return c.edition }

// ReadsPast reports whether the transaction reads AS OF a time.
func (c *Collection) ReadsPast() bool { return c.historical }

// AccessGeneration is Store.AccessGeneration.
func (c *Collection) AccessGeneration() uint64 { return c.store.AccessGeneration() }

// Modified reports whether the transaction sees another catalog than the
// committed one: it has changed it, or reads in the past. Plans made under it
// fit no other transaction.
func (c *Collection) Modified() bool { return c.changes != nil || c.historical }

// Changed reports whether the transaction has changed the catalog.
func (c *Collection) Changed() bool { return c.changes != nil && len(c.changes.log) > 0 }

// errStale says that a plan was made from descriptors that have changed.
func errStale() error {
	return &kvpb.RetryError{Reason: "a table was altered while the statement began"}
}

// Valid reports whether all of deps are the versions that the session would use
// now. It pins nothing and may be overtaken by DDL; PinAll then says so.
func (c *Collection) Valid(_ context.Context, deps []Dep) bool {
	for _, d := range deps {
		if d.ID.IsVirtual() {
			continue
		}
		desc := c.peek(d.ID)
		if desc == nil || desc.Ident().Version != d.Version {
			return false
		}
	}
	return true
}

// peek returns the descriptor the session sees, nil if there is none, unpinned.
func (c *Collection) peek(id ID) Descriptor {
	if c.changes != nil {
		if d, ok := c.changes.descs[id]; ok {
			return d
		}
	}
	o := c.store.object(id)
	if o == nil {
		return nil
	}
	return o.cur.Load().desc
}

// Known is for messages: it returns the descriptor of an object from this node's cache only, without a KV read; nil
// if it is not there.
func (c *Collection) Known(id ID) Descriptor { return c.peek(id) }

// PinAll pins the descriptors of a plan until the transaction ends. It fails
// with a retry error if one of them has changed since the plan was made: the
// statement must be planned again.
func (c *Collection) PinAll(ctx context.Context, deps []Dep) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	for i := range deps {
		if deps[i].ID.IsVirtual() {
			continue
		}
		if err := c.pinVersion(ctx, &deps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collection) pinVersion(ctx context.Context, dep *Dep) error {
	if c.changes != nil {
		if d, ok := c.changes.descs[dep.ID]; ok {
			if d == nil || d.Ident().Version != dep.Version {
				return errStale()
			}
			return nil
		}
	}
	for i := range c.npins {
		if o := c.pins[i].Load(); o.id == dep.ID {
			return o.expect(dep.Version)
		}
	}
	o := c.store.object(dep.ID)
	if o == nil {
		return errStale()
	}
	if err := c.pin(ctx, o); err != nil {
		return err
	}
	return o.expect(dep.Version)
}

func (o *object) expect(v uint64) error {
	if d := o.cur.Load().desc; d == nil || d.Ident().Version != v {
		return errStale()
	}
	return nil
}

// freshen makes sure that the transaction's snapshot is not older than since: it waits until
// since has passed, but for its imprecision (object.lastWrite), as commits with an unknown outcome
// can happen until then, and moves the snapshot to the present, or fails with a retry error if what
// the transaction has read does not allow that.
func (c *Collection) freshen(ctx context.Context, since hlc.Timestamp) error {
	ts := c.txn.ReadTimestamp()
	if ts.IsEmpty() || since.LessEq(ts) || c.historical {
		return nil
	}
	cause := &kvpb.RetryError{Reason: "could not serialize access due to a concurrent change of the schema"}
	o := c.txn.Options()
	if o.ReadOnly && o.Isolation == kv.Serializable && c.statements > 1 {
		return cause // its earlier reads are not remembered, so they can't move
	}
	if err := c.store.awaitTime(ctx, since.WallTime-lastWriteGrain); err != nil {
		return err
	}
	return c.txn.MoveToPresent(ctx, cause)
}

// PreCommit is called before the transaction commits.
func (c *Collection) PreCommit(ctx context.Context) error {
	if err := c.fence(ctx); err != nil {
		return err
	}
	c.committing = true
	return nil
}

// Committed ends the transaction after its commit: its changes are published,
// its locks and pins released.
func (c *Collection) Committed(context.Context) {
	var commit hlc.Timestamp
	if c.npins > 0 || c.changes != nil {
		commit = c.txn.CommitTimestamp()
	}
	for _, l := range c.labels {
		l.Store(true)
	}
	if c.changes != nil {
		c.store.publishOwn(c.changes, commit)
		c.store.settleCleanups(c.changes)
	}
	c.notifyPeers(true, commit)
	c.endTxn(commit)
}

// RolledBack ends the transaction without effect. If its commit failed, what it would have changed
// is read again, since the commit may have happened; if the outcome is unknown, once it can't happen
// any more.
func (c *Collection) RolledBack(ctx context.Context) {
	until := c.commitsUntil()
	if c.changes != nil {
		if c.committing {
			ctx := context.WithoutCancel(ctx)
			_ = c.store.awaitTime(ctx, until.WallTime) // ctx does not end
			c.store.reload(ctx, c.changes)
		}
		c.store.settleCleanups(c.changes)
	}
	c.notifyPeers(c.committing, hlc.Timestamp{})
	c.endTxn(until)
}

// commitsUntil returns, if the outcome of the commit is unknown, the last time at which it may have
// happened or may happen yet; else zero. A commit that is still on its way carries its deadline;
// without one it was evaluated on this node.
func (c *Collection) commitsUntil() hlc.Timestamp {
	switch {
	case c.txn == nil || !c.txn.OutcomeUnknown():
		return hlc.Timestamp{}
	case c.deadline.IsEmpty():
		return c.store.db.Clock().Now()
	}
	if plant.On(plant.UnknownCommitForgotten) {
		return hlc.Timestamp{}
	}
	until := hlc.Timestamp{WallTime: c.deadline.WallTime + lastWriteGrain} // see freshen
	c.store.gw.member.NoteUnsettled(until)
	return until
}

// awaitTime waits until this node's clock has passed a time. It reads the clock without taking a
// timestamp: that of a node whose disk has failed hands out none any more, but time goes on.
func (s *Store) awaitTime(ctx context.Context, past int64) error {
	for {
		ahead := time.Duration(past - s.db.Clock().Reading().WallTime)
		if ahead < 0 {
			return nil
		}
		if err := sleep.For(ctx, max(ahead, minAwait)); err != nil {
			return err
		}
	}
}

// minAwait keeps awaitTime from turning where timestamps are ahead of the time that has passed.
const minAwait = time.Millisecond

// notifyPeers notifies the other gateways of the end of the transaction, before its
// locks here are released. reread says that it has, or may have, committed.
func (c *Collection) notifyPeers(reread bool, commit hlc.Timestamp) {
	g := c.store.gw
	if g == nil {
		return
	}
	if n := g.announcementOf(c, reread, commit); n != nil {
		g.announceEnd(n, reread)
	}
}

// endTxn releases locks and pins. wrote is when the transaction committed, or may have, if it did.
func (c *Collection) endTxn(wrote hlc.Timestamp) {
	if c.changes != nil {
		c.edition++
	}
	c.changes, c.committing, c.historical, c.labels = nil, false, false, nil
	c.unlockAll()
	c.unpinAll(wrote)
	c.statements, c.registration = 0, 0
	c.stored = c.stored[:0]
}

// NewLabel tells whether the transaction has committed, for a label that it adds to an enum.
func (c *Collection) NewLabel() *atomic.Bool {
	l := new(atomic.Bool)
	c.labels = append(c.labels, l)
	return l
}

// Savepoint marks a point of the transaction.
type Savepoint struct{ log int }

// Savepoint returns the present point.
func (c *Collection) Savepoint() Savepoint {
	if c.changes == nil {
		return Savepoint{}
	}
	return Savepoint{log: len(c.changes.log)}
}

// RelationsSince returns the relations that the transaction has made, changed or dropped since sp, as they are, or were
// before they were dropped.
func (c *Collection) RelationsSince(sp Savepoint) (out []*Table) {
	if c.changes == nil {
		return nil
	}
	seen := map[ID]bool{}
	for _, e := range c.changes.log[min(sp.log, len(c.changes.log)):] {
		d := e.desc
		if o := c.store.object(e.id); d == nil && o != nil {
			d = o.cur.Load().desc
		}
		t, ok := d.(*Table)
		if ok && !e.isName && !seen[e.id] && t.IsRelation() {
			seen[e.id] = true
			out = append(out, t)
		}
	}
	return out
}

// EmptiedSince reports whether the transaction has created, truncated or rewritten a table since
// sp: whether it stores its rows where no other transaction finds any.
func (c *Collection) EmptiedSince(sp Savepoint, t *Table) bool {
	var before Descriptor
	if o := c.store.object(t.ID); o != nil {
		before = o.cur.Load().desc
	}
	if c.changes != nil {
		for _, e := range c.changes.log[:sp.log] {
			if !e.isName && e.id == t.ID {
				before = e.desc
			}
		}
	}
	old, ok := before.(*Table)
	return !ok || old.Indexes[0].ID != t.Indexes[0].ID
}

// RollbackTo undoes the changes since sp. Locks taken since stay.
func (c *Collection) RollbackTo(sp Savepoint) {
	if c.changes == nil {
		return
	}
	c.changes.truncate(sp.log)
	c.edition++
	if sp.log == 0 && len(c.changes.cleanups) == 0 {
		c.changes = nil
	}
}

// reload reads what a transaction with an unknown outcome may have changed.
func (s *Store) reload(ctx context.Context, ch *changes) {
	if g := s.gw; g != nil {
		g.rereads.Lock()
		defer g.rereads.Unlock()
	}
	for attempt := 0; attempt < 3; attempt++ {
		fresh, err := s.readBack(ctx, ch)
		if err == nil {
			s.publish(fresh, s.db.Clock().Now())
			return
		}
		if errors.Is(err, context.Canceled) {
			break
		}
	}
	if s.gw != nil {
		s.gw.member.Distrust()
	}
}

// publishOwn publishes what a transaction of this node has committed.
func (s *Store) publishOwn(ch *changes, since hlc.Timestamp) {
	if g := s.gw; g != nil {
		g.rereads.Lock()
		defer g.rereads.Unlock()
	}
	s.publish(ch, since)
}

func (s *Store) readBack(ctx context.Context, ch *changes) (*changes, error) {
	var fresh *changes
	err := s.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) (err error) {
		fresh, err = readChanges(ctx, txn, ch)
		return err
	})
	return fresh, err
}

// readChanges reads what ch mentions.
func readChanges(ctx context.Context, txn *kv.Txn, ch *changes) (*changes, error) {
	fresh := newChanges()
	for id := range ch.descs {
		v, found, err := txn.Get(ctx, descriptorKey(id))
		if err != nil {
			return nil, err
		}
		fresh.descs[id] = nil
		if found {
			if fresh.descs[id], err = decodeDescriptor(id, v); err != nil {
				return nil, err
			}
		}
	}
	for k := range ch.names {
		v, found, err := txn.Get(ctx, nameKey(k))
		if err != nil {
			return nil, err
		}
		fresh.names[k] = nil
		if found {
			e, err := decodeName(v)
			if err != nil {
				return nil, err
			}
			fresh.names[k] = &e
		}
	}
	return fresh, nil
}

// CanFreshen reports whether the transaction's snapshot may move: what it has
// read so far can be verified, or need not hold.
func (c *Collection) CanFreshen() bool {
	switch o := c.txn.Options(); {
	case !o.AsOf.IsEmpty():
		return false
	case o.Isolation == kv.ReadCommitted:
		return true
	case o.Isolation == kv.RepeatableRead || o.ReadOnly:
		return c.statements <= 1
	}
	return true
}

// Freshen moves the transaction's snapshot to the present: it sees then what
// other transactions have written for it.
func (c *Collection) Freshen(ctx context.Context) error {
	return c.freshen(ctx, c.store.db.Clock().Now())
}
