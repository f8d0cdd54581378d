package replica

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// timeoutNow returns the MsgTimeoutNow by which the leader of a term asks another replica to campaign.
func (r *Replica) timeoutNow(to kvpb.ReplicaID, term uint64) *pb.Message {
	return &pb.Message{
		Type: pb.MsgTimeoutNow.Enum(), From: proto.Uint64(uint64(r.replicaID)), To: proto.Uint64(uint64(to)),
		Term: proto.Uint64(term),
	}
}

// Resign ends the replica's leadership of a range with other voters, and asks the n-th best of them to
// campaign. A stalled disk may block the processing goroutine, so Resign does not use it and can't transfer
// row locks. This replica serves no more reads in this term.
func (r *Replica) Resign(n int) {
	if l := r.endTerm(); l != nil {
		if list := r.candidates(l); len(list) > 0 {
			to := list[n%len(list)]
			r.deps.Send(r, to, r.timeoutNow(to.Replica, l.Term))
		}
	}
}

// ResignTo is Resign in favour of one voter, for a store with a slow disk. Proposers that wait here get an
// ambiguous error soon: the next leader will know the outcome before this replica does.
func (r *Replica) ResignTo(to kvpb.ReplicaDescriptor) {
	if l := r.endTerm(); l != nil {
		r.deps.Send(r, to, r.timeoutNow(to.Replica, l.Term))
		r.group.Group.Resign(l.Term)
	}
}

// endTerm revokes the present lease and returns it. It returns nil if there is none, or if no other replica
// could lead.
func (r *Replica) endTerm() *lease.Lease {
	l := r.lease.Load()
	if l == nil || l.Alone || r.deps.Send == nil {
		return nil
	}
	l.Revoked.Store(true) // before a message leaves
	r.endTracking()
	return l
}

// candidates returns the replicas that may lead in this replica's place, the best first.
func (r *Replica) candidates(l *lease.Lease) []kvpb.ReplicaDescriptor {
	return l.Candidates(r.Desc(), r.replicaID, func(s kvpb.StoreID) lease.Standing {
		switch {
		case !r.supportedBy(s):
			return lease.Absent
		case r.deps.Support != nil && r.deps.Support.Draining(s):
			return lease.Leaving
		}
		return lease.Staying
	})
}

// Reclaim makes a leader campaign again if it has offered its leadership to a replica that did not take it:
// its lease is revoked for the rest of this term (docs/decisions/0007, Leases). It is called periodically, and
// does nothing for other replicas.
//
// The election is an ordinary one: if the other replica has won after all, its followers do not vote. All
// others still follow this leader and would ignore its MsgVote. So it first sends them a rejecting
// MsgVoteResp of the next term, whose only effect is that they leave the old term.
func (r *Replica) Reclaim() {
	if !r.lease.Load().Reclaims(&r.transfers.LockGate, false) {
		return
	}
	r.group.Do(func() {
		g := r.group
		st := g.Raft().BasicStatus()
		if st.RaftState != raft.StateLeader || !r.lease.Load().Reclaims(&r.transfers.LockGate, st.LeadTransferee != raft.None) {
			return
		}
		rejectVote := func(to kvpb.ReplicaID) *pb.Message {
			return &pb.Message{
				Type: pb.MsgVoteResp.Enum(), From: proto.Uint64(uint64(r.replicaID)), To: proto.Uint64(uint64(to)),
				Term: proto.Uint64(st.GetTerm() + 1), Reject: proto.Bool(true),
			}
		}
		if err := g.Raft().Step(rejectVote(r.replicaID)); err != nil {
			r.deps.Logger.Error("reclaiming leadership", "range", r.id, "err", err)
			return
		}
		for _, d := range r.Desc().Replicas {
			if d.Replica != r.replicaID && r.deps.Send != nil {
				r.deps.Send(r, d, rejectVote(d.Replica))
			}
		}
		_ = g.Raft().Campaign()
	})
}
