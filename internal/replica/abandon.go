package replica

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxAbandoned bounds the transactions that a leader remembers to refuse. Older ones
// have lost their locks, by which their commits fail as well.
const maxAbandoned = 1024

// abandoned are transactions whose gateway got no answer to their commit and gave
// up. A commit announces itself and then looks here; who abandons a transaction
// enters it here and then looks for its commit: one of the two sees the other.
type abandoned struct {
	n     atomic.Int32 // 0 is what commits look at
	mu    sync.Mutex
	ids   map[kvpb.TxnID]struct{}
	order []kvpb.TxnID
}

func (a *abandoned) add(id kvpb.TxnID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.ids[id]; ok {
		return
	}
	if a.ids == nil {
		a.ids = map[kvpb.TxnID]struct{}{}
	}
	if len(a.order) == maxAbandoned {
		delete(a.ids, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.ids[id] = struct{}{}
	a.order = append(a.order, id)
	a.n.Store(int32(len(a.order)))
}

func (a *abandoned) has(id kvpb.TxnID) bool {
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
	for _, k := range req.Locks {
		for {
			c := r.commits.BlockingRead(concurrency.TxnID{}, k, hlc.MaxTimestamp)
			if c == nil || c.Txn() != txnID(req.Txn) {
				break
			}
			select {
			case <-c.Done():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
