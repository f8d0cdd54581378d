package replica

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/txnintent"
)

// TxnPeers sends requests to the other ranges of a transaction.
type TxnPeers interface {
	Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error
	Resolve(ctx context.Context, req *kvpb.ResolveRequest) error
	QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error
}

// TxnDeps is what a replica needs for transactions in several ranges.
type TxnDeps struct {
	// Peers send requests to other ranges; nil if there is no other range.
	Peers TxnPeers
	// GatewayAlive reports whether the process that was a transaction's gateway still runs. It is nil on a
	// single node: transactions from before the replica's start are abandoned, all others alive.
	GatewayAlive func(kvpb.TxnID) bool
	// GatewayResponsive reports whether a living gateway has sent a message recently, so that it is
	// probably still completing its commits. nil: every gateway is responsive.
	GatewayResponsive func(kvpb.TxnID) bool
	// Finalized asks a transaction's gateway whether the transaction has ended, so that the waiters for its
	// locks can get them. It also returns true if the gateway can't be reached. It may block. nil: no
	// gateway can be asked.
	Finalized func(kvpb.TxnID) bool
}

// ConnectTxns replaces the TxnDeps of New.
func (r *Replica) ConnectTxns(d TxnDeps) { r.txns.Store(&d) }

func (r *Replica) txnDeps() *TxnDeps {
	if d := r.txns.Load(); d != nil {
		return d
	}
	return &r.deps.TxnDeps
}

// gatewayAlive reports whether the gateway of a transaction still runs, so that the transaction may continue.
// loaded says that the transaction is from before this leadership.
func (r *Replica) gatewayAlive(id kvpb.TxnID, loaded bool) bool {
	if r.txnDeps().GatewayAlive == nil {
		return !loaded
	}
	return r.txnDeps().GatewayAlive(id)
}

// abandonAfter is how long other transactions wait for a commit of a responsive gateway before they abort it.
// It leaves time for a range that has no leader, or is frozen.
const abandonAfter = 3 * time.Second

// commitTimeout is how long other transactions wait for a transaction's commit before they abort it.
func (r *Replica) commitTimeout(id kvpb.TxnID, loaded bool) time.Duration {
	switch d := r.txnDeps(); {
	case !r.gatewayAlive(id, loaded):
		return 0
	case d.GatewayResponsive != nil && !d.GatewayResponsive(id):
		return txnintent.RecoverAfter
	}
	return abandonAfter
}

// peers returns the TxnPeers: without other ranges, the replica itself.
func (r *Replica) peers() TxnPeers {
	if r.txnDeps().Peers != nil {
		return r.txnDeps().Peers
	}
	return r
}

// dropDead releases the lock of a transaction whose gateway has died, and reports whether it did. The
// transaction can't begin to commit here any more (abandoned). A commit in flight keeps the lock until
// it ends.
func (r *Replica) dropDead(key []byte, id concurrency.TxnID) bool {
	if r.gatewayAlive(kvpb.TxnID(id), false) {
		return false
	}
	return r.dropLock(key, id)
}

// dropLock releases a lock of a transaction that will not commit.
func (r *Replica) dropLock(key []byte, id concurrency.TxnID) bool {
	r.abandoned.Add(kvpb.TxnID(id))
	if c := r.commits.BlockingRead(concurrency.TxnID{}, key, hlc.MaxTimestamp); c != nil && c.Txn() == id {
		return false
	}
	return r.locks.Release(id, key)
}

const (
	// askGatewayAfter is the interval at which a request that waits for a lock asks the gateway of the
	// holder whether the holder has ended.
	askGatewayAfter = 500 * time.Millisecond
	// maxGatewayAsks bounds the concurrent questions of one replica.
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

// askGateways asks the gateways of a lock request's blockers whether their transactions have ended, and
// drops the lock of one that has: its release was lost.
func (r *Replica) askGateways(key []byte, source concurrency.BlockerSource) {
	over := r.txnDeps().Finalized
	w, ok := source.(*concurrency.Waiter)
	if !ok || over == nil {
		return
	}
	for _, id := range w.Blockers() {
		if !r.gatewayAsks.begin(id) {
			continue
		}
		k := bytes.Clone(key)
		r.tasks.run(func() {
			defer r.gatewayAsks.end(id)
			if over(kvpb.TxnID(id)) && r.dropLock(k, id) {
				r.deps.Logger.Info("dropped the lock of a transaction that is over", "range", r.id, "txn", kvpb.TxnID(id))
			}
		})
	}
}

// dropDeadBlockers calls dropDead for all blockers of a lock request.
func (r *Replica) dropDeadBlockers(key []byte, source concurrency.BlockerSource) {
	w, ok := source.(*concurrency.Waiter)
	if !ok {
		return
	}
	for _, id := range w.Blockers() {
		r.dropDead(key, id)
	}
}
