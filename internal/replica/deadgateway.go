package replica

import (
	"bytes"
	"sync"
	"time"

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
	return r.dropLock(key, id)
}

// dropLock takes a lock away from a transaction that will not commit.
func (r *Replica) dropLock(key []byte, id concurrency.TxnID) bool {
	r.abandoned.add(kvpb.TxnID(id))
	if c := r.commits.BlockingRead(concurrency.TxnID{}, key, hlc.MaxTimestamp); c != nil && c.Txn() == id {
		return false
	}
	return r.locks.Release(id, key)
}

const (
	// askGatewayAfter is how long a request waits for a lock before the gateway of its
	// holder is asked whether that transaction goes on, and how often.
	askGatewayAfter = 500 * time.Millisecond
	// maxGatewayAsks bounds the questions of one replica under way.
	maxGatewayAsks = 64
)

// gatewayAsks are the lock holders whose gateways are being asked.
type gatewayAsks struct {
	mu   sync.Mutex
	busy map[concurrency.TxnID]struct{}
}

func (a *gatewayAsks) begin(id concurrency.TxnID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.busy[id]; ok || len(a.busy) >= maxGatewayAsks {
		return false
	}
	if a.busy == nil {
		a.busy = map[concurrency.TxnID]struct{}{}
	}
	a.busy[id] = struct{}{}
	return true
}

func (a *gatewayAsks) end(id concurrency.TxnID) {
	a.mu.Lock()
	delete(a.busy, id)
	a.mu.Unlock()
}

// askGateways asks whether the transactions go on that a lock request waits for, and
// drops the lock of one that is over: the release got lost.
func (r *Replica) askGateways(key []byte, source concurrency.BlockerSource) {
	over := r.txnDeps().Over
	w, ok := source.(*concurrency.Waiter)
	if !ok || over == nil {
		return
	}
	for _, id := range w.Blockers() {
		if !r.gatewayAsks.begin(id) {
			continue
		}
		k := bytes.Clone(key)
		r.spills.run(func() {
			defer r.gatewayAsks.end(id)
			if over(kvpb.TxnID(id)) && r.dropLock(k, id) {
				r.deps.Logger.Info("dropped the lock of a transaction that is over", "range", r.id, "txn", kvpb.TxnID(id))
			}
		})
	}
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
