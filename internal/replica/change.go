package replica

import (
	"context"
	"fmt"

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
type Change = rangestate.Change

// ChangeKind says what a Change does.
type ChangeKind = rangestate.ChangeKind

// The kinds of Change.
const (
	AddLearner = rangestate.AddLearner
	Promote    = rangestate.Promote
	Remove     = rangestate.Remove
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
	desc, cc, err := rangestate.ChangeReplicas(old, changes)
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
