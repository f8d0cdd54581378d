package replica

import (
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/rangestate"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Apply implements raftgroup.Host.
func (g *group) Apply(ents []*pb.Entry) error {
	for _, e := range ents {
		if apply.HasTable(e.GetData()) { // its table must come after the effects of the entries before
			if err := g.finishApply(); err != nil {
				return err
			}
		}
		if err := g.applyEntry(e); err != nil {
			return err
		}
		if id := g.applier.Check(); id != nil {
			if err := g.finishApply(); err != nil {
				return err
			}
			g.beginCheck(*id)
		}
	}
	return g.finishApply()
}

// applyEntry adds an entry to the batch being applied. An entry that changes the descriptor or the
// membership is applied alone, since later entries depend on it.
func (g *group) applyEntry(e *pb.Entry) error {
	data := e.GetData()
	var cc pb.ConfChangeI
	switch e.GetType() {
	case pb.EntryConfChangeV2, pb.EntryConfChange:
		var err error
		if cc, data, err = decodeConfChange(e); err != nil {
			return err
		}
	}
	g.InFlight.Applying(e.GetIndex(), e.GetTerm())
	g.r.feeds.BeginEntry()
	if err := g.applier.Entry(e.GetIndex(), e.GetTerm(), data, g.noteCommand); err != nil {
		return err
	}
	if err := g.r.feeds.Stage(data); err != nil {
		return err
	}
	g.r.transfers.noteTerm(e.GetTerm())
	if cc != nil && len(data) == 0 { // the end of a joint configuration
		if err := g.applier.Describe(rangestate.LeaveJoint(g.r.Desc())); err != nil {
			return err
		}
	}
	t := g.applier.Trigger()
	if t == nil && cc == nil {
		return nil
	}
	if err := g.applyTrigger(t, e.GetIndex()); err != nil {
		return err
	}
	if cc != nil && t != nil { // else another change came first
		g.Raft().ApplyConfChange(cc)
	}
	return nil
}

// noteCommand is called for each command of the entry being applied, in order.
func (g *group) noteCommand(c apply.Applied) {
	g.r.feeds.Took(c.Effects)
	if c.Effects {
		g.r.noteCommand(c)
	}
	g.InFlight.CommandApplied(c.Effects)
}

// finishApply makes the effects of the entries since the last call visible, and notifies their proposers.
func (g *group) finishApply() error {
	if err := g.commitApplied(); err != nil {
		return err
	}
	g.InFlight.Applied()
	return nil
}

func (g *group) commitApplied() error {
	th := g.applier.Threshold()
	g.r.intents.RaiseThreshold(th) // before the first version is dropped
	if err := g.applier.Finish(); err != nil {
		return err
	}
	g.r.raiseApplied(th)
	g.r.noteApplied(g.applier.State())
	g.r.feeds.Publish()
	return nil
}

// prepareSplit creates the log of the range that the entry at index splits off. A crash may undo the split
// in the engine. The commit index that prepareSplit writes makes this replica apply the split again, even if
// no leader sends it that commit index any more (invariant 8).
func (g *group) prepareSplit(right *kvpb.RangeDescriptor, index uint64) error {
	hs := g.View.State.HardState
	hs.Commit = max(hs.Commit, index)
	err := g.r.deps.PrepareSplit(right, raftlog.Write{Group: g.View.Group, Replica: uint64(g.r.replicaID), HardState: &hs})
	if err == nil {
		g.View.State.HardState = hs
	}
	return err
}

// applyTrigger performs the change of the range in the entry at index: a new descriptor, a split or a merge.
func (g *group) applyTrigger(t *apply.Trigger, index uint64) error {
	if t != nil && t.Right != nil {
		if err := g.prepareSplit(t.Right, index); err != nil {
			return err
		}
	}
	var subsumed *Replica
	if t != nil && t.Merge != nil {
		var err error
		if subsumed, err = g.subsume(t); err != nil {
			return err
		}
	}
	if err := g.commitApplied(); err != nil {
		return err
	}
	defer g.InFlight.Applied() // the proposer continues when the change is complete
	if t == nil {
		return nil
	}
	g.r.endTracking() // the closed timestamp holds up to here, within the former bounds
	old := g.r.Desc()
	var right *Replica
	if t.Right != nil && !plant.On(plant.SplitGap) {
		right = g.r.makeRight(t.Right) // before the left half gives up its keys (invariant 8)
	}
	if subsumed != nil {
		g.r.applyMerge(subsumed, t)
		g.r.deps.Merged(g.r, subsumed)
	}
	g.r.desc.Store(t.Desc)
	g.r.feeds.End(g.r.mismatch())
	g.r.refreshLease()
	g.Unquiesce() // a new follower has to receive the log
	if _, ok := t.Desc.Outgoing(); ok {
		g.Do(g.removeOutgoing) // later: raft must know that the end of the joint configuration is applied
	}
	if t.Right != nil {
		if plant.On(plant.SplitGap) {
			right = g.r.makeRight(t.Right)
		}
		g.r.split(right, t.Right)
	}
	if g.r.deps.OnDescriptor != nil {
		g.r.deps.OnDescriptor(g.r, old)
	}
	return nil
}

func decodeConfChange(e *pb.Entry) (pb.ConfChangeI, []byte, error) {
	var cc pb.ConfChangeV2
	if err := proto.Unmarshal(e.GetData(), &cc); err != nil {
		return nil, nil, fmt.Errorf("entry %d: configuration change: %w", e.GetIndex(), err)
	}
	return &cc, cc.GetContext(), nil
}
