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

// TxnPeers reach the ranges where the other intents of a transaction are.
type TxnPeers interface {
	Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error
	Resolve(ctx context.Context, req *kvpb.ResolveRequest) error
	QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error
}

// TxnDeps is what a replica needs for transactions in several ranges.
type TxnDeps struct {
	// Peers send requests to other ranges; nil if there is no other range.
	Peers TxnPeers
	// GatewayAlive answers whether a transaction's gateway still lives its life. nil
	// stands for a node by itself: what is left from before the replica's start is
	// abandoned, everything else alive.
	GatewayAlive func(kvpb.TxnID) bool
	// GatewayResponsive reports whether a message of a living gateway came just now, so that it is
	// probably still at its commits; nil: all are.
	GatewayResponsive func(kvpb.TxnID) bool
	// Over asks a transaction's gateway whether it has ended, or reports that it can't
	// be reached: its locks then go to who waits for them. It may block for a while; nil:
	// nobody knows.
	Over func(kvpb.TxnID) bool
}

// ConnectTxns replaces what the replica was given for transactions in several ranges.
func (r *Replica) ConnectTxns(d TxnDeps) { r.txns.Store(&d) }

func (r *Replica) txnDeps() *TxnDeps {
	if d := r.txns.Load(); d != nil {
		return d
	}
	return &r.deps.TxnDeps
}

// gatewayAlive answers whether a transaction may go on; loaded tells that it is
// from before this leadership.
func (r *Replica) gatewayAlive(id kvpb.TxnID, loaded bool) bool {
	if r.txnDeps().GatewayAlive == nil {
		return !loaded
	}
	return r.txnDeps().GatewayAlive(id)
}

// abandonAfter is how long a commit may take whose gateway is there, before those who meet
// its locks abort it: a range may be without a leader, or frozen, meanwhile.
const abandonAfter = 3 * time.Second

// commitTimeout is how long the commit of a transaction may take until others abort it.
func (r *Replica) commitTimeout(id kvpb.TxnID, loaded bool) time.Duration {
	switch d := r.txnDeps(); {
	case !r.gatewayAlive(id, loaded):
		return 0
	case d.GatewayResponsive != nil && !d.GatewayResponsive(id):
		return txnintent.RecoverAfter
	}
	return abandonAfter
}

// peers returns what reaches the other ranges of a transaction: this range itself where there
// are no others.
func (r *Replica) peers() TxnPeers {
	if r.txnDeps().Peers != nil {
		return r.txnDeps().Peers
	}
	return r
}

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
	r.abandoned.Add(kvpb.TxnID(id))
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
		r.tasks.run(func() {
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
