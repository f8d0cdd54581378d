package rangestate

import (
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Change is one step of a change of membership.
type Change struct {
	Kind  ChangeKind
	Node  kvpb.NodeID
	Store kvpb.StoreID
}

// ChangeKind says what a Change does.
type ChangeKind uint8

// The kinds of Change: add a learner on a store, promote a learner to a voter, remove a replica.
const (
	AddLearner ChangeKind = iota
	Promote
	Remove
)

// ChangeReplicas returns the next descriptor, and raft's configuration change, for changes of a range's replicas. A
// voter that is removed becomes a learner first.
func ChangeReplicas(old *kvpb.RangeDescriptor, changes []Change) (*kvpb.RangeDescriptor, *pb.ConfChangeV2, error) {
	if old.Changing() {
		return nil, nil, ErrBusy
	}
	joint := removesVoter(old, changes) || len(changes) > 1 && promotes(changes)
	if !joint && len(changes) > 1 {
		// Raft would enter a joint configuration that no descriptor shows.
		return nil, nil, fmt.Errorf("range %d: learners are added and removed one at a time", old.RangeID)
	}
	d := Next(old)
	cc := &pb.ConfChangeV2{}
	step := func(t pb.ConfChangeType, id kvpb.ReplicaID) {
		cc.Changes = append(cc.Changes, &pb.ConfChangeSingle{Type: t.Enum(), NodeId: proto.Uint64(uint64(id))})
	}
	for _, c := range changes {
		at := slices.IndexFunc(d.Replicas, func(r kvpb.ReplicaDescriptor) bool { return r.Store == c.Store })
		if (at < 0) != (c.Kind == AddLearner) {
			return nil, nil, fmt.Errorf("range %d: store %d: the change does not fit the range's replicas", d.RangeID, c.Store)
		}
		switch c.Kind {
		case AddLearner:
			id := d.NextReplicaID
			d.NextReplicaID++
			d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: c.Node, Store: c.Store, Replica: id, Type: kvpb.Learner})
			step(pb.ConfChangeAddLearnerNode, id)
		case Promote:
			if d.Replicas[at].Type = kvpb.Voter; joint {
				d.Replicas[at].Type = kvpb.VoterIncoming
			}
			step(pb.ConfChangeAddNode, d.Replicas[at].Replica)
		case Remove:
			if d.Replicas[at].Type == kvpb.Voter {
				d.Replicas[at].Type = kvpb.VoterOutgoing
				step(pb.ConfChangeAddLearnerNode, d.Replicas[at].Replica)
			} else {
				step(pb.ConfChangeRemoveNode, d.Replicas[at].Replica)
				d.Replicas = slices.Delete(d.Replicas, at, at+1)
			}
		}
	}
	if joint {
		cc.Transition = pb.ConfChangeTransitionJointImplicit.Enum()
	}
	return d, cc, nil
}

// removesVoter reports whether one of the changes takes the vote from a replica.
func removesVoter(d *kvpb.RangeDescriptor, changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		rep, ok := d.Replica(c.Store)
		return ok && c.Kind == Remove && rep.Type == kvpb.Voter
	})
}

func promotes(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Promote })
}

// LeaveJoint returns the descriptor after the end of a joint configuration: incoming voters become
// voters, outgoing ones learners that are to be removed.
func LeaveJoint(old *kvpb.RangeDescriptor) *kvpb.RangeDescriptor {
	d := Next(old)
	for i := range d.Replicas {
		switch rep := &d.Replicas[i]; rep.Type {
		case kvpb.VoterOutgoing:
			rep.Type = kvpb.LearnerOutgoing
		case kvpb.VoterIncoming:
			rep.Type = kvpb.Voter
		}
	}
	return d
}
