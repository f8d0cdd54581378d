package kvnode

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

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

// Successor picks the replica that shall lead a range in this node's place: one with a slow disk
// only if there is no other. Ranges are spread over those who can, and each attempt picks another
// one.
func (n *Node) Successor(r *replica.Replica, attempt int) (kvpb.ReplicaID, bool) {
	var can, slow []kvpb.ReplicaID
	for _, d := range r.Desc().Replicas {
		if d.Type != kvpb.Voter || d.Node == n.ID() || !n.Live.Live(d.Node) {
			continue
		}
		i, ok := n.Live.Node(d.Node)
		switch disk := diskOf(i, d.Store); {
		case !ok || i.Draining || disk.Stalled || disk.Full:
		case disk.Slow:
			slow = append(slow, d.Replica)
		default:
			can = append(can, d.Replica)
		}
	}
	if len(can) == 0 {
		can = slow
	}
	if len(can) == 0 {
		return 0, false
	}
	return can[(int(r.RangeID())+attempt)%len(can)], true
}

// diskOf returns the state of the disk of one of a node's stores, as the node said last.
func diskOf(i liveness.NodeInfo, id kvpb.StoreID) store.DiskState {
	for _, s := range i.Stores {
		if s.ID == id {
			return store.DiskState{Stalled: s.Stalled, Full: s.Full, Slow: s.Slow}
		}
	}
	return store.DiskState{}
}
