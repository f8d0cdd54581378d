package replica

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxTxnSet bounds the transactions that a leader remembers to refuse. Older ones
// have lost their locks, by which their commits fail as well.
const maxTxnSet = 1024

// txnSet are transactions of which a leader refuses commits: those whose gateway got
// no answer to their commit and gave up (abandoned), and first copies of commits that
// came again (repeats). A commit announces itself and then looks here; who refuses it
// enters it here and then looks for its commit: one of the two sees the other.
type txnSet struct {
	n     atomic.Int32 // 0 is what commits look at
	mu    sync.Mutex
	ids   map[kvpb.TxnID]struct{}
	order []kvpb.TxnID
}

func (a *txnSet) add(id kvpb.TxnID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.ids[id]; ok {
		return
	}
	if a.ids == nil {
		a.ids = map[kvpb.TxnID]struct{}{}
	}
	if len(a.order) == maxTxnSet {
		delete(a.ids, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.ids[id] = struct{}{}
	a.order = append(a.order, id)
	a.n.Store(int32(len(a.order)))
}

func (a *txnSet) has(id kvpb.TxnID) bool {
	if a.n.Load() == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.ids[id]
	return ok
}

// awaitAbandoned makes sure that no commit of the transaction begins any more, and
// waits for one that has.
func (r *Replica) awaitAbandoned(ctx context.Context, req *kvpb.ReleaseRequest) error {
	r.abandoned.add(req.Txn.ID)
	return r.awaitCommit(ctx, txnID(req.Txn))
}

// awaitCommit waits until no commit of the transaction is in flight.
func (r *Replica) awaitCommit(ctx context.Context, id concurrency.TxnID) error {
	for {
		c := r.commits.Of(id)
		if c == nil {
			return nil
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// repeats keep the copies of a commit apart that got no answer and came again: one of
// them is served at a time, and the first, which the network may still carry, not any
// more.
type repeats struct {
	known txnSet
	mu    sync.Mutex
	busy  map[kvpb.TxnID]chan struct{}
}

// enter waits until no other copy is being served; leave ends the service of this one.
func (p *repeats) enter(ctx context.Context, id kvpb.TxnID) (leave func(), err error) {
	p.known.add(id)
	for {
		p.mu.Lock()
		other := p.busy[id]
		if other == nil {
			if p.busy == nil {
				p.busy = map[kvpb.TxnID]chan struct{}{}
			}
			done := make(chan struct{})
			p.busy[id] = done
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				delete(p.busy, id)
				p.mu.Unlock()
				close(done)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errRepeated = &kvpb.UnavailableError{Reason: "the commit was sent again"}

// refused answers whether a commit that has announced itself may go on.
func (r *Replica) refused(req *kvpb.CommitRequest) error {
	switch {
	case r.abandoned.has(req.Txn.ID):
		return errAborted
	case !req.Resent && r.repeats.known.has(req.Txn.ID):
		return errRepeated // nobody waits for the answer to this copy
	}
	return nil
}
