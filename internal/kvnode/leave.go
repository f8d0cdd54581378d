package kvnode

import (
	"time"

	"github.com/lichendb/lichen/internal/drain"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// moveEvery is how often a draining node transfers leaderships that it still has.
const moveEvery = 20 * time.Millisecond

// MoveLeaders transfers the leaderships of the node to others that are live, as package drain decides, and
// tells left how many remain after each round. A leadership that the node gets later moves by placement.
func (n *Node) MoveLeaders(left func(int)) {
	if n.Live == nil {
		return
	}
	begun := time.Now()
	again := time.NewTicker(moveEvery)
	defer again.Stop()
	for {
		round := drain.Round{Passed: time.Since(begun)}
		for _, r := range n.Store.Replicas() {
			round.Visit(r, func() (kvpb.ReplicaID, bool) { return n.Successor(r, round.Attempt()) })
		}
		left(round.Left)
		if round.Done() {
			return
		}
		<-again.C
	}
}

// missed is the time without a message after which a node has missed a heartbeat.
const missed = liveness.HeartbeatEvery * 3 / 2

// ShedLeaders offers the ranges that full stores lead to others. Each attempt asks another
// follower.
func (n *Node) ShedLeaders(attempt int) {
	for _, st := range n.Store.Stores() {
		if !st.Disk().Full {
			continue
		}
		for _, r := range st.Replicas() {
			if !r.Leads() {
				continue
			}
			if to, ok := n.Successor(r, attempt); ok {
				r.TransferLeader(to)
			}
		}
	}
}

// Successor picks the replica that shall lead a range in this node's place (drain.Successor).
func (n *Node) Successor(r *replica.Replica, attempt int) (kvpb.ReplicaID, bool) {
	return drain.Successor(r.Desc(), n.ID(), attempt, func(d *kvpb.ReplicaDescriptor) drain.Peer {
		i, known := n.Live.Node(d.Node)
		disk := diskOf(i, d.Store)
		return drain.Peer{
			Live: known && n.Live.Live(d.Node), Silent: time.Since(n.Live.LastContact(d.Node)) > missed,
			Draining: i.Draining, Stalled: disk.Stalled, Full: disk.Full, Slow: disk.Slow,
		}
	})
}

// diskOf returns the state of the disk of one of a node's stores, according to the node's last info.
func diskOf(i liveness.NodeInfo, id kvpb.StoreID) store.DiskState {
	for _, s := range i.Stores {
		if s.ID == id {
			return store.DiskState{Stalled: s.Stalled, Full: s.Full, Slow: s.Slow}
		}
	}
	return store.DiskState{}
}
