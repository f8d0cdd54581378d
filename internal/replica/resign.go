package replica

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// timeoutNow asks another replica to campaign in the place of the leader of a term.
func (r *Replica) timeoutNow(to kvpb.ReplicaID, term uint64) *pb.Message {
	return &pb.Message{
		Type: pb.MsgTimeoutNow.Enum(), From: proto.Uint64(uint64(r.replicaID)), To: proto.Uint64(uint64(to)),
		Term: proto.Uint64(term),
	}
}

// Resign ends the replica's leadership of a range that has other voters, if it has one, and
// asks the n-th best of them to take it. It does so without the group, whose processing
// goroutine may be waiting for a disk that stands still, and so without handing over row
// locks. From now on nothing is read in this term here; that disk needs not be there for
// the others to find each other.
func (r *Replica) Resign(n int) {
	if l := r.endTerm(); l != nil {
		if list := r.candidates(l); len(list) > 0 {
			to := list[n%len(list)]
			r.deps.Send(r, to, r.timeoutNow(to.Replica, l.Term))
		}
	}
}

// ResignTo is Resign in favour of one voter, by a store whose disk is slow: who waits for this
// one to apply a command soon learns that the next leader knows more.
func (r *Replica) ResignTo(to kvpb.ReplicaDescriptor) {
	if l := r.endTerm(); l != nil {
		r.deps.Send(r, to, r.timeoutNow(to.Replica, l.Term))
		r.group.Group.Resign(l.Term)
	}
}

// endTerm has nothing more read under the present lease, which it returns; nil if there is
// none or nobody else could lead.
func (r *Replica) endTerm() *lease.Lease {
	l := r.lease.Load()
	if l == nil || l.Alone || r.deps.Send == nil {
		return nil
	}
	l.Revoked.Store(true) // before a message leaves
	r.endTracking()
	return l
}

// candidates returns who may lead in this replica's place, the best first.
func (r *Replica) candidates(l *lease.Lease) []kvpb.ReplicaDescriptor {
	return l.Candidates(r.Desc(), r.replicaID, r.supportedBy)
}
