package coord

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
)

// Env is the state that all transactions of a gateway share.
type Env struct {
	Sender kvpb.Sender
	Clock  *hlc.Clock
	// MaxOffset is the largest lead of other gateways' clocks over this one; 0 if there are no
	// others.
	MaxOffset time.Duration
	// Clocks appends readings of other nodes' clocks that were taken after the call, without
	// waiting for slow nodes. It also forwards this node's clock past them. If nil, transactions
	// request none.
	Clocks func(context.Context, []kvpb.Observation) []kvpb.Observation
	// Mem is charged for write buffers; nil: no limit.
	Mem *quota.Pool
	// SpillBytes is the size at which a write buffer spills; 0: maxBufferBytes.
	SpillBytes int64

	idHi uint64
	idLo atomic.Uint64
	// detached counts rollbacks under way that nobody waits for; at most maxDetached.
	detached atomic.Int32

	mu     sync.Mutex
	oldest Txn // sentinel of the ring of active transactions
	count  int
}

// NewEnv returns an Env. idHi makes its transaction ids distinct from those of other gateways and
// of earlier incarnations of this one.
func NewEnv(s kvpb.Sender, c *hlc.Clock, idHi uint64) *Env {
	e := &Env{Sender: s, Clock: c, idHi: idHi}
	e.oldest.next, e.oldest.prev = &e.oldest, &e.oldest
	return e
}

func (e *Env) spillBytes() int64 {
	if e.SpillBytes > 0 {
		return e.SpillBytes
	}
	return maxBufferBytes
}

func (e *Env) nextTxnID() kvpb.TxnID {
	return kvpb.TxnID{Hi: e.idHi, Lo: e.idLo.Add(1)}
}

// reserveDetached takes one of the maxDetached places; it returns false if there is none.
func (e *Env) reserveDetached() bool {
	if e.detached.Add(1) <= maxDetached {
		return true
	}
	e.detached.Add(-1)
	return false
}

func (e *Env) register(t *Txn) {
	e.mu.Lock()
	t.prev, t.next = e.oldest.prev, &e.oldest
	t.prev.next, e.oldest.prev = t, t
	t.registered, t.locksOnly = true, t.opts.LocksOnly
	e.count++
	e.mu.Unlock()
}

func (e *Env) unregister(t *Txn) {
	if !t.registered {
		return
	}
	e.mu.Lock()
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next, t.registered = nil, nil, false
	e.count--
	e.mu.Unlock()
}

// Finalized reports whether a transaction belonged to this gateway and has ended.
func (e *Env) Finalized(id kvpb.TxnID) bool {
	if id.Hi != e.idHi || id.Lo > e.idLo.Load() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := e.oldest.next; t != &e.oldest; t = t.next {
		if t.meta.ID == id {
			return false
		}
	}
	return true
}

// OldestRead returns a lower bound of the timestamps at which active transactions may still read:
// versions visible there must not be collected. It is the start of the oldest transaction, or empty
// if none is active. Transactions AS OF an older time must be checked against the threshold
// instead.
func (e *Env) OldestRead() hlc.Timestamp {
	e.mu.Lock()
	defer e.mu.Unlock()
	var oldest hlc.Timestamp
	for t := e.oldest.next; t != &e.oldest; t = t.next {
		if t.locksOnly {
			continue
		}
		if ts := t.meta.StartTS; oldest.IsEmpty() || ts.Less(oldest) {
			oldest = ts
		}
	}
	return oldest
}

// Active returns the number of active transactions.
func (e *Env) Active() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}
