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

// Env is what all transactions of a gateway share.
type Env struct {
	Sender kvpb.Sender
	Clock  *hlc.Clock
	// MaxOffset is how far the clocks of other gateways may be ahead of this one; 0
	// if there are none.
	MaxOffset time.Duration
	// Clocks appends readings of other nodes' clocks from after the call, as many as come at
	// once; this node's clock has passed them then. nil: no transaction asks for them.
	Clocks func(context.Context, []kvpb.Observation) []kvpb.Observation
	// Mem is charged for write buffers; nil means no limit.
	Mem *quota.Pool
	// SpillBytes is how large a write buffer grows before its writes go to the ranges;
	// 0: maxBufferBytes.
	SpillBytes int64

	idHi uint64
	idLo atomic.Uint64

	mu     sync.Mutex
	oldest Txn // sentinel of the ring of active transactions
	count  int
}

// NewEnv returns an Env; idHi distinguishes this gateway's transaction ids from
// those of every other gateway and of its own former lives.
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

// Over reports whether a transaction was this gateway's and has ended.
func (e *Env) Over(id kvpb.TxnID) bool {
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

// OldestRead returns a lower bound of the timestamps at which active
// transactions may still read: nothing visible there may be collected. It is
// the start of the oldest transaction, or an empty timestamp if none is active.
// Transactions AS OF an older time must be admitted by the caller's threshold.
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
