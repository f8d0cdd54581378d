// Package drain decides how a node that stops leaves its ranges: who leads them next, how many
// leaderships are transferred at a time, and when it is in vain to wait since there is no quorum.
// kvnode and node carry it out (kvnode/leave.go, node/drain.go).
//
// Invariants:
//
//  1. A leadership goes to a voter of another node that is live and does not drain, whose disk works
//     and has room. One that has missed a heartbeat, or whose disk is slow, gets it only if there is no
//     other. (Successor; testdata/drain)
//  2. A drain waits for the leaderships that are about to begin, as those of ranges just split off.
//     (Round.Visit; testdata/drain; TestMoveLeadersAwaitsElection in kvnode)
//  3. At most maxTransfers leaderships are transferred in a round, and rounds end after moveTimeout.
//     (Round.Visit, Round.Done; testdata/drain)
//
// A node that died within the last heartbeat looks like one that lives. If it is chosen, nothing is lost:
// the leadership stays, and after successorTimeout the next replica is asked.
package drain

import (
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// moveTimeout bounds how long a draining node waits for others to take over its ranges. They
	// elect leaders of what is left when the node is gone.
	moveTimeout = 10 * time.Second
	// maxTransfers bounds the leaderships that are transferred in a round.
	maxTransfers = 256
	// successorTimeout is how long a follower has to take over before another one is asked.
	successorTimeout = 2 * time.Second
)

// Peer is what a node knows of another one, and of the disk of a replica there.
type Peer struct {
	Live, Draining bool
	// Silent: it has missed a heartbeat, and may be dead.
	Silent              bool
	Stalled, Full, Slow bool
}

// Successor returns the replica that shall lead a range in place of self's. Ranges are spread over
// the replicas that can, and each attempt picks another one. ok is false if none can.
func Successor(d *kvpb.RangeDescriptor, self kvpb.NodeID, attempt int, peer func(*kvpb.ReplicaDescriptor) Peer) (id kvpb.ReplicaID, ok bool) {
	var can, poor []kvpb.ReplicaID
	for i := range d.Replicas {
		r := &d.Replicas[i]
		if r.Type != kvpb.Voter || r.Node == self {
			continue
		}
		switch p := peer(r); {
		case !p.Live || p.Draining || p.Stalled || p.Full:
		case p.Silent, p.Slow:
			poor = append(poor, r.Replica)
		default:
			can = append(can, r.Replica)
		}
	}
	if len(can) == 0 {
		can = poor
	}
	if len(can) == 0 {
		return 0, false
	}
	return can[(int(d.RangeID)+attempt)%len(can)], true
}

// QuorumLost reports whether fewer than a quorum of a range's voters are on nodes that answer.
func QuorumLost(d *kvpb.RangeDescriptor, answers func(kvpb.NodeID) bool) bool {
	voters, live := 0, 0
	for _, v := range d.Replicas {
		if v.Type != kvpb.Voter {
			continue
		}
		if voters++; answers(v.Node) {
			live++
		}
	}
	return live <= voters/2
}

// Round is one round over the ranges that a draining node leads.
type Round struct {
	Passed time.Duration // since the first round
	Left   int           // leaders, and replicas about to lead, that have a successor
}

// Replica is a replica of the draining node (package replica).
type Replica interface {
	// ClaimsLeadership reports whether it leads its range, or is about to. Leads reports whether it does.
	ClaimsLeadership() bool
	Leads() bool
	// TransferLeader offers the leadership to another replica.
	TransferLeader(to kvpb.ReplicaID)
}

// Visit has a replica transfer its leadership to its successor. A replica that is about to lead has
// nothing to transfer yet: it counts, so that another round follows.
func (r *Round) Visit(rep Replica, successor func() (kvpb.ReplicaID, bool)) {
	if !rep.ClaimsLeadership() {
		return
	}
	if to, ok := successor(); ok && r.admit() && rep.Leads() {
		rep.TransferLeader(to)
	}
}

// Attempt counts the successors that were asked before.
func (r *Round) Attempt() int { return int(r.Passed / successorTimeout) }

// admit counts a leader that has a successor, and reports whether its leadership is transferred in
// this round.
func (r *Round) admit() bool {
	r.Left++
	return r.Left <= maxTransfers
}

// Done reports whether the round, which is complete, was the last one.
func (r *Round) Done() bool { return r.Left == 0 || r.Passed > moveTimeout }
