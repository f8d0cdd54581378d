package txnintent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/kvpb"
)

// maxTxnSet bounds a TxnSet. Older transactions have lost their locks, so that their commits
// fail as well.
const maxTxnSet = 1024

// TxnSet are transactions whose commits a leader refuses. A commit first announces itself and
// then looks here. A refusal first adds the transaction here and then looks for its commit. So at
// least one of them sees the other. The zero value is empty.
type TxnSet struct {
	n     atomic.Int32 // of ids; while it is 0, commits need no mutex
	mu    sync.Mutex
	ids   map[kvpb.TxnID]struct{}
	order []kvpb.TxnID
}

// Add adds a transaction, in place of the oldest if there are too many.
func (s *TxnSet) Add(id kvpb.TxnID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ids[id]; ok {
		return
	}
	if s.ids == nil {
		s.ids = map[kvpb.TxnID]struct{}{}
	}
	if len(s.order) == maxTxnSet {
		delete(s.ids, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	s.ids[id] = struct{}{}
	s.order = append(s.order, id)
	s.n.Store(int32(len(s.order)))
}

// Has reports whether a transaction is in the set.
func (s *TxnSet) Has(id kvpb.TxnID) bool {
	if s.n.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[id]
	return ok
}

// Each calls fn for all transactions, the oldest first.
func (s *TxnSet) Each(fn func(kvpb.TxnID)) {
	s.mu.Lock()
	all := append([]kvpb.TxnID(nil), s.order...)
	s.mu.Unlock()
	for _, id := range all {
		fn(id)
	}
}

// ReplayFilter is the replay filter: it orders the copies of a commit that got no answer and was sent
// again. The leader serves one copy at a time. It refuses the first one, which the network may deliver
// late. The zero value is ready for use.
type ReplayFilter struct {
	// Replayed are the transactions whose commit was sent again.
	Replayed TxnSet

	mu   sync.Mutex
	busy map[kvpb.TxnID]chan struct{}
}

// Enter waits until no other copy is being served. leave ends the service of this one.
func (f *ReplayFilter) Enter(ctx context.Context, id kvpb.TxnID) (leave func(), err error) {
	f.Replayed.Add(id)
	for {
		f.mu.Lock()
		other := f.busy[id]
		if other == nil {
			if f.busy == nil {
				f.busy = map[kvpb.TxnID]chan struct{}{}
			}
			done := make(chan struct{})
			f.busy[id] = done
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.busy, id)
				f.mu.Unlock()
				close(done)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
