package rpc

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

const (
	// lifeDoubt is after how long something that a process still sends counts as sent after a
	// later process of its node came: what comes sooner may have been on its way when the
	// process ended. A process that goes on sends a ping every PingInterval.
	lifeDoubt = PingInterval
	// lifePoll is how often it is looked whether a process goes on.
	lifePoll = 20 * time.Millisecond
	// maxLives bounds the nodes whose processes are remembered.
	maxLives = 4096
)

// life is the process of another node from which this one takes connections: the latest that
// it has let in. Those before it are over, whatever they take themselves for.
type life struct {
	began int64              // Options.Life of the process
	conns map[*conn]struct{} // from it, the greetings included
}

// Twins of one node, which run with copies of one store, must not both be listened to: each would vote
// and acknowledge in the other's name. Every node listens to one process of each peer at a time,
// and later ones only:
//
//   - a later process is let in once the one before it is silent: its connections have ended, or
//     brought nothing for DeadTimeout. A process that has ended leaves none behind, so that its
//     successor does not wait;
//   - as long as the one before goes on, the later one is refused, and ends (Options.OnTwin);
//   - a process that comes back after a later one was let in, because it stood still or was cut
//     off meanwhile, is refused, and ends.

// admit decides whether a connection of a peer's process is taken, and notes it if so. It waits
// while that is not known.
func (n *Node) admit(ctx context.Context, c *conn, h *hello) *RefusedError {
	if h.node == 0 || h.life == 0 {
		return nil // a tool, a node without a cluster, or an older version
	}
	came := time.Now()
	poll := time.NewTicker(lifePoll)
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

// judge is a step of admit. came is when the process introduced itself.
func (n *Node) judge(c *conn, h *hello, came time.Time) (r *RefusedError, decided bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.node == n.o.NodeID() {
		if own := n.o.Life(); own != 0 && h.life > own {
			return refuseTwin(h), true
		}
		return nil, true
	}
	l := n.mu.lives[h.node]
	switch {
	case l != nil && h.life < l.began:
		return refuse(RefusedIdentity, "another process has started as node %d since this one was heard of last; it runs with the same store, or with a copy of it: only one can be the node, and this process ends",
			h.node), true
	case l != nil && h.life > l.began && len(l.conns) > 0 && !plant.On(plant.TwinAdmitted):
		if l.goesOn(came) {
			return refuseTwin(h), true
		}
		return nil, false
	case h.expect == 0:
		return nil, true // it looks who is here, or asks to join
	case l == nil && len(n.mu.lives) >= maxLives:
		return refuse(RefusedOther, "more than %d nodes", maxLives), true
	case l == nil || h.life > l.began:
		l = &life{began: h.life, conns: map[*conn]struct{}{}}
		n.mu.lives[h.node] = l
	}
	l.conns[c] = struct{}{}
	c.life = l
	return nil, true
}

// goesOn reports whether a process has sent something since a later one came.
func (l *life) goesOn(came time.Time) bool {
	for c := range l.conns {
		if lastRead := c.born.Add(time.Duration(c.read.Load())); lastRead.Sub(came) > lifeDoubt {
			return true
		}
	}
	return false
}

func refuseTwin(h *hello) *RefusedError {
	return refuse(RefusedIdentity, "node %d runs already: another process has its identity and goes on, so that this one, which started later, ends; two processes run with copies of one store. "+
		"Start each node with a store of its own; with an empty one it joins as a new node", h.node)
}

// dismissLife notes the end of a connection of a peer's process.
func (n *Node) dismissLife(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.life != nil {
		delete(c.life.conns, c)
	}
}

// otherLife reports whether who answers this node's greeting is a process of a peer in whose
// place a later one was let in, or may not be let in yet.
func (n *Node) otherLife(node kvpb.NodeID, began int64) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	l := n.mu.lives[node]
	return l != nil && began != 0 && (began < l.began || began > l.began && len(l.conns) > 0) && !plant.On(plant.TwinAdmitted)
}

// twin tells the owner that another process is this node.
func (n *Node) twin(r *RefusedError) {
	if r.Reason == RefusedIdentity && n.o.OnTwin != nil {
		n.o.OnTwin(r)
	}
}
