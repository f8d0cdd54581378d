package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// How long a wait for an object lasts before it looks for a deadlock, and how
// often it looks again.
const (
	deadlockFirst = 10 * time.Millisecond
	deadlockAgain = 100 * time.Millisecond
)

// object is a committed descriptor with the lock on it. The lock has two modes:
// pinned (shared) and exclusive. Pins are not counted here: a session publishes
// its pins in slots of its own and then looks whether the object is being
// changed; who changes it announces that first and then looks at the slots of
// all sessions. So a pin costs no write to shared memory.
type object struct {
	id  ID
	cur atomic.Pointer[version]
	// excl is the transaction that changes the object, or waits to.
	excl atomic.Pointer[exclusive]
	// lastWrite is an upper bound, rounded up to lastWriteGrain, of the commit timestamps of transactions that had
	// pinned the object.
	lastWrite atomic.Int64
}

// version is what is committed of an object.
type version struct {
	desc Descriptor // nil once dropped
	// since is when this version was committed: a snapshot before it does not
	// fit it. Zero if it was there when the node started.
	since hlc.Timestamp
	// stored is the version that the stored descriptor has; desc may have a
	// higher one (Store.supersede).
	stored uint64
}

// exclusive is an exclusive lock, held or waited for.
type exclusive struct {
	owner *Collection
	wake  chan struct{} // a pin was given up
	done  chan struct{} // closed when the lock is released
	// granted says that no other transaction uses the object, here or elsewhere;
	// only the owner looks.
	granted bool
	since   time.Time
}

// lastWriteGrain is the precision of object.lastWrite: writing it rarely keeps
// its cache line shared.
const lastWriteGrain = int64(time.Millisecond)

func (o *object) noteWrite(ts hlc.Timestamp) {
	t := (ts.WallTime/lastWriteGrain + 1) * lastWriteGrain
	for {
		old := o.lastWrite.Load()
		if old >= t || o.lastWrite.CompareAndSwap(old, t) {
			return
		}
	}
}

// released notifies a waiting changer that a pin is gone.
func (o *object) released() {
	if x := o.excl.Load(); x != nil {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

// pinHolders is the source of the wait for the pins of other sessions.
type pinHolders struct {
	o *object
	c *Collection
}

// AppendBlockers implements concurrency.BlockerSource.
func (p pinHolders) AppendBlockers(dst []concurrency.TxnID) []concurrency.TxnID {
	p.c.store.eachSession(func(other *Collection) {
		if other != p.c && other.hasPin(p.o) {
			dst = append(dst, other.txnID())
		}
	})
	return dst
}

// changer is the source of the wait for a transaction that changes an object.
type changer struct{ x *exclusive }

// AppendBlockers implements concurrency.BlockerSource.
func (w changer) AppendBlockers(dst []concurrency.TxnID) []concurrency.TxnID {
	select {
	case <-w.x.done:
		return dst
	default:
		return append(dst, w.x.owner.txnID())
	}
}

// await waits on ch for source's blockers: until it yields, the transaction is
// chosen to break a deadlock, lock_timeout passes or the statement ends.
func (c *Collection) await(ctx context.Context, ch <-chan struct{}, source concurrency.BlockerSource) error {
	if c.noWait {
		return &kvpb.LockNotAvailableError{}
	}
	start, lockTimeout := c.start, c.lockTimeout()
	if c.txn != nil {
		start = c.txn.ReadTimestamp()
	}
	if start.IsEmpty() {
		start = c.store.db.Clock().Now()
	}
	edge := c.store.waits.Add(concurrency.Holder{ID: c.txnID(), Start: start}, source)
	defer c.store.waits.Remove(edge)
	check := time.NewTimer(deadlockFirst)
	defer check.Stop()
	var timeout <-chan time.Time
	if lockTimeout > 0 {
		t := time.NewTimer(lockTimeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		select {
		case <-ch:
			return nil
		case <-check.C:
			if p, ok := source.(pinHolders); ok {
				p.breakCycles()
			}
			c.store.waits.Check(edge)
			check.Reset(deadlockAgain)
		case <-edge.Victim():
			e := &kvpb.DeadlockError{}
			for _, id := range edge.Cycle() {
				e.Cycle = append(e.Cycle, kvpb.TxnID(id))
			}
			return e
		case <-timeout:
			return &kvpb.LockNotAvailableError{Timeout: true}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// NoWait calls f, in which nothing waits for an object that another transaction uses:
// that is a LockNotAvailableError, as it is if the answer of another node is not yes.
func (c *Collection) NoWait(f func() error) error {
	c.noWait = true
	defer func() { c.noWait = false }()
	return f()
}

// LockExclusive locks a descriptor for a change: it waits until no other
// transaction uses it, and makes later users wait for the end of this one.
// Afterwards the snapshot is no older than the last change of the object's
// data. Descriptors that this transaction created need no lock.
func (c *Collection) LockExclusive(ctx context.Context, id ID) error {
	if c.store.object(id) == nil {
		return nil
	}
	g := c.store.gw
	if g != nil && !c.active {
		if err := g.awaitPeers(ctx, c); err != nil {
			return err
		}
	}
	if err := c.lockStored(ctx, id); err != nil {
		return err
	}
	o := c.store.object(id)
	if o == nil || c.granted(o) {
		return nil
	}
	x, err := c.lockHere(ctx, o)
	if err != nil {
		return err
	}
	since := o.newest()
	if g != nil {
		far, err := g.lockPeers(ctx, c, id)
		if err != nil {
			return err // the lock is kept and completed when it is asked for again
		}
		since = since.Max(far)
	}
	x.granted = true
	return c.freshen(ctx, since)
}

// HoldsLocks reports whether the transaction holds exclusive locks.
func (c *Collection) HoldsLocks() bool { return len(c.locked) > 0 }

// LockBriefly is LockExclusive of several objects, but waits for at most d, on all gateways together, for those who use them,
// and makes later users wait no longer: then it is a LockNotAvailableError, or one of a deadlock, and they go on. The stored
// descriptors stay locked. A transaction that holds other exclusive locks, which it can't give up, waits as long as it takes.
func (c *Collection) LockBriefly(ctx context.Context, ids []ID, d time.Duration) error {
	brief := len(c.locked) == 0
	if before := c.txn.LockTimeout; brief {
		c.txn.LockTimeout, c.lockFor = d, d
		defer func() { c.txn.LockTimeout, c.lockFor, c.lockUntil = before, 0, time.Time{} }()
	}
	for _, id := range ids {
		if err := c.LockExclusive(ctx, id); err != nil {
			if brief {
				return cmp.Or(c.withdraw(ctx), err)
			}
			return err
		}
	}
	return nil
}

// lockTimeout returns how long the transaction may wait for users of an object now; 0: as long as it takes.
func (c *Collection) lockTimeout() time.Duration {
	switch {
	case c.txn == nil:
		return 0
	case c.lockUntil.IsZero():
		return c.txn.LockTimeout
	}
	return max(time.Until(c.lockUntil), 1)
}

// Unlock gives up the exclusive locks of a transaction that goes on and has changed nothing under them. The stored descriptors
// stay locked.
func (c *Collection) Unlock(ctx context.Context) error { return c.withdraw(ctx) }

// withdraw gives up the exclusive locks, here and on the other gateways.
func (c *Collection) withdraw(ctx context.Context) error {
	c.unlockAll()
	if !c.active {
		return nil
	}
	return c.store.gw.withdraw(ctx, c)
}

// Queue locks the stored form of the relation that a name stands for: it waits until no other transaction of the
// cluster changes the relation, and makes the next one wait for this one. Who waits here has not pinned the
// relation, so does not stand in the way of the change. Others go on using it. It returns nil if no relation of the
// committed catalog has the name, or the transaction has pinned or changed it.
func (c *Collection) Queue(ctx context.Context, schema, name string) error {
	t := c.present(schema, name)
	if t == nil {
		return nil
	}
	if o := c.store.object(t.ID); o == nil || c.ownPin(o) {
		return nil
	}
	if c.changes != nil {
		if _, changed := c.changes.descs[t.ID]; changed {
			return nil
		}
	}
	return c.lockStored(ctx, t.ID)
}

// QueueByID is Queue for an object that the transaction knows, and may have pinned.
func (c *Collection) QueueByID(ctx context.Context, id ID) error {
	if c.store.object(id) == nil {
		return nil
	}
	return c.lockStored(ctx, id)
}

// lockStored locks the stored descriptor: of several transactions that want to change it one comes first, so that they
// don't wait for one another.
func (c *Collection) lockStored(ctx context.Context, id ID) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.waiting.Store(&storedWait{id, cancel})
	wait := lock.WaitBlock
	if c.noWait {
		wait = lock.WaitError
	}
	_, err := c.txn.Lock(ctx, descriptorKey(id), lock.Update, wait)
	c.waiting.Store(nil)
	if err != nil {
		if cause := context.Cause(ctx); kv.IsRetryable(cause) {
			return cause
		}
		return err
	}
	if !slices.Contains(c.stored, id) {
		c.stored = append(c.stored, id)
	}
	return nil
}

// storedWait is a wait for the lock of a stored descriptor.
type storedWait struct {
	id     ID
	cancel context.CancelCauseFunc
}

// breakCycles ends the waits of sessions of this node that have o pinned, for which
// c waits, and that wait for a stored descriptor that c has locked. The wait graph
// finds such a cycle only if the descriptor's range is led from here.
func (p pinHolders) breakCycles() {
	p.c.store.eachSession(func(other *Collection) {
		if w := other.waiting.Load(); w != nil && other != p.c && slices.Contains(p.c.stored, w.id) && other.hasPin(p.o) {
			w.cancel(&kvpb.RetryError{Reason: "could not serialize access due to a concurrent change of the schema"})
		}
	})
}

// lockHere locks an object on this node.
func (c *Collection) lockHere(ctx context.Context, o *object) (*exclusive, error) {
	for {
		x := o.excl.Load()
		switch {
		case x == nil:
			if x = c.announce(o); x == nil {
				continue
			}
			c.locked = append(c.locked, heldLock{o, x})
			if c.lockFor > 0 && c.lockUntil.IsZero() {
				c.lockUntil = time.Now().Add(c.lockFor) // from here on others wait
			}
			return x, c.awaitPins(ctx, o, x)
		case x.owner == c:
			return x, nil
		}
		if err := c.await(ctx, x.done, changer{x}); err != nil {
			return nil, err
		}
	}
}

// heldLock is an exclusive lock that a session holds.
type heldLock struct {
	o *object
	x *exclusive
}

// announce notifies the users of o that c is about to change it; nil means that
// somebody else does.
func (c *Collection) announce(o *object) *exclusive {
	x := &exclusive{owner: c, since: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	if o.excl.CompareAndSwap(nil, x) {
		return x
	}
	return nil
}

// unlock ends x, which was announced on o.
func (s *Store) unlock(o *object, x *exclusive) {
	if o.excl.CompareAndSwap(x, nil) {
		s.lockTimes.Add(time.Since(x.since))
		close(x.done)
	}
}

// LockTimes tells how long changes, of all nodes, have kept others from objects here: from when later users had to wait until they
// could go on, the waits of the changes for earlier users included.
func (s *Store) LockTimes() (count int64, total, longest time.Duration) { return s.lockTimes.Get() }

// newest returns a time before which no snapshot fits o: when it was changed or,
// as far as this node knows, written last.
func (o *object) newest() hlc.Timestamp {
	return o.cur.Load().since.Max(hlc.Timestamp{WallTime: o.lastWrite.Load()})
}

// awaitPins waits until nobody else has o pinned. If it fails, o is unlocked.
func (c *Collection) awaitPins(ctx context.Context, o *object, x *exclusive) error {
	for c.pinnedElsewhere(o) {
		if err := c.await(ctx, x.wake, pinHolders{o, c}); err != nil {
			c.locked = c.locked[:len(c.locked)-1]
			c.store.unlock(o, x)
			return err
		}
	}
	return nil
}

func (c *Collection) pinnedElsewhere(o *object) bool {
	found := false
	c.store.eachSession(func(other *Collection) {
		found = found || other != c && other.hasPin(o)
	})
	return found
}

// UsedElsewhere reports whether another session of this node uses an object at this moment.
func (c *Collection) UsedElsewhere(id ID) bool {
	o := c.store.object(id)
	return o != nil && c.pinnedElsewhere(o)
}

func (c *Collection) granted(o *object) bool {
	x := o.excl.Load()
	return x != nil && x.owner == c && x.granted
}

// pin marks o as used by the transaction. It waits while another transaction
// changes o.
func (c *Collection) pin(ctx context.Context, o *object) error {
	if c.ownPin(o) {
		return nil
	}
	waited := false
	for {
		c.addPin(o)
		x := o.excl.Load()
		if x == nil || x.owner == c {
			break
		}
		c.dropLastPin(o)
		o.released()
		if err := c.await(ctx, x.done, changer{x}); err != nil {
			return err
		}
		waited = true
	}
	if waited {
		if err := c.enter(ctx); err != nil {
			return err
		}
	}
	if v := o.cur.Load(); waited || !v.since.IsEmpty() {
		return c.freshen(ctx, v.since)
	}
	return nil
}

// inlinePins is how many pins a session has room for without allocating.
const inlinePins = 8

// addPin publishes a pin.
func (c *Collection) addPin(o *object) {
	if c.npins < inlinePins {
		c.pins[c.npins].Store(o)
		c.npins++
		return
	}
	c.moreMu.Lock()
	c.more = append(c.more, o)
	c.moreMu.Unlock()
	c.hasMore.Store(true)
}

func (c *Collection) dropLastPin(o *object) {
	if !c.hasMore.Load() {
		c.npins--
		c.pins[c.npins].Store(nil)
		return
	}
	c.moreMu.Lock()
	c.more = c.more[:len(c.more)-1]
	left := len(c.more) > 0
	c.moreMu.Unlock()
	c.hasMore.Store(left)
}

// ownPin reports whether this session has o pinned; only its owner may ask.
func (c *Collection) ownPin(o *object) bool {
	for i := range c.npins {
		if c.pins[i].Load() == o {
			return true
		}
	}
	for _, p := range c.more {
		if p == o {
			return true
		}
	}
	return false
}

// hasPin reports whether the session has o pinned; any goroutine may ask.
func (c *Collection) hasPin(o *object) bool {
	for i := range c.pins {
		if c.pins[i].Load() == o {
			return true
		}
	}
	if !c.hasMore.Load() {
		return false
	}
	c.moreMu.Lock()
	defer c.moreMu.Unlock()
	for _, p := range c.more {
		if p == o {
			return true
		}
	}
	return false
}

// unpinAll gives up all pins. A commit with writes is noted on each object.
func (c *Collection) unpinAll(commit hlc.Timestamp) {
	wrote := !commit.IsEmpty()
	for i := range c.npins {
		o := c.pins[i].Load()
		if wrote {
			o.noteWrite(commit)
		}
		c.pins[i].Store(nil)
		o.released()
	}
	c.npins = 0
	if !c.hasMore.Load() {
		return
	}
	c.moreMu.Lock()
	more := c.more
	c.more = nil
	c.moreMu.Unlock()
	c.hasMore.Store(false)
	for _, o := range more {
		if wrote {
			o.noteWrite(commit)
		}
		o.released()
	}
}

// unlockAll releases the exclusive locks.
func (c *Collection) unlockAll() {
	for _, l := range c.locked {
		c.store.unlock(l.o, l.x)
	}
	clear(c.locked)
	c.locked = c.locked[:0]
}

// LockInfo is a lock on an object, held or waited for.
type LockInfo struct {
	ID        ID
	Txn       string
	Exclusive bool
	Granted   bool
}

// Locks lists the locks of all sessions at this moment.
func (s *Store) Locks() []LockInfo {
	s.mu.RLock()
	objects := make([]*object, 0, len(s.objects))
	for _, o := range s.objects {
		objects = append(objects, o)
	}
	s.mu.RUnlock()
	sort := func(a, b *object) int { return cmp.Compare(a.id, b.id) }
	slices.SortFunc(objects, sort)
	var out []LockInfo
	for _, o := range objects {
		x := o.excl.Load()
		pinned := false
		s.eachSession(func(c *Collection) {
			if c.hasPin(o) && (x == nil || x.owner != c) {
				pinned = true
				out = append(out, LockInfo{ID: o.id, Txn: c.txnID().String(), Granted: true})
			}
		})
		if x != nil {
			out = append(out, LockInfo{ID: o.id, Txn: x.owner.txnID().String(), Exclusive: true, Granted: !pinned})
		}
	}
	return out
}
