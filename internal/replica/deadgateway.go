package replica

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// dropDead takes a lock away from a transaction whose gateway's life has ended; it
// reports whether it did. The transaction can't commit here any more: a commit that
// has begun keeps the lock until it is through, and one that begins from now on is
// refused (abandoned).
func (r *Replica) dropDead(key []byte, id concurrency.TxnID) bool {
	if r.gatewayAlive(kvpb.TxnID(id), false) {
		return false
	}
	r.abandoned.add(kvpb.TxnID(id))
	if c := r.commits.BlockingRead(concurrency.TxnID{}, key, hlc.MaxTimestamp); c != nil && c.Txn() == id {
		return false
	}
	return r.locks.Release(id, key)
}

// dropDeadBlockers does so for all that a lock request waits for.
func (r *Replica) dropDeadBlockers(key []byte, source concurrency.BlockerSource) {
	w, ok := source.(*concurrency.Waiter)
	if !ok {
		return
	}
	for _, id := range w.Blockers() {
		r.dropDead(key, id)
	}
}
