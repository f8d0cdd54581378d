package replica

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Limits of the raft group (notes on each at raft.Config).
const (
	maxSizePerMsg      = 1 << 20
	maxCommittedSize   = 4 << 20
	maxUncommittedSize = 256 << 20
	maxInflightMsgs    = 256
	electionTicks      = 10
	heartbeatTicks     = 2
)

var errStopped = &kvpb.UnavailableError{Reason: "the node is stopping"}

// proposal is a command on its way through raft. Whoever proposes waits on wake,
// which brings one of two messages: the proposal is done, or the waiter is to
// process the group's queue itself.
type proposal struct {
	command []byte
	err     error
	wake    chan wakeup
}

type wakeup uint8

const (
	wakeDone wakeup = iota
	wakeLead
)

var proposals = sync.Pool{New: func() any { return &proposal{wake: make(chan wakeup, 1)} }}

// group drives one raft group. There is no goroutine of its own: the goroutine
// that finds the group at rest processes it, itself writing and syncing the log
// and applying what was committed; whoever comes meanwhile queues up, and when
// the processing goroutine's own command is done it hands the queue to the
// first waiter. All commands waiting at that moment become one entry and one
// sync, and a lone writer never pays for a hand-off between goroutines.
type group struct {
	r    *Replica
	rn   *raft.RawNode
	view logView

	mu struct {
		sync.Mutex
		busy    bool // some goroutine is processing
		queue   []*proposal
		stopped error
	}

	// The rest belongs to the processing goroutine.
	parked  bool // not leader: a full disk interrupted it
	applier apply.Applier
	entry   []byte
	spare   []*proposal
	writes  []raftlog.Write
	entries []raftlog.Entry
}

func newGroup(r *Replica, st raftlog.State, applied apply.State) (*group, error) {
	g := &group{r: r}
	g.view = logView{log: r.deps.Log, group: raftlog.GroupID(r.desc.RangeID), state: st, desc: r.desc}
	// What is applied was committed, whether or not the log says so yet.
	hs := &g.view.state.HardState
	hs.Commit = max(hs.Commit, applied.Index)
	hs.Term = max(hs.Term, applied.Term)
	if applied.Index > st.Last {
		return nil, fmt.Errorf("range %d: state is at index %d, ahead of its log, which ends at %d",
			r.desc.RangeID, applied.Index, st.Last)
	}
	g.applier.Reset(r.deps.Engine, r.desc.RangeID, applied)
	return g, g.reset()
}

// reset makes the raft state anew from what is durable and applied; the group
// must campaign before it can propose.
func (g *group) reset() error {
	r := g.r
	rn, err := raft.NewRawNode(&raft.Config{
		ID:                        uint64(r.replicaID),
		ElectionTick:              electionTicks,
		HeartbeatTick:             heartbeatTicks,
		Storage:                   &g.view,
		Applied:                   g.applier.State().Index,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxSizePerMsg,
		MaxCommittedSizePerReady:  maxCommittedSize,
		MaxUncommittedEntriesSize: maxUncommittedSize,
		MaxInflightMsgs:           maxInflightMsgs,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    r.deps.raftLogger(),
	})
	if err != nil {
		return fmt.Errorf("range %d: %w", r.desc.RangeID, err)
	}
	g.rn, g.parked = rn, true
	return nil
}

// campaign makes the only voter of a group its leader and applies what its log
// holds. It runs before the group serves.
func (g *group) campaign() error {
	g.mu.Lock()
	must.True(!g.mu.busy, "R1: campaign while the group is processed")
	g.mu.busy = true
	g.mu.Unlock()
	err := g.lift()
	g.mu.Lock()
	g.mu.busy = false
	g.mu.Unlock()
	return err
}

// lift makes the only voter the leader.
func (g *group) lift() error {
	if err := g.rn.Campaign(); err != nil {
		return err
	}
	if err := g.processReady(); err != nil {
		return err
	}
	if g.rn.BasicStatus().RaftState != raft.StateLeader {
		return fmt.Errorf("range %d: the only voter did not become leader", g.r.desc.RangeID)
	}
	g.parked = false
	return nil
}

// propose makes a command durable and applies it. command is kept until then.
func (g *group) propose(command []byte) error { return g.enqueue(command, false) }

// enqueue passes a command through the queue. Once the group is stopped only a
// barrier gets in, which is a command of no bytes.
func (g *group) enqueue(command []byte, barrier bool) error {
	p := proposals.Get().(*proposal)
	p.command, p.err = command, nil
	g.mu.Lock()
	if err := g.mu.stopped; err != nil && !barrier {
		g.mu.Unlock()
		proposals.Put(p)
		return err
	}
	g.mu.queue = append(g.mu.queue, p)
	lead := !g.mu.busy
	g.mu.busy = true
	g.mu.Unlock()
	if !lead {
		lead = <-p.wake == wakeLead
	}
	if lead {
		g.lead(p)
	}
	err := p.err
	p.command = nil
	proposals.Put(p)
	return err
}

// lead processes the queue until own is done, then hands it on.
func (g *group) lead(own *proposal) {
	done := false
	for {
		g.mu.Lock()
		if len(g.mu.queue) == 0 {
			g.mu.busy = false
			g.mu.Unlock()
			return
		}
		if done {
			next := g.mu.queue[0]
			g.mu.Unlock()
			next.wake <- wakeLead
			return
		}
		batch := g.mu.queue
		g.mu.queue, g.spare = g.spare[:0], batch
		g.mu.Unlock()
		g.process(batch, own)
		clear(batch)
		done = true // own was in this batch: it waited in the queue or just joined it
	}
}

// process proposes the commands of batch, as few entries as the limits allow,
// and sees them applied. Waiters other than own are woken.
func (g *group) process(batch []*proposal, own *proposal) {
	finish := func(p *proposal, err error) {
		p.err = err
		if p != own {
			p.wake <- wakeDone
		}
	}
	for len(batch) > 0 {
		n := g.coalesce(batch)
		part := batch[:n]
		batch = batch[n:]
		err := g.submit()
		must.True(err != nil || g.applier.State().Index == g.rn.BasicStatus().GetCommit(), "R5: the group rests with entries to apply")
		if err != nil {
			err = g.failed(err)
		}
		for _, p := range part {
			finish(p, err)
		}
	}
}

// submit sees g.entry through raft.
func (g *group) submit() error {
	if g.parked {
		if err := g.lift(); err != nil {
			return err
		}
	}
	entry := g.entry
	g.entry = nil // raft keeps it
	if err := g.rn.Propose(entry); err != nil {
		return err
	}
	return g.processReady()
}

// coalesce puts as many commands into g.entry as the limits allow, at least one.
func (g *group) coalesce(batch []*proposal) int {
	size := 1
	n := 0
	for n < len(batch) && n < apply.MaxEntryCommands {
		l := len(batch[n].command) + 5
		if n > 0 && size+l > apply.MaxEntryBytes {
			break
		}
		size += l
		n++
	}
	g.entry = make([]byte, 0, size)
	for _, p := range batch[:n] {
		g.entry = apply.AppendEntry(g.entry, p.command)
	}
	return n
}

// failed decides what an error of the log or of raft means. With a full disk
// nothing was written and nobody else has seen the entry: raft's memory of it is
// dropped, and the group goes on when there is room. Anything else stops the
// group.
func (g *group) failed(err error) error {
	if errors.Is(err, raftlog.ErrDiskFull) {
		if rerr := g.reset(); rerr == nil {
			return &kvpb.DiskFullError{Cause: err}
		}
	}
	g.stop(&kvpb.AmbiguousCommitError{Cause: err})
	return &kvpb.AmbiguousCommitError{Cause: err}
}

// processReady does what raft asks for until it asks for nothing more.
func (g *group) processReady() error {
	for g.rn.HasReady() {
		rd := g.rn.Ready()
		for _, m := range rd.Messages {
			var err error
			switch m.GetTo() {
			case raft.LocalAppendThread:
				err = g.handleAppend(m)
			case raft.LocalApplyThread:
				err = g.handleApply(m)
			default:
				must.True(false, "R2: message %s to replica %d of a range with one", m.GetType(), m.GetTo())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// handleAppend makes entries, term and vote durable and only then lets raft
// have the responses (invariant R3). A commit index alone is not worth a sync:
// losing it loses nothing.
func (g *group) handleAppend(m *pb.Message) error {
	hs := g.view.state.HardState
	if m.Term != nil {
		hs = raftlog.HardState{Term: m.GetTerm(), Vote: m.GetVote(), Commit: m.GetCommit()}
	}
	old := g.view.state.HardState
	if len(m.Entries) > 0 || hs.Term != old.Term || hs.Vote != old.Vote {
		if err := g.append(m.Entries, hs); err != nil {
			return err
		}
		g.view.appended(m.Entries)
	}
	g.view.state.HardState = hs
	return g.stepAll(m.Responses)
}

func (g *group) append(ents []*pb.Entry, hs raftlog.HardState) error {
	g.entries = g.entries[:0]
	for _, e := range ents {
		g.entries = append(g.entries, raftlog.Entry{
			Index: e.GetIndex(), Term: e.GetTerm(), Type: uint8(e.GetType()), Data: e.GetData(),
		})
	}
	g.writes = append(g.writes[:0], raftlog.Write{
		Group: g.view.group, Replica: uint64(g.r.replicaID), Entries: g.entries, HardState: &hs,
	})
	err := g.view.log.Append(g.writes)
	clear(g.entries)
	return err
}

// handleApply applies committed entries. Raft hands out only entries that are
// locally durable (invariant R4, given by AsyncStorageWrites).
func (g *group) handleApply(m *pb.Message) error {
	for _, e := range m.Entries {
		must.True(e.GetType() == pb.EntryNormal, "R2: configuration change in a range with one replica")
		if err := g.applier.Entry(e.GetIndex(), e.GetTerm(), e.GetData()); err != nil {
			return err
		}
	}
	if err := g.applier.Finish(); err != nil {
		return err
	}
	g.r.noteApplied(g.applier.State())
	if n := len(m.Entries); n > 0 {
		g.view.applied(m.Entries[n-1].GetIndex())
	}
	return g.stepAll(m.Responses)
}

func (g *group) stepAll(ms []*pb.Message) error {
	for _, m := range ms {
		if err := g.rn.Step(m); err != nil {
			return err
		}
	}
	return nil
}

// stop refuses everything from now on; the first reason stays.
func (g *group) stop(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.stopped == nil {
		g.mu.stopped = reason
	}
}

// idle waits until nobody processes the group; after stop it stays so.
func (g *group) idle() {
	g.mu.Lock()
	busy := g.mu.busy
	g.mu.Unlock()
	if busy {
		_ = g.enqueue(nil, true) // what was queued before it is done, well or not
	}
}
