package concurrency

import (
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/must"
)

// holding is one transaction's lock on one key.
type holding struct {
	id TxnID
	s  lock.Strength
}

// keyLock is the state of one locked key: its holders and its queue. It is in its shard's hash
// table while it has holders, and is guarded by the shard's mutex.
type keyLock struct {
	hash    uint64
	next    *keyLock // in the hash bucket, or in the free list
	key     []byte   // own copy
	holders []holding
	head    *Waiter // served first: upgrades, then the others in the order of their arrival
	tail    *Waiter
	lastUp  *Waiter                  // the last waiting upgrade, or nil
	waiting [lock.NumStrengths]int32 // number of waiters per strength
	// oneHolder and shortKey are the first memory of holders and key: most locks need no other.
	oneHolder [1]holding
	shortKey  [inlineKeyBytes]byte
}

// inlineKeyBytes is the length of the keys for which a keyLock has room in itself.
const inlineKeyBytes = 24

func newKeyLock() *keyLock {
	l := &keyLock{}
	l.holders, l.key = l.oneHolder[:0], l.shortKey[:0]
	return l
}

// find returns the index of id's holding, or -1.
func (l *keyLock) find(id TxnID) int {
	for i := range l.holders {
		if l.holders[i].id == id {
			return i
		}
	}
	return -1
}

// holderAgainst returns a holder other than id that conflicts with s, or the zero id.
func (l *keyLock) holderAgainst(id TxnID, s lock.Strength) TxnID {
	set := s.Conflicting()
	for i := range l.holders {
		if h := &l.holders[i]; set.Has(h.s) && h.id != id {
			return h.id
		}
	}
	return TxnID{}
}

// waiterAgainst returns the first waiter that conflicts with s, or nil.
func (l *keyLock) waiterAgainst(id TxnID, s lock.Strength) *Waiter {
	set := s.Conflicting()
	if l.waitingSet()&set == 0 {
		return nil
	}
	for w := l.head; w != nil; w = w.next {
		if set.Has(w.strength) && w.holder.ID != id {
			return w
		}
	}
	return nil
}

// waitingSet returns the strengths of the waiters.
func (l *keyLock) waitingSet() lock.Set {
	var set lock.Set
	if l.head == nil {
		return set
	}
	for s := lock.KeyShare; s < lock.NumStrengths; s++ {
		if l.waiting[s] > 0 {
			set = set.With(s)
		}
	}
	return set
}

// enqueue puts w at its place: an upgrade after the other upgrades and before
// the rest, anything else last.
func (l *keyLock) enqueue(w *Waiter) {
	after := l.tail
	if w.upgrade {
		after = l.lastUp
		l.lastUp = w
	}
	w.prev = after
	if after == nil {
		w.next, l.head = l.head, w
	} else {
		w.next, after.next = after.next, w
	}
	if w.next == nil {
		l.tail = w
	} else {
		w.next.prev = w
	}
	l.waiting[w.strength]++
}

// dequeue takes w out of the queue.
func (l *keyLock) dequeue(w *Waiter) {
	if l.lastUp == w {
		l.lastUp = w.prev // all before an upgrade are upgrades
	}
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.lock = nil, nil, nil
	l.waiting[w.strength]--
}

// advance grants the lock to every waiter that conflicts with no holder and, unless it is an
// upgrade, with no waiter before it. It returns the number of grants that raised an existing
// holding.
func (l *keyLock) advance() (merged int) {
	var passed lock.Set // strengths of the waiters passed over
	for w := l.head; w != nil; {
		next := w.next
		fair := w.upgrade || w.strength.Conflicting()&passed == 0
		if fair && l.holderAgainst(w.holder.ID, w.strength).IsZero() {
			l.dequeue(w)
			if l.hold(w.holder.ID, w.strength) {
				merged++
			}
			w.finish(waiterGranted)
		} else {
			passed = passed.With(w.strength)
			if (next == nil || !next.upgrade) && !l.mayServe(passed) {
				break
			}
		}
		w = next
	}
	must.True(len(l.holders) > 0 || l.head == nil, "concurrency 3: waiters on a key that nobody holds")
	return merged
}

// mayServe reports whether some waiter's strength is compatible with all of passed. If none is,
// advance need not walk the rest of a long queue.
func (l *keyLock) mayServe(passed lock.Set) bool {
	for s := lock.KeyShare; s < lock.NumStrengths; s++ {
		if l.waiting[s] > 0 && s.Conflicting()&passed == 0 {
			return true
		}
	}
	return false
}

// hold records that id holds at least s; it reports whether id held the key before.
func (l *keyLock) hold(id TxnID, s lock.Strength) (held bool) {
	must.True(l.holderAgainst(id, s).IsZero(), "concurrency 2: conflicting lock granted")
	if i := l.find(id); i >= 0 {
		l.holders[i].s = max(l.holders[i].s, s)
		return true
	}
	l.holders = append(l.holders, holding{id: id, s: s})
	return false
}

// drop removes the i-th holding.
func (l *keyLock) drop(i int) {
	last := len(l.holders) - 1
	l.holders[i] = l.holders[last]
	l.holders = l.holders[:last]
}
