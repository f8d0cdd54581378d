package liveness

import (
	"cmp"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Nodes returns all known nodes by id, including this one and removed ones.
func (l *Liveness) Nodes() []NodeInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.sorted()
	for i := range all {
		all[i] = all[i].clone()
	}
	return all
}

// Node returns the info about a node.
func (l *Liveness) Node(id kvpb.NodeID) (NodeInfo, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.registry[id]
	return n.clone(), ok
}

// Learn merges an info that did not come by heartbeat, and sends it to the other nodes. It is about a
// node that this one found while joining, or it is a removal, for which ID and Removed are enough.
// Learn ignores an info that is not newer.
func (l *Liveness) Learn(n NodeInfo) {
	ev := l.begin()
	defer l.end(ev)
	defer must.Report(l.o.OnFatal)
	l.merge(n.clone(), fromOwner, ev)
}

// Live reports whether n sent a message within the last LiveFor.
func (l *Liveness) Live(n kvpb.NodeID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.self.ID {
		return n != 0
	}
	p := l.peers[n]
	return p != nil && !p.received.IsZero() && time.Since(p.received) < LiveFor && !l.registry[n].Removed
}

// OthersAnswer reports whether more than half of all stores but s have disks that answer in time. The
// stores of a node that has sent no message for d don't.
func (l *Liveness) OthersAnswer(s kvpb.StoreID, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	stores, answer := 0, 0
	for id := range l.registry {
		n := l.registry[id]
		if n.Removed {
			continue
		}
		p := l.peers[id]
		received := id == l.self.ID || p != nil && !p.received.IsZero() && time.Since(p.received) < d
		for i := range n.Stores {
			o := &n.Stores[i]
			if o.ID == s {
				continue
			}
			stores++
			if received && !o.Late && !o.Stalled && !o.Full {
				answer++
			}
		}
	}
	return 2*answer > stores
}

// LastContact returns the time of n's latest message; zero if there was none.
func (l *Liveness) LastContact(n kvpb.NodeID) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.self.ID && n != 0 {
		return time.Now()
	}
	if p := l.peers[n]; p != nil {
		return p.received
	}
	return time.Time{}
}

// GatewayAlive reports whether an incarnation of a node may still be running. It returns false if a later
// incarnation is known, the node was removed, or it sent no message for DeadGatewayAfter. A node that has
// just become known has that long to send its first one.
func (l *Liveness) GatewayAlive(node kvpb.NodeID, incarnation int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if node == l.self.ID {
		return incarnation >= l.self.Incarnation
	}
	p := l.peer(node)
	if p == nil || incarnation < p.incarnation || l.registry[node].Removed {
		return false
	}
	last := p.received
	if last.IsZero() {
		last = p.known
	}
	return time.Since(last) < DeadGatewayAfter
}

// peer returns the record of another node and creates it if needed; nil if there are too many.
func (l *Liveness) peer(id kvpb.NodeID) *peer {
	p := l.peers[id]
	if p == nil && id != 0 && len(l.peers) < maxNodes {
		p = &peer{id: id, known: time.Now(), mismatches: 1}
		l.peers[id] = p
	}
	return p
}

func (l *Liveness) sorted() []NodeInfo {
	all := make([]NodeInfo, 0, len(l.registry))
	for _, n := range l.registry {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b NodeInfo) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// origin is the source of an info.
type origin int

const (
	fromOwner  origin = iota // Learn: it is sent to all nodes, including its subject
	fromItself               // its subject: it is sent to all others
	fromThird                // a third node, which sends it to the others itself
)

// merge adds an info to the registry if it is newer.
func (l *Liveness) merge(n NodeInfo, from origin, ev *events) {
	if !n.fits() {
		l.o.Logger.Warn("node info is too large", "node", n.ID)
		return
	}
	if n.ID == l.self.ID {
		l.mergeSelf(n, ev)
		return
	}
	old, known := l.registry[n.ID]
	if known && n.Removed && n.Incarnation == 0 {
		removed := old.clone()
		removed.Removed = true
		n = removed
	}
	if known && !old.version().less(n.version()) {
		return
	}
	p := l.peer(n.ID)
	if p == nil {
		l.o.Logger.Warn("too many nodes", "node", n.ID, "limit", maxNodes)
		return
	}
	p.incarnation = max(p.incarnation, n.Incarnation)
	for _, s := range n.Stores {
		l.attach(s.ID, p, ev)
	}
	if from != fromThird && (!known || n.differs(&old)) {
		l.changes[n.ID] = from
	}
	l.register(n)
	ev.nodes = append(ev.nodes, n.clone())
}

// mergeSelf merges an info of another node about this one.
func (l *Liveness) mergeSelf(n NodeInfo, ev *events) {
	switch {
	case n.Removed && !l.selfRemoved:
		l.selfRemoved = true
		l.o.Logger.Error("this node was removed from the cluster", "node", n.ID)
	case n.Removed:
		return
	case n.Incarnation > l.self.Incarnation:
		if n.Incarnation <= l.laterIncarnation {
			return
		}
		l.laterIncarnation = n.Incarnation
		l.o.Logger.Error("another process has this node's id, or the clock was set back",
			"node", n.ID, "incarnation", l.self.Incarnation, "other incarnation", n.Incarnation, "other address", n.Addr)
	case n.Incarnation == l.self.Incarnation && n.Seq > l.self.Seq:
		l.seqLift += n.Seq - l.self.Seq + 1
	default:
		return
	}
	ev.nodes = append(ev.nodes, n.clone())
}

// refreshSelf enters what Options.Self has returned about this node.
func (l *Liveness) refreshSelf(n NodeInfo, requesting bool, ev *events) {
	if n.ID == 0 {
		return
	}
	if !n.fits() {
		l.o.Logger.Error("this node's info is too large to be sent", "node", n.ID)
		return
	}
	n = n.clone()
	if l.self.ID == 0 { // its id is known now, so it is no peer
		if other, ok := l.registry[n.ID]; ok {
			l.digest ^= other.mix()
			delete(l.registry, n.ID)
			l.self = NodeInfo{ID: n.ID, Incarnation: n.Incarnation, Seq: n.Seq}
			l.mergeSelf(other, ev)
		}
		l.forgetPeer(n.ID)
	}
	n.Removed = n.Removed || l.selfRemoved
	n.Seq += l.seqLift
	l.requesting = requesting && !n.Removed
	for _, s := range n.Stores {
		l.attachOwn(s.ID)
	}
	if l.self.ID == n.ID && !l.self.version().less(n.version()) && l.registry[n.ID].ID != 0 {
		return
	}
	l.self = n
	l.register(n)
}

// forgetPeer drops the peer that was recorded for this node's id before the id was known. No
// support was given or received then.
func (l *Liveness) forgetPeer(id kvpb.NodeID) {
	p := l.peers[id]
	if p == nil {
		return
	}
	for _, e := range p.stores {
		e.node.Store(nil)
	}
	delete(l.peers, id)
}

func (l *Liveness) register(n NodeInfo) {
	old, known := l.registry[n.ID]
	if known {
		l.digest ^= old.mix()
	}
	l.registry[n.ID] = n
	l.digest ^= n.mix()
}

// mix hashes the id and version of an info.
func (n *NodeInfo) mix() uint64 {
	h := uint64(1)
	for _, v := range []uint64{uint64(n.ID), uint64(n.Incarnation), n.Seq, uint64(bitIf(n.Removed, 1))} {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}
