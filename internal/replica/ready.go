package replica

import (
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftlog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// processReady does what raft asks for until it asks for nothing more.
func (g *group) processReady() error {
	for !g.dead && g.rn.HasReady() {
		rd := g.rn.Ready()
		for _, m := range rd.Messages {
			var err error
			switch m.GetTo() {
			case raft.LocalAppendThread:
				err = g.handleAppend(m)
			case raft.LocalApplyThread:
				err = g.handleApply(m)
			default:
				g.send(m)
			}
			if err != nil {
				return err
			}
		}
		g.noteLeadership()
	}
	return nil
}

// handleAppend makes entries, term and vote durable and only then lets raft, and
// the other replicas, have the responses (invariant R3). A commit index alone is
// not worth a sync: losing it loses nothing.
func (g *group) handleAppend(m *pb.Message) error {
	if !raft.IsEmptySnap(m.Snapshot) {
		if err := g.installSnapshot(m); err != nil {
			return err
		}
	}
	hs := g.view.state.HardState
	if m.Term != nil {
		hs = raftlog.HardState{Term: m.GetTerm(), Vote: m.GetVote(), Commit: m.GetCommit()}
	}
	old := g.view.state.HardState
	if len(m.Entries) > 0 || hs.Term != old.Term || hs.Vote != old.Vote {
		g.number(m.Entries)
		if err := g.append(m.Entries, hs); err != nil {
			return err
		}
		g.view.appended(m.Entries)
	}
	g.view.state.HardState = hs
	return g.respond(m.Responses)
}

// number notes the index and term that raft gave to entries proposed here: they
// come back in the order in which they were proposed, before any others, since
// nothing is stepped in between.
func (g *group) number(ents []*pb.Entry) {
	for _, e := range ents {
		if len(g.appending) == 0 {
			return
		}
		s := g.appending[0]
		switch conf := e.GetType() != pb.EntryNormal; {
		case conf != s.conf && s.conf && len(e.GetData()) == 0:
			g.appending = g.appending[1:] // raft refused the change and put nothing in its place
			g.finishAll(s.props, ErrBusy)
			continue
		case conf != s.conf || !conf && len(e.GetData()) != len(s.data):
			continue
		}
		s.index, s.term, s.data = e.GetIndex(), e.GetTerm(), nil
		g.waiting = append(g.waiting, s)
		g.appending = g.appending[1:]
	}
}

func (g *group) append(ents []*pb.Entry, hs raftlog.HardState) error {
	g.entries = g.entries[:0]
	bytes := 0
	for _, e := range ents {
		bytes += len(e.GetData())
		g.entries = append(g.entries, raftlog.Entry{
			Index: e.GetIndex(), Term: e.GetTerm(), Type: uint8(e.GetType()), Data: e.GetData(),
		})
	}
	g.writes = append(g.writes[:0], raftlog.Write{
		Group: g.view.group, Replica: uint64(g.r.replicaID), Entries: g.entries, HardState: &hs,
	})
	g.r.stats.LogBytes.Add(int64(bytes))
	err := g.write()
	clear(g.entries)
	return err
}

// write makes g.writes durable.
func (g *group) write() error {
	if j := g.joint; j != nil {
		g.joint = nil
		return j.append(g.view.log, g.writes)
	}
	return g.view.log.Append(g.writes)
}

// handleApply applies committed entries. Raft hands out only entries that are
// locally durable (invariant R4, given by AsyncStorageWrites).
func (g *group) handleApply(m *pb.Message) error {
	for _, e := range m.Entries {
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
	if err := g.finishApply(); err != nil {
		return err
	}
	if n := len(m.Entries); n > 0 {
		g.view.applied(m.Entries[n-1].GetIndex())
	}
	return g.respond(m.Responses)
}

// applyEntry adds an entry to the batch being applied. Entries that change the
// range itself are applied alone, since what follows depends on them.
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
	g.props = g.waitersOf(e)
	g.r.feeds.took = g.r.feeds.took[:0]
	if err := g.applier.Entry(e.GetIndex(), e.GetTerm(), data, g.noteCommand); err != nil {
		return err
	}
	if g.r.feeds.n.Load() > 0 {
		if err := g.r.feeds.stage(data); err != nil {
			return err
		}
	}
	g.r.handing.noteTerm(e.GetTerm())
	if cc != nil && len(data) == 0 { // the end of a joint configuration
		if err := g.applier.Describe(leaveJoint(g.r.Desc())); err != nil {
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
		g.rn.ApplyConfChange(cc)
	}
	return nil
}

// noteCommand hears of each command of the entry being applied, in order, and
// whether it took effect.
func (g *group) noteCommand(txn kvpb.TxnID, ts hlc.Timestamp, ok bool) {
	if g.r.feeds.n.Load() > 0 {
		g.r.feeds.took = append(g.r.feeds.took, ok)
	}
	if ok && !txn.IsZero() {
		g.r.noteCommand(txn, ts)
	}
	if ok && ts.WallTime > g.r.lastWrite.Load() {
		g.r.lastWrite.Store(ts.WallTime) // parts of commits in several ranges too
	}
	// Proposals answered before the entry was made are nil and have no command.
	for len(g.props) > 0 {
		p := g.props[0]
		g.props = g.props[1:]
		if p == nil {
			continue
		}
		if !ok {
			p.err = g.r.mismatch()
		}
		return
	}
}

// waitersOf finds who waits for an entry, and tells those whose entries will never be
// applied: another one is at their index, or one of a later term is below it, since the
// terms of a log never fall.
func (g *group) waitersOf(e *pb.Entry) []*proposal {
	for len(g.waiting) > 0 && (g.waiting[0].index <= e.GetIndex() || g.waiting[0].term < e.GetTerm()) {
		s := g.waiting[0]
		g.waiting[0] = submitted{}
		g.waiting = g.waiting[1:]
		if s.index == e.GetIndex() && s.term == e.GetTerm() {
			g.applied = append(g.applied, s.props...)
			return s.props
		}
		g.finishAll(s.props, g.r.notLeader())
	}
	return nil
}

// finishApply makes the effects of the entries since the last call visible, and
// wakes those who wait for them.
func (g *group) finishApply() error {
	if err := g.commitApplied(); err != nil {
		return err
	}
	g.wakeApplied()
	return nil
}

func (g *group) commitApplied() error {
	th := g.applier.Threshold()
	g.r.intents.RaiseThreshold(th) // before the first version is gone
	if err := g.applier.Finish(); err != nil {
		return err
	}
	g.r.raiseApplied(th)
	g.r.noteApplied(g.applier.State())
	g.r.feeds.publish(g.r)
	return nil
}

func (g *group) wakeApplied() {
	for _, p := range g.applied {
		if p != nil {
			g.finish(p, p.err)
		}
	}
	clear(g.applied)
	g.applied = g.applied[:0]
}

// prepareSplit makes the log of the range that the entry at index splits off. A crash may undo
// the split in the engine, but then it is known to be committed: this replica applies it again
// though nobody may tell it so any more (invariant R42).
func (g *group) prepareSplit(right *kvpb.RangeDescriptor, index uint64) error {
	hs := g.view.state.HardState
	hs.Commit = max(hs.Commit, index)
	err := g.r.deps.PrepareSplit(right, raftlog.Write{Group: g.view.group, Replica: uint64(g.r.replicaID), HardState: &hs})
	if err == nil {
		g.view.state.HardState = hs
	}
	return err
}

// applyTrigger carries out what a command, in the entry at index, says about the range itself.
func (g *group) applyTrigger(t *apply.Trigger, index uint64) error {
	if t != nil && t.Right != nil {
		if err := g.prepareSplit(t.Right, index); err != nil {
			return err
		}
	}
	var taken *Replica
	if t != nil && t.Merge != nil {
		var err error
		if taken, err = g.takeIn(t); err != nil {
			return err
		}
	}
	if err := g.commitApplied(); err != nil {
		return err
	}
	defer g.wakeApplied() // who asked for it finds it done
	if t == nil {
		return nil
	}
	g.r.endRest() // what was closed holds up to here, between the borders of before
	old := g.r.Desc()
	var right *Replica
	if t.Right != nil && !plant.On(plant.SplitGap) {
		right = g.r.makeRight(t.Right) // before the left half gives its keys up (invariant R44)
	}
	if taken != nil {
		g.r.carryOver(taken, t)
		g.r.deps.Merged(g.r, taken)
	}
	g.r.desc.Store(t.Desc)
	g.r.endFeeds(g.r.mismatch(), false)
	g.r.refreshLease()
	g.stir() // a new follower is to hear of it
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

// respond gives raft its own responses and sends those for others.
func (g *group) respond(ms []*pb.Message) error {
	for _, m := range ms {
		if to := m.GetTo(); to != uint64(g.r.replicaID) && !raft.IsLocalMsgTarget(to) {
			g.send(m)
			continue
		}
		if err := g.rn.Step(m); err != nil {
			return err
		}
	}
	return nil
}

// noteLeadership begins or ends this replica's leadership as raft sees it. It
// serves once an entry of its own term is applied.
func (g *group) noteLeadership() {
	st := g.rn.BasicStatus()
	defer g.noteElected(st)
	if st.RaftState != raft.StateLeader || g.led != 0 && g.led != st.GetTerm() {
		if led := g.led; led != 0 {
			g.led = 0
			g.r.endLeadership()
			if len(g.waiting) > 0 {
				time.AfterFunc(formerPatience, func() { g.deliver(input{do: func() { g.giveUp(led) }}) })
			}
		}
		if st.RaftState != raft.StateLeader {
			g.r.noteLeader(st.Lead)
			return
		}
	}
	if g.led == st.GetTerm() || g.applier.State().Term != st.GetTerm() {
		return
	}
	must.True(g.applier.State().Index <= st.GetCommit(), "R4: applied beyond what is committed")
	g.led = st.GetTerm()
	g.r.noteLeader(uint64(g.r.replicaID))
	g.r.beginLeadership(st.GetTerm())
}

func decodeConfChange(e *pb.Entry) (pb.ConfChangeI, []byte, error) {
	var cc pb.ConfChangeV2
	if err := proto.Unmarshal(e.GetData(), &cc); err != nil {
		return nil, nil, fmt.Errorf("entry %d: configuration change: %w", e.GetIndex(), err)
	}
	return &cc, cc.GetContext(), nil
}
