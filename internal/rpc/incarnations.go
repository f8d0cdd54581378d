package rpc

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

const (
	// staleBytesFor is how long, after a later process appeared, bytes of the earlier one may arrive that
	// it sent before its end. Later bytes prove that it is active: an active process sends a ping every
	// PingInterval.
	staleBytesFor = PingInterval
	// admitPoll is the interval at which admit checks whether a process is active.
	admitPoll = 20 * time.Millisecond
	// maxPeers bounds the nodes whose processes are tracked.
	maxPeers = 4096
)

// incarnation is the process of a peer from which this node accepts connections: the latest one
// admitted. Earlier processes of the peer are rejected.
type incarnation struct {
	began int64              // Options.Incarnation of the process
	conns map[*conn]struct{} // its connections, handshakes included
}

// Twins are two processes of one node that run with copies of one store. If a node accepted both,
// each would vote and acknowledge in the other's name. So every node accepts one process of each
// peer at a time, and only later ones after it:
//
// - A later process is admitted once the earlier one is silent: its connections have ended, or brought
//   nothing for DeadTimeout. A process that has ended leaves no connections, so its successor does not
//   wait.
// - While the earlier process is active, the later one is refused, and ends (Options.OnTwin).
// - A process that comes back after a later one was admitted, because it was suspended or cut off, is
//   refused, and ends.

// admit decides whether to accept a connection of a peer's process, and records it if so. It waits
// until the decision is possible.
func (n *Node) admit(ctx context.Context, c *conn, h *hello) *RefusedError {
	if h.node == 0 || h.incarnation == 0 {
		return nil // a tool, a node without a cluster, or an older version
	}
	came := time.Now()
	poll := time.NewTicker(admitPoll)
	defer poll.Stop()
	for {
		r, decided := n.judge(c, h, came)
		if decided {
			return r
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return refuse(RefusedOther, "node %d runs already, as it seems: try again", h.node)
		}
	}
}

// judge is a step of admit. came is the time of the process's hello.
func (n *Node) judge(c *conn, h *hello, came time.Time) (r *RefusedError, decided bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.node == n.o.NodeID() {
		if own := n.o.Incarnation(); own != 0 && h.incarnation > own {
			return refuseTwin(h), true
		}
		return nil, true
	}
	l := n.mu.incarnations[h.node]
	switch {
	case l != nil && h.incarnation < l.began:
		return refuse(RefusedIdentity, "another process has started as node %d since this one was heard of last; it runs with the same store, or with a copy of it: only one can be the node, and this process ends",
			h.node), true
	case l != nil && h.incarnation > l.began && len(l.conns) > 0 && !plant.On(plant.TwinAdmitted):
		if l.active(came) {
			return refuseTwin(h), true
		}
		return nil, false
	case h.expect == 0:
		return nil, true // it looks for a cluster, or asks to join
	case l == nil && len(n.mu.incarnations) >= maxPeers:
		return refuse(RefusedOther, "more than %d nodes", maxPeers), true
	case l == nil || h.incarnation > l.began:
		l = &incarnation{began: h.incarnation, conns: map[*conn]struct{}{}}
		n.mu.incarnations[h.node] = l
	}
	l.conns[c] = struct{}{}
	c.incarnation = l
	return nil, true
}

// active reports whether a process has sent something since a later one appeared.
func (l *incarnation) active(came time.Time) bool {
	for c := range l.conns {
		if lastRead := c.born.Add(time.Duration(c.read.Load())); lastRead.Sub(came) > staleBytesFor {
			return true
		}
	}
	return false
}

func refuseTwin(h *hello) *RefusedError {
	return refuse(RefusedIdentity, "node %d runs already: another process has its identity and goes on, so that this one, which started later, ends; two processes run with copies of one store. "+
		"Start each node with a store of its own; with an empty one it joins as a new node", h.node)
}

// dropIncarnation removes a connection of a peer's process.
func (n *Node) dropIncarnation(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.incarnation != nil {
		delete(c.incarnation.conns, c)
	}
}

// otherIncarnation reports whether the process that answers this node's hello is not the accepted one: a
// later one was admitted in its place, or it may not be admitted yet.
func (n *Node) otherIncarnation(node kvpb.NodeID, began int64) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	l := n.mu.incarnations[node]
	return l != nil && began != 0 && (began < l.began || began > l.began && len(l.conns) > 0) && !plant.On(plant.TwinAdmitted)
}

// twin reports to the owner that another process of this node exists.
func (n *Node) twin(r *RefusedError) {
	if r.Reason == RefusedIdentity && n.o.OnTwin != nil {
		n.o.OnTwin(r)
	}
}
