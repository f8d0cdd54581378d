package kvnode

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
)

// startOf returns the part of an incarnation in the ids of its transactions: steps of 65.536 µs.
func startOf(incarnation int64) uint64 { return uint64(incarnation) >> 16 & (1<<48 - 1) }

// GatewayIncarnation returns the high half of the ids of this incarnation's transactions.
func (n *Node) GatewayIncarnation() uint64 {
	return kvpb.GatewayIncarnation(n.ID(), startOf(n.Incarnation))
}

// maxNewGateways bounds the gateways that are served before their first heartbeat.
const maxNewGateways = 1024

// newGateways are the gateways of nodes that have just started: they have sent requests, and no heartbeat
// yet.
type newGateways struct {
	mu   sync.Mutex
	seen map[incarnation]time.Time
}

type incarnation struct {
	node  kvpb.NodeID
	start uint64
}

// alive reports whether a gateway counts as alive: until it has had the usual time for its first heartbeat.
func (l *newGateways) alive(g incarnation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, ok := l.seen[g]
	if !ok {
		if l.seen == nil {
			l.seen = map[incarnation]time.Time{}
		}
		if len(l.seen) >= maxNewGateways {
			return false
		}
		first = time.Now()
		l.seen[g] = first
	}
	return time.Since(first) < liveness.DeadGatewayAfter
}

// known forgets the incarnations of a node up to g, which has sent a heartbeat.
func (l *newGateways) known(g incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o := range l.seen {
		if o.node == g.node && o.start <= g.start {
			delete(l.seen, o)
		}
	}
}

// txnDeps returns the replicas' dependencies for transactions. A node alone is the only gateway.
func (n *Node) txnDeps() replica.TxnDeps {
	if n.o.Alone {
		return replica.TxnDeps{Peers: n.Router}
	}
	return replica.TxnDeps{
		Peers: n.Router, GatewayAlive: n.gatewayAlive, Finalized: n.txnFinalized,
		GatewayResponsive: func(id kvpb.TxnID) bool { return n.Live.Live(id.Gateway()) },
	}
}

// gatewayAlive reports whether the gateway of a transaction is alive.
func (n *Node) gatewayAlive(id kvpb.TxnID) bool {
	g := incarnation{id.Gateway(), id.GatewayStart()}
	if g.node == n.ID() {
		return g.start == startOf(n.Incarnation)
	}
	i, ok := n.Live.Node(g.node)
	switch contact := startOf(i.Incarnation); {
	case ok && (i.Removed || g.start < contact):
		return false
	case ok && g.start == contact:
		return n.Live.GatewayAlive(g.node, i.Incarnation)
	}
	return n.newGateways.alive(g) // it has just started
}

// gatewaySilence is the time without a message of a gateway after which waiters get the row locks of its
// transactions.
const gatewaySilence = 2 * time.Second

// txnFinalized reports whether a transaction with contended locks has ended, or its gateway can't be reached.
func (n *Node) txnFinalized(id kvpb.TxnID) bool {
	g := id.Gateway()
	if g == n.ID() {
		return n.DB.Finalized(id)
	}
	contact := n.Live.LastContact(g)
	return !contact.IsZero() && time.Since(contact) > gatewaySilence || n.Deadlocks.Finalized(id)
}

// TxnFinalized reports whether a transaction has ended, or its gateway has.
func (n *Node) TxnFinalized(id kvpb.TxnID) bool {
	switch {
	case id.Gateway() == n.ID() && id.GatewayStart() == startOf(n.Incarnation):
		return n.DB.Finalized(id)
	case n.o.Alone:
		return true
	}
	return !n.gatewayAlive(id) || n.Deadlocks.Finalized(id)
}
