package replica

import (
	"math"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/raftgroup"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Step delivers a raft message from another replica. epoch is that of the support that the sender's store
// gave to this node when it sent the message.
func (r *Replica) Step(m *pb.Message, from kvpb.ReplicaDescriptor, epoch int64) {
	r.group.Post(raftgroup.Input{Msg: m, From: from, Epoch: epoch})
}

// NeededFrom returns the index of the first entry that a follower may still need. The log below may be
// truncated. Only a leader knows the index: other replicas return the maximum.
func (r *Replica) NeededFrom() uint64 {
	if r.lease.Load() == nil || r.onlyVoter() {
		return math.MaxUint64
	}
	return r.group.MinMatch()
}

// Accept implements raftgroup.Host.
func (g *group) Accept(m *pb.Message, epoch int64) bool {
	if t := g.r.election.SteppingDown(); t != 0 && m.GetTerm() > t {
		g.stepElection(&lease.ElectionEvent{Type: lease.NewTerm})
	}
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		return !g.callForVotes(m)
	case pb.MsgHeartbeat:
		if err := g.checkAcknowledged(m); err != nil {
			g.failLost(err)
			return false
		}
	case pb.MsgTimeoutNow:
		return !g.stepElection(&lease.ElectionEvent{Type: lease.TimeoutNow})
	case pb.MsgHeartbeatResp:
		g.noteLaterTerm(m)
		g.noteAnswer(m, epoch)
	case pb.MsgAppResp:
		g.noteLaterTerm(m)
		g.noteAnswer(m, epoch)
	case pb.MsgVoteResp, pb.MsgPreVoteResp:
		return !g.noteVote(m)
	}
	return true
}

// noteLaterTerm notices an answer from a later term, in which an election is in progress.
func (g *group) noteLaterTerm(m *pb.Message) {
	if m.GetTerm() > g.Raft().BasicStatus().GetTerm() {
		g.stepElection(&lease.ElectionEvent{Type: lease.LaterTerm})
	}
}

// Send implements raftgroup.Host.
func (g *group) Send(m *pb.Message) {
	to, ok := g.peer(kvpb.ReplicaID(m.GetTo()))
	if !ok || g.r.deps.Send == nil {
		return
	}
	switch m.GetType() {
	case pb.MsgSnap:
		g.sendSnapshot(to, m)
		return
	case pb.MsgTimeoutNow:
		if l := g.r.lease.Load(); l != nil {
			l.Revoked.Store(true) // before the message leaves
			g.r.endTracking()
		}
	}
	g.r.deps.Send(g.r, to, m)
}

// NoteAnswer records that a message of the replica leaves with the support that its node gives to the
// receiver's. From then on the leader may count the support.
func (r *Replica) NoteAnswer(to kvpb.ReplicaID, m *pb.Message, given liveness.Support) {
	switch m.GetType() {
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		if to == *r.leader.Load() {
			r.election.NoteAnswer(given)
		}
	}
}

func (g *group) peer(id kvpb.ReplicaID) (kvpb.ReplicaDescriptor, bool) {
	if d, ok := g.r.Desc().ReplicaByID(id); ok {
		return d, true
	}
	// A replica without a snapshot knows only the sender of its messages.
	if s := g.Sender(); s.Replica == id && id != 0 {
		return s, true
	}
	return kvpb.ReplicaDescriptor{}, false
}
