package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
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
	// lastWrite is roughly when a transaction that had pinned the object last
	// committed writes, never too early.
	lastWrite atomic.Int64
}

// version is what is committed of an object.
type version struct {
	desc Descriptor // nil once dropped
	// since is when this version was committed: a snapshot before it does not
	// fit it. Zero if it was there when the node started.
	since hlc.Timestamp
}

// exclusive is an exclusive lock, held or waited for.
type exclusive struct {
	owner *Collection
	wake  chan struct{} // a pin was given up
	done  chan struct{} // closed when the lock is released
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

// released tells a waiting changer that a pin is gone.
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
	start := c.txn.ReadTimestamp()
	if start.IsEmpty() {
		start = c.store.db.Clock().Now()
	}
	edge := c.store.waits.Add(concurrency.Holder{ID: c.txnID(), Start: start}, source)
	defer c.store.waits.Remove(edge)
	check := time.NewTimer(deadlockFirst)
	defer check.Stop()
	var timeout <-chan time.Time
	if c.txn.LockTimeout > 0 {
		t := time.NewTimer(c.txn.LockTimeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		select {
		case <-ch:
			return nil
		case <-check.C:
			c.store.waits.Check(edge)
			check.Reset(deadlockAgain)
		case <-edge.Victim():
			return &kvpb.DeadlockError{}
		case <-timeout:
			return &kvpb.LockNotAvailableError{Timeout: true}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// LockExclusive locks a descriptor for a change: it waits until no other
// transaction uses it, and makes later users wait for the end of this one.
// Afterwards the snapshot is no older than the last change of the object's
// data. Descriptors that this transaction created need no lock.
func (c *Collection) LockExclusive(ctx context.Context, id ID) error {
	o := c.store.object(id)
	if o == nil || c.holds(o) {
		return nil
	}
	for {
		x := &exclusive{owner: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
		if o.excl.CompareAndSwap(nil, x) {
			c.locked = append(c.locked, o)
			if err := c.awaitPins(ctx, o, x); err != nil {
				return err
			}
			break
		}
		if x := o.excl.Load(); x != nil {
			if err := c.await(ctx, x.done, changer{x}); err != nil {
				return err
			}
		}
	}
	v := o.cur.Load()
	since := v.since
	if last := (hlc.Timestamp{WallTime: o.lastWrite.Load()}); since.Less(last) {
		since = last
	}
	return c.freshen(ctx, since)
}

// awaitPins waits until nobody else has o pinned. If it fails, o is unlocked.
func (c *Collection) awaitPins(ctx context.Context, o *object, x *exclusive) error {
	for c.pinnedElsewhere(o) {
		if err := c.await(ctx, x.wake, pinHolders{o, c}); err != nil {
			c.locked = c.locked[:len(c.locked)-1]
			o.excl.Store(nil)
			close(x.done)
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

func (c *Collection) holds(o *object) bool {
	x := o.excl.Load()
	return x != nil && x.owner == c
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
	for _, o := range c.locked {
		x := o.excl.Load()
		o.excl.Store(nil)
		close(x.done)
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
