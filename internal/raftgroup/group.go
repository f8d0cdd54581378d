package raftgroup

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Limits of the raft group; raft.Config explains those that it takes.
const (
	maxSizePerMsg      = 1 << 20
	maxCommittedSize   = 4 << 20
	maxUncommittedSize = 256 << 20
	maxInflightMsgs    = 256
	maxInflightBytes   = 16 << 20
	electionTicks      = 8
	heartbeatTicks     = 2
	// confScanBytes is how much of the log one read of the search for changes of membership takes.
	confScanBytes = 4 << 20
	// formerLeaderWait is how long the proposers of a leadership that ended still wait here for their
	// outcomes. Then they get an ambiguous error and ask the next leader.
	formerLeaderWait = 300 * time.Millisecond
)

// Host is the replica around a group: it carries out what the group decides. Only the processing goroutine
// calls it, except for Refusals, OnlyVoter, UnquiesceReplica and Go.
type Host interface {
	Refusals
	StateMachine
	// OnlyVoter reports whether this replica is the range's only one.
	OnlyVoter() bool
	// UnquiesceReplica ends the replica's quiescence.
	UnquiesceReplica()
	// Go runs fn on a goroutine that the replica waits for when it stops. It returns false, and does not
	// run fn, if the replica has stopped.
	Go(fn func()) bool
	// Accept looks at a message first. It returns false to keep it from raft.
	Accept(m *pb.Message, epoch int64) bool
	// Send sends a message to another replica. It may be lost.
	Send(m *pb.Message)
	// Reachable reports whether the store of another replica is alive.
	Reachable(id uint64) bool
	// SetIdle says whether the leader is idle.
	SetIdle(idle bool)
	// Appending announces the size of the entries that are about to be appended.
	Appending(bytes int)
	// Apply applies committed entries. It calls InFlight.Applying for each entry, CommandApplied for each
	// of its commands, and Applied once the effects are visible.
	Apply(ents []*pb.Entry) error
	// Install replaces the replica's state with the snapshot that a message announces.
	Install(m *pb.Message) error
	// BeginLeadership makes the replica serve. It has applied an entry of its own term.
	BeginLeadership(term uint64)
	// EndLeadership makes the replica stop serving.
	EndLeadership()
	// NoteLeader says which replica leads, 0 if that is unknown.
	NoteLeader(id uint64)
	// NoteElected says, after each Ready, that the range has a leader that serves.
	NoteElected()
	// StopServing makes the replica refuse reads. It comes before proposers get ambiguous errors.
	StopServing()
	// LogFull says that the leader of a term has stepped down because its log is full. candidates may
	// lead in its place; the one with the longest log comes first.
	LogFull(term uint64, candidates []kvpb.ReplicaID)
	// Demoted says that the leader of a term has stepped down because it is no longer a voter.
	// candidates are the voters.
	Demoted(term uint64, candidates []kvpb.ReplicaID)
}

// Config is the configuration of a group.
type Config struct {
	Range   kvpb.RangeID
	Replica kvpb.ReplicaID
	Log     *raftlog.Log
	State   raftlog.State // of the group in Log
	// Started makes the group process inputs at once, without Begin.
	Started bool
	// Workers makes workers process the group, never proposers.
	Workers bool
	// Schedule runs fn soon on a worker.
	Schedule func(fn func())
	// Stalled returns a channel that is closed when the disk stops responding. It may be nil.
	Stalled func() <-chan struct{}
	// OnFatal receives a panic of the processing goroutine. It may be nil.
	OnFatal func(error)
	Logger  raft.Logger
}

// Group runs one raft group:
//
//	proposers ─► Queue ─► processing goroutine ─► InFlight.Compose ─► raft.Propose
//	messages ──►   │                                                     │
//	               └─► Host.Accept ─► raft.Step ─────────────────────────┤
//	                                                                     ▼
//	          ┌───────────────────────────────────────── Ready, until there is none
//	          ▼                        ▼                                 ▼
//	   append: log, one sync   apply: Host.Apply               Host.Send, BeginLeadership,
//	          │                        │                        EndLeadership
//	          └─► responses, only now  └─► waiters are woken
type Group struct {
	Queue    Queue
	InFlight InFlight
	View     LogView
	host     Host
	cfg      Config

	minMatch atomic.Uint64 // the match index of the slowest follower
	resigned resignedTerms

	// The rest belongs to the processing goroutine.
	rn         *raft.RawNode
	quiescence Quiescence
	// mustCampaign is set while the only voter does not lead: at the start, and after a full disk.
	mustCampaign bool
	// starting is set while entries are applied that were committed before the process began.
	starting bool
	led      uint64                 // the term in which this replica leads and serves, 0 if it does not
	raftLed  uint64                 // the term in which raft led after the last Ready, 0 if it did not
	sender   kvpb.ReplicaDescriptor // of the last message
	subsumed bool                   // the range is part of another one now
	// broken is the error that ended the group. Raft must not run after a failed write: it would take
	// that write for durable as soon as a later one succeeds.
	broken  error
	writes  []raftlog.Write
	entries []raftlog.Entry
}

// New returns a group that has no raft state until Reset.
func New(cfg Config, host Host) *Group {
	g := &Group{host: host, cfg: cfg}
	g.Queue.init(cfg.Started, g.drain)
	g.InFlight = InFlight{queue: &g.Queue, refusals: host}
	g.View = LogView{Log: cfg.Log, Group: raftlog.GroupID(cfg.Range), State: cfg.State, state: host}
	return g
}

// Reset rebuilds the raft state from the durable log and the applied index.
func (g *Group) Reset() error {
	applied, _, _ := g.host.Applied()
	rn, err := raft.NewRawNode(&raft.Config{
		ID:                        uint64(g.cfg.Replica),
		ElectionTick:              electionTicks,
		HeartbeatTick:             heartbeatTicks,
		Storage:                   &g.View,
		Applied:                   applied,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxSizePerMsg,
		MaxCommittedSizePerReady:  maxCommittedSize,
		MaxUncommittedEntriesSize: maxUncommittedSize,
		MaxInflightMsgs:           maxInflightMsgs,
		MaxInflightBytes:          maxInflightBytes,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    g.cfg.Logger,
	})
	if err != nil {
		return fmt.Errorf("range %d: %w", g.cfg.Range, err)
	}
	g.rn, g.mustCampaign = rn, g.host.OnlyVoter()
	return nil
}

// Raft returns the raft state. It belongs to the processing goroutine.
func (g *Group) Raft() *raft.RawNode { return g.rn }

// Led returns the term in which this replica leads and serves, 0 if it does not.
func (g *Group) Led() uint64 { return g.led }

// Sender returns the sender of the last message.
func (g *Group) Sender() kvpb.ReplicaDescriptor { return g.sender }

// Starting reports whether the entries being applied were committed before the process began.
func (g *Group) Starting() bool { return g.starting }

// Subsumed reports whether the range is part of another one now.
func (g *Group) Subsumed() bool { return g.subsumed }

// Broken returns the error that ended the group, or nil.
func (g *Group) Broken() error { return g.broken }

// Begin applies the entries that this replica knows to be committed, and makes an only voter the leader.
// Then it processes the inputs that have already arrived from replicas that started earlier.
func (g *Group) Begin() error {
	defer must.Report(g.cfg.OnFatal)
	if !g.Queue.Start() {
		return nil // removed before it began
	}
	g.starting = true
	err := g.begin()
	g.starting = false
	if g.Queue.Started() {
		g.cfg.Schedule(g.work)
	}
	return err
}

// begin is Begin on the processing goroutine. As long as this replica is the only voter, its log is
// committed up to and including the next change of membership. It elects itself once no change is left
// (invariant 10).
func (g *Group) begin() error {
	if err := g.ProcessReady(); err != nil {
		return err
	}
	for g.host.OnlyVoter() {
		at, err := g.nextConfChange()
		if err != nil {
			return err
		}
		if at == 0 {
			return g.campaignAlone()
		}
		if err := g.Commit(at); err != nil {
			return err
		}
		index, _, _ := g.host.Applied()
		must.True(index >= at, "raftgroup: entry %d is committed and was not applied", at)
	}
	g.mustCampaign = false
	return nil
}

// Commit applies the log up to an index that the caller knows to be committed.
func (g *Group) Commit(index uint64) error {
	hs := &g.View.State.HardState
	hs.Commit = max(hs.Commit, index)
	if err := g.Reset(); err != nil {
		return err
	}
	return g.ProcessReady()
}

// nextConfChange returns the index of the first change of membership in the log that is not applied,
// 0 if there is none.
func (g *Group) nextConfChange() (uint64, error) {
	applied, _, _ := g.host.Applied()
	for i, last := applied+1, g.View.State.Last; i <= last; {
		ents, err := g.View.Log.Entries(g.View.Group, i, last+1, confScanBytes)
		if err != nil {
			return 0, err
		}
		for _, e := range ents {
			if pb.EntryType(e.Type) != pb.EntryNormal {
				return e.Index, nil
			}
		}
		i += uint64(len(ents))
	}
	return 0, nil
}

// campaignAlone makes the only voter the leader and applies its log.
func (g *Group) campaignAlone() error {
	if err := g.rn.Campaign(); err != nil {
		return err
	}
	if err := g.ProcessReady(); err != nil {
		return err
	}
	if g.rn.BasicStatus().RaftState != raft.StateLeader {
		return fmt.Errorf("range %d: the only voter did not become leader", g.cfg.Range)
	}
	g.mustCampaign = false
	return nil
}

// Run makes fn run on the processing goroutine, and waits for it.
func (g *Group) Run(fn func() error) error {
	defer must.Report(g.cfg.OnFatal)
	done := make(chan error, 1)
	process, err := g.Queue.Seize(func() { done <- fn() })
	if err != nil {
		return err
	}
	if process {
		err := fn()
		g.process(nil)
		return err
	}
	return <-done
}

// Post queues an input and makes sure that somebody will process it. It returns false if it dropped the
// input.
func (g *Group) Post(in Input) bool {
	work, ok := g.Queue.Deliver(in)
	if !ok {
		return false
	}
	g.host.UnquiesceReplica()
	if work {
		g.cfg.Schedule(g.work)
	}
	return true
}

// Do posts a function.
func (g *Group) Do(fn func()) bool { return g.Post(Input{Do: fn}) }

// work processes the group on a worker.
func (g *Group) work() { g.process(nil) }

// process runs the processing goroutine: it processes inputs and proposals until own is done, and then
// hands the role to another goroutine. While own is in flight it returns too, when the queue is empty or
// own's leadership was resigned. It reports whether own is done.
func (g *Group) process(own *Proposal) bool {
	defer must.Report(g.cfg.OnFatal)
	g.Queue.Enter(own)
	for {
		leave := own != nil && g.resigned.covers(own.Fence.Term)
		switch step, done := g.Queue.Next(g.workersOnly(), leave); step {
		case Rest, HandedOver:
			return done
		case HandToWorker:
			g.cfg.Schedule(g.work)
			return done
		}
		g.processInputs()
		if batch := g.Queue.Batch(); len(batch) > 0 {
			g.propose(batch)
		}
	}
}

// workersOnly reports whether proposers leave the processing to workers: on a node with several stores a
// proposer must not block on one store's stalled disk.
func (g *Group) workersOnly() bool { return g.cfg.Workers && !g.host.OnlyVoter() }

// processInputs processes the inputs that Queue.Next took, and the Ready that results.
func (g *Group) processInputs() {
	inputs := g.Queue.Inputs()
	for i, in := range inputs {
		inputs[i] = Input{}
		if in.Do != nil {
			in.Do()
			continue
		}
		if g.subsumed || g.broken != nil {
			continue
		}
		if in.From.Replica != 0 {
			g.sender = in.From
		}
		if in.Msg.GetType() == pb.MsgHeartbeatResp {
			g.noteHeartbeatResp(in.Msg)
		}
		if g.host.Accept(in.Msg, in.Epoch) {
			_ = g.rn.Step(in.Msg) // fails for messages that came too late, which raft ignores
		}
	}
	if !g.subsumed && g.broken == nil && g.rn.HasReady() {
		if err := g.ProcessReady(); err != nil {
			_ = g.Fail(err)
		}
	}
}

// propose proposes the commands of a batch, in as few entries as the limits allow.
func (g *Group) propose(batch []*Proposal) {
	if g.subsumed {
		g.Queue.FinishAll(batch, g.host.Mismatch())
		return
	}
	for len(batch) > 0 {
		if g.broken != nil {
			g.Queue.FinishAll(batch, g.broken)
			return
		}
		entry, n := g.InFlight.Compose(batch, g.led, g.mustCampaign)
		part := batch[:n]
		batch = batch[n:]
		if len(entry) == 0 { // all commands were refused
			continue
		}
		if err := g.submit(entry, part); err != nil {
			err = g.Fail(err)
			g.Queue.FinishAll(part, err)
		}
	}
}

// submit proposes an entry to raft and processes the Ready that results.
func (g *Group) submit(entry []byte, part []*Proposal) error {
	if g.mustCampaign {
		if err := g.campaignAlone(); err != nil {
			return err
		}
	}
	g.InFlight.Register(entry, part)
	if err := g.rn.Propose(entry); err != nil {
		g.InFlight.Drop()
		if errors.Is(err, raft.ErrProposalDropped) {
			g.Queue.FinishAll(part, g.host.NotLeader())
			return nil
		}
		return err
	}
	g.Unquiesce() // a lost message is repeated on a tick
	return g.ProcessReady()
}

// ProposeConfChange proposes a configuration change under the leadership of p's fence.
func (g *Group) ProposeConfChange(p *Proposal, cc *pb.ConfChangeV2) {
	if g.led != p.Fence.Term {
		g.Queue.Finish(p, g.host.NotLeader())
		return
	}
	g.InFlight.RegisterConfChange(p)
	if err := g.rn.ProposeConfChange(cc); err != nil {
		g.InFlight.Drop()
		if err == raft.ErrProposalDropped {
			err = g.host.NotLeader()
		}
		g.Queue.Finish(p, err)
		return
	}
	g.Unquiesce()
}

// End ends the group of a range that another range has subsumed.
func (g *Group) End(reason error) {
	g.subsumed, g.led = true, 0
	g.Queue.Stop(reason)
	g.InFlight.Fail(reason)
}

// Step passes the message of a snapshot to raft and processes the Ready that results.
func (g *Group) Step(m *pb.Message, from kvpb.ReplicaDescriptor) error {
	g.sender = from
	_ = g.rn.Step(m) // fails for a message that came too late, which raft ignores
	if err := g.ProcessReady(); err != nil {
		return g.Fail(err)
	}
	return nil
}
