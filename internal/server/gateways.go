package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
)

// startOf is how a life of a node appears in the ids of its transactions: in steps
// of 65.536 µs.
func startOf(life int64) uint64 { return uint64(life) >> 16 & (1<<48 - 1) }

// maxNewLives bounds the lives that are served before a heartbeat told of them.
const maxNewLives = 1024

// newLives are lives of gateways that sent requests before a heartbeat told of them:
// those of nodes that have just started.
type newLives struct {
	mu   sync.Mutex
	seen map[gatewayLife]time.Time
}

type gatewayLife struct {
	node  kvpb.NodeID
	start uint64
}

// alive reports whether a life may go on: it gets as long to be heard of as any other.
func (l *newLives) alive(g gatewayLife) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, ok := l.seen[g]
	if !ok {
		if l.seen == nil {
			l.seen = map[gatewayLife]time.Time{}
		}
		if len(l.seen) >= maxNewLives {
			return false
		}
		first = time.Now()
		l.seen[g] = first
	}
	return time.Since(first) < liveness.DeadGatewayAfter
}

// known forgets the lives of a node that have become known, or are over.
func (l *newLives) known(g gatewayLife) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o := range l.seen {
		if o.node == g.node && o.start <= g.start {
			delete(l.seen, o)
		}
	}
}

// gatewayAlive returns what tells whether the gateway of a transaction goes on; nil
// on a node by itself.
func (n *Node) gatewayAlive() func(kvpb.TxnID) bool {
	if n.cfg.SingleNode {
		return nil
	}
	return func(id kvpb.TxnID) bool {
		g := gatewayLife{id.Gateway(), id.GatewayStart()}
		if g.node == n.NodeID() {
			return g.start == startOf(n.life)
		}
		i, ok := n.live.Node(g.node)
		switch heard := startOf(i.Life); {
		case ok && (i.Removed || g.start < heard):
			return false
		case ok && g.start == heard:
			return n.live.GatewayAlive(g.node, i.Life)
		}
		return n.newLives.alive(g) // it has just started
	}
}

// gatewayHeard returns what tells whether the gateway of a transaction was heard of just
// now.
func (n *Node) gatewayHeard() func(kvpb.TxnID) bool {
	if n.cfg.SingleNode {
		return nil
	}
	return func(id kvpb.TxnID) bool { return n.live.Live(id.Gateway()) }
}

// gatewaySilence is after how long without a word of a gateway the row locks of its
// transactions go to those who wait for them.
const gatewaySilence = 2 * time.Second

// txnOver returns what finds out whether the transaction that holds a lock which others
// wait for has ended, or its gateway is out of reach; nil on a node by itself.
func (n *Node) txnOver() func(kvpb.TxnID) bool {
	if n.cfg.SingleNode {
		return nil
	}
	return func(id kvpb.TxnID) bool {
		g := id.Gateway()
		if g == n.NodeID() {
			return n.db.Over(id)
		}
		heard := n.live.LastHeard(g)
		return !heard.IsZero() && time.Since(heard) > gatewaySilence || n.deadlocks.Over(id)
	}
}

// noteNode hears that a node became known or changed.
func (n *Node) noteNode(i liveness.NodeInfo) {
	n.newLives.known(gatewayLife{i.ID, startOf(i.Life)})
	switch {
	case i.ID != n.NodeID():
	case i.Removed:
		n.setMembership(Decommissioned)
	case i.Life > n.life:
		n.endAsTwin(fmt.Errorf("another process runs as node %d, at %s: it was started later than this one, which ends; two processes run with one store, or with copies of it", i.ID, i.Addr))
	}
}

// endAsTwin ends the process: another one is this node. What this one has promised as the node
// counts no more, and nothing more may be said in its name.
func (n *Node) endAsTwin(err error) {
	var refused *rpc.RefusedError
	if errors.As(err, &refused) {
		err = errors.New(refused.Msg)
	}
	n.log.Error("another process is this node; this one ends", "err", err)
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s: %v\n", strings.Join(n.cfg.Dirs(), " and "), err)
	os.Exit(fatalExit)
}
