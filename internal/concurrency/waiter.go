package concurrency

import (
	"errors"

	"github.com/lichendb/lichen/internal/lock"
)

// ErrMoved is what Waiter.Err returns if the key left the lock table during the wait, by a
// split, a merge or a change of leader. The caller asks the table that has the key now.
var ErrMoved = errors.New("concurrency: the locked key moved to another lock table")

// ErrCancelled is what Waiter.Err returns after Cancel took effect.
var ErrCancelled = errors.New("concurrency: lock wait cancelled")

type waiterState uint8

const (
	waiterQueued waiterState = iota
	waiterGranted
	waiterCancelled
	waiterMoved
)

// Waiter is a transaction's place in the queue for one lock. The caller of Acquire waits for
// Done, or gives up with Cancel.
type Waiter struct {
	table    *LockTable
	shard    *lockShard
	lock     *keyLock // nil once out of the queue
	prev     *Waiter
	next     *Waiter
	holder   Holder
	strength lock.Strength
	upgrade  bool // the transaction held a weaker lock when it began to wait
	inGraph  bool // a WaitGraph has this wait, and follows its edges
	state    waiterState
	done     chan struct{}
}

// finish ends the wait; the shard's mutex is held.
func (w *Waiter) finish(s waiterState) {
	w.state = s
	close(w.done)
}

// Done is closed when the wait is over. The lock is held then if Err returns nil.
func (w *Waiter) Done() <-chan struct{} { return w.done }

// Err says how the wait ended: nil when the lock was granted, else ErrMoved or
// ErrCancelled. Call it after Done.
func (w *Waiter) Err() error {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	switch w.state {
	case waiterMoved:
		return ErrMoved
	case waiterCancelled:
		return ErrCancelled
	}
	return nil
}

// Holder returns the waiting transaction.
func (w *Waiter) Holder() Holder { return w.holder }

// Strength returns the strength waited for.
func (w *Waiter) Strength() lock.Strength { return w.strength }

// Cancel gives up waiting. If it reports true, the lock had been granted before: it is held, and
// the caller keeps or releases it.
func (w *Waiter) Cancel() (granted bool) {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	if w.state != waiterQueued {
		return w.state == waiterGranted
	}
	l := w.lock
	l.dequeue(w)
	w.finish(waiterCancelled)
	w.table.count.Add(-1)
	w.table.serveQueue(w.shard, l)
	return false
}

// Blockers returns every transaction that w waits for at this moment: the conflicting holders,
// then the conflicting waiters before it. An upgrade waits for holders only. The list is empty
// once the wait is over.
func (w *Waiter) Blockers() []TxnID { return w.AppendBlockers(nil) }

// AppendBlockers appends Blockers to dst; it implements BlockerSource.
func (w *Waiter) AppendBlockers(dst []TxnID) []TxnID {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	if w.state != waiterQueued {
		return dst
	}
	dst = w.appendHolders(dst)
	if w.upgrade {
		return dst
	}
	for v := w.lock.head; v != w; v = v.next {
		if v.holder.ID != w.holder.ID && v.strength.Conflicts(w.strength) {
			dst = append(dst, v.holder.ID)
		}
	}
	return dst
}

// appendEdges implements edgeSource. It appends a part of Blockers from which the edges of other
// waits lead to the rest.
//
// Going back in the queue, it stops at the first wait that is in a graph, conflicts with w and is at
// least as strong: every earlier waiter that blocks w also blocks that one. So a queue of n updates
// has n edges, not n².
func (w *Waiter) appendEdges(dst []TxnID) []TxnID {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	if w.state != waiterQueued {
		return dst
	}
	dst = w.appendHolders(dst)
	if w.upgrade {
		return dst
	}
	for v := w.prev; v != nil; v = v.prev {
		if v.holder.ID == w.holder.ID || !v.strength.Conflicts(w.strength) {
			continue
		}
		dst = append(dst, v.holder.ID)
		if v.strength >= w.strength && !v.upgrade && v.inGraph {
			break
		}
	}
	return dst
}

// setInGraph implements edgeSource.
func (w *Waiter) setInGraph(in bool) {
	w.shard.mu.Lock()
	w.inGraph = in
	w.shard.mu.Unlock()
}

// appendHolders appends the conflicting holders; the shard's mutex is held.
func (w *Waiter) appendHolders(dst []TxnID) []TxnID {
	set := w.strength.Conflicting()
	for _, h := range w.lock.holders {
		if set.Has(h.s) && h.id != w.holder.ID {
			dst = append(dst, h.id)
		}
	}
	return dst
}
