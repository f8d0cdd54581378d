package replica

import (
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/rangestate"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// removal is the last step of a change that takes the vote from a replica. A store destroys a replica when
// it applies the replica's removal. Other replicas may have the same entry in their logs without knowing that
// it is committed, and a power loss may make them forget what they had applied. If that entry were the end of
// the joint configuration, they would ask the destroyed replica for its vote. So a voter becomes a learner
// first:
//
//	index   entry                            voter 2   asked for votes by those who know no later entry
//	─────   ──────────────────────────────   ───────   ────────────────────────────────────────────────
//	  7     joint configuration 1 3 4/1 2 3  votes     most of 1 3 4 and most of 1 2 3
//	  8     its end: 1 3 4, learner 2        is there  most of 1 3 4
//	  9     learner 2 is removed             is gone   most of 1 3 4
//
// The leader proposes entry 9 after it has applied entry 8. A replica that stores entry 9 also stores that
// entry 8 is committed. So once entry 9 is committed, most of 1 3 4 never ask replica 2 again, and no other
// replica can be elected (invariant 12).
type removal struct {
	proposed *raftgroup.Proposal
}

// removeOutgoing makes a leader propose the removal of a former voter, one at a time. Raft refuses it while
// another change is not applied yet. Then a later tick proposes it again.
func (g *group) removeOutgoing() {
	old := g.r.Desc()
	rep, ok := old.Outgoing()
	if p := g.removal.proposed; !ok || old.Joint() || g.Led() == 0 || p != nil && !p.IsDone() {
		return
	}
	cc := &pb.ConfChangeV2{Changes: []*pb.ConfChangeSingle{{
		Type: pb.ConfChangeRemoveNode.Enum(), NodeId: proto.Uint64(uint64(rep.Replica)),
	}}}
	d := rangestate.Next(old)
	d.Replicas = slices.DeleteFunc(d.Replicas, func(o kvpb.ReplicaDescriptor) bool { return o == rep })
	fence := raftgroup.Fence{Term: g.Led(), BoundsGen: old.BoundsGen}
	g.r.describeChange(cc, fence, old, d)
	g.removal.proposed = raftgroup.NewProposal(fence, nil)
	g.ProposeConfChange(g.removal.proposed, cc)
}
