package replica

import (
	"context"
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/rangestate"
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

// ErrBusy says that another change of the range is under way.
var ErrBusy = rangestate.ErrBusy

// ErrBehind says that a learner lacks too much of the log to become a voter.
var ErrBehind = fmt.Errorf("replica: the learner has not caught up")

// maxBehind is how many entries a learner may lack when it becomes a voter.
const maxBehind = 64

// laggard returns a replica that a change would promote although it lacks more than maxBehind entries.
// ok is false if there is none.
func (g *group) laggard(cc *pb.ConfChangeV2) (id uint64, ok bool) {
	progress := g.Raft().Status().Progress
	for _, c := range cc.Changes {
		if c.GetType() != pb.ConfChangeAddNode {
			continue
		}
		if p, ok := progress[c.GetNodeId()]; !ok || p.Match+maxBehind < g.View.State.Last || p.Match == 0 {
			return c.GetNodeId(), true
		}
	}
	return 0, false
}

// ChangeReplicas changes the range's membership. Several changes take effect together, through a joint
// configuration. It returns when this replica has applied the change. It returns ErrBusy or ErrBehind if the
// change is not possible now.
func (r *Replica) ChangeReplicas(ctx context.Context, changes []Change) error {
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	old := r.Desc()
	desc, cc, err := planChange(old, changes)
	if err != nil {
		return err
	}
	r.describeChange(cc, fence, old, desc)
	return r.group.configure(ctx, fence, cc)
}

// describeChange adds to raft's configuration change the command that replaces the descriptor.
func (r *Replica) describeChange(cc *pb.ConfChangeV2, fence raftgroup.Fence, old, desc *kvpb.RangeDescriptor) {
	for _, rep := range old.Replicas {
		_, stays := desc.ReplicaByID(rep.Replica)
		must.True(stays || !rep.Type.Votes(), "range %d: 12: voter %d is removed before it is a learner", r.id, rep.Replica)
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.SetDescriptor(desc)
	cc.Context = apply.AppendEntry(nil, fence.BoundsGen, b.Bytes())
}

// planChange returns the descriptor and raft's configuration change for changes.
func planChange(old *kvpb.RangeDescriptor, changes []Change) (*kvpb.RangeDescriptor, *pb.ConfChangeV2, error) {
	if old.Changing() {
		return nil, nil, ErrBusy
	}
	joint := removesVoter(old, changes) || len(changes) > 1 && promotes(changes)
	if !joint && len(changes) > 1 {
		// Raft would enter a joint configuration that no descriptor shows.
		return nil, nil, fmt.Errorf("range %d: learners are added and removed one at a time", old.RangeID)
	}
	d := rangestate.Next(old)
	cc := &pb.ConfChangeV2{}
	step := func(t pb.ConfChangeType, id kvpb.ReplicaID) {
		cc.Changes = append(cc.Changes, &pb.ConfChangeSingle{Type: t.Enum(), NodeId: proto.Uint64(uint64(id))})
	}
	for _, c := range changes {
		at := -1
		for i := range d.Replicas {
			if d.Replicas[i].Store == c.Store {
				at = i
			}
		}
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
			d.Replicas[at].Type = pick(joint, kvpb.VoterIncoming, kvpb.Voter)
			step(pb.ConfChangeAddNode, d.Replicas[at].Replica)
		case Remove:
			if d.Replicas[at].Type == kvpb.Voter {
				d.Replicas[at].Type = kvpb.VoterOutgoing // it becomes a learner first (removal)
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

func pick(first bool, a, b kvpb.ReplicaType) kvpb.ReplicaType {
	if first {
		return a
	}
	return b
}

// leaveJoint returns the descriptor after the end of a joint configuration: incoming voters become
// voters, outgoing ones learners that are to be removed.
func leaveJoint(old *kvpb.RangeDescriptor) *kvpb.RangeDescriptor {
	d := rangestate.Next(old)
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

// confState converts a descriptor to raft's configuration.
func confState(d *kvpb.RangeDescriptor) *pb.ConfState {
	cs := &pb.ConfState{}
	joint := d.Joint()
	for _, rep := range d.Replicas {
		id := uint64(rep.Replica)
		in, out := lease.IsVoter(rep.Type)
		switch {
		case !in && !out:
			cs.Learners = append(cs.Learners, id)
			continue
		case in:
			cs.Voters = append(cs.Voters, id)
		default:
			cs.LearnersNext = append(cs.LearnersNext, id)
		}
		if joint && out {
			cs.VotersOutgoing = append(cs.VotersOutgoing, id)
		}
	}
	if joint {
		cs.AutoLeave = proto.Bool(true)
	}
	return cs
}

// configure proposes a configuration change and waits until it is applied.
func (g *group) configure(ctx context.Context, fence raftgroup.Fence, cc *pb.ConfChangeV2) error {
	p := raftgroup.NewProposal(fence, nil)
	g.Do(func() {
		if id, ok := g.laggard(cc); ok && g.Led() == fence.Term {
			g.Queue.Finish(p, fmt.Errorf("range %d: replica %d: %w", g.r.id, id, ErrBehind))
			return
		}
		g.ProposeConfChange(p, cc)
	})
	select {
	case <-p.Woken():
		return p.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
