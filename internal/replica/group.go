package replica

import (
	"fmt"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/snapshot"
	pb "go.etcd.io/raft/v3/raftpb"
)

// group is the replica's side of its raft group: the raftgroup.Host, which carries out what
// raftgroup.Group decides. The fields after r belong to the processing goroutine.
type group struct {
	*raftgroup.Group
	ticking atomic.Bool // a tick waits to be processed
	r       *Replica

	applier  apply.Applier
	incoming *snapshot.Incoming // the complete snapshot that raft may install now
	// startLast was the last entry of the log when the replica started, snapTerm is the term of the leader
	// that sent the last snapshot.
	startLast, snapTerm uint64
	removal             removal
}

// recovering reports whether the engine may hold tables of entries that are yet to be applied (apply, invariant
// A5). This replica may have applied them before it started, or the sender of the snapshot before it led.
func (g *group) recovering() bool {
	st := g.applier.State()
	return st.Index <= g.startLast || st.Term < g.snapTerm
}

var _ raftgroup.Host = (*group)(nil)

func newGroup(r *Replica, st raftlog.State, applied apply.State) (*group, error) {
	// Applied entries are committed, even if the hard state does not say so yet.
	st.HardState.Commit = max(st.HardState.Commit, applied.Index)
	if applied.Index > st.Last {
		return nil, &LostLogError{r.id, fmt.Sprintf("its state is at index %d, its log ends at %d", applied.Index, st.Last)}
	}
	if applied.Index < st.Truncated.Index {
		return nil, fmt.Errorf("range %d: state is at index %d, behind its log, which begins after %d", r.id, applied.Index, st.Truncated.Index)
	}
	g := &group{r: r, startLast: st.Last}
	g.Group = raftgroup.New(raftgroup.Config{
		Range: r.id, Replica: r.replicaID, Log: r.deps.Log, State: st, Started: !r.Initialized(), Workers: r.deps.Workers,
		Schedule: r.deps.Schedule, Stalled: r.deps.Stalled, OnFatal: r.deps.OnFatal, Logger: r.deps.raftLogger(),
	}, g)
	g.applier.Use(&r.tables)
	g.applier.Reset(r.deps.Engine, r.deps.Store, r.Desc(), applied)
	r.transfers.noteTerm(applied.Term)
	return g, g.Reset()
}

// NotLeader implements raftgroup.Refusals.
func (g *group) NotLeader() error { return g.r.notLeader() }

// Mismatch implements raftgroup.Refusals.
func (g *group) Mismatch() error { return g.r.mismatch() }

// Busy implements raftgroup.Refusals.
func (g *group) Busy() error { return ErrBusy }

// ConfState implements raftgroup.StateMachine.
func (g *group) ConfState() *pb.ConfState { return confState(g.r.Desc()) }

// Applied implements raftgroup.StateMachine.
func (g *group) Applied() (index, term uint64, ok bool) {
	st := g.applier.State()
	return st.Index, st.Term, g.r.Initialized()
}

// OnlyVoter implements raftgroup.Host.
func (g *group) OnlyVoter() bool { return g.r.onlyVoter() }

// UnquiesceReplica implements raftgroup.Host.
func (g *group) UnquiesceReplica() { g.r.Unquiesce() }

// Go implements raftgroup.Host.
func (g *group) Go(fn func()) bool { return g.r.tasks.run(fn) }

// Reachable implements raftgroup.Host.
func (g *group) Reachable(id uint64) bool {
	d, ok := g.r.Desc().ReplicaByID(kvpb.ReplicaID(id))
	return !ok || g.r.supportedBy(d.Store)
}

// SetIdle implements raftgroup.Host.
func (g *group) SetIdle(idle bool) {
	if idle && !g.r.idle.Load() {
		g.r.progress.Store(nil)
	}
	g.r.idle.Store(idle)
}

// Appending implements raftgroup.Host.
func (g *group) Appending(bytes int) { g.r.stats.LogBytes.Add(int64(bytes)) }

// BeginLeadership implements raftgroup.Host.
func (g *group) BeginLeadership(term uint64) { g.r.beginLeadership(term) }

// EndLeadership implements raftgroup.Host.
func (g *group) EndLeadership() { g.r.endLeadership() }

// NoteLeader implements raftgroup.Host.
func (g *group) NoteLeader(id uint64) { g.r.noteLeader(id) }

// StopServing implements raftgroup.Host.
func (g *group) StopServing() { g.r.stopServing() }

// proposeOrAbandon is Propose with a function that is called if the proposer stops waiting for the outcome.
// onAbandon runs before the proposer continues, so that other requests go on waiting for the command. The
// function that it returns is called when the outcome is known.
func (g *group) proposeOrAbandon(fence raftgroup.Fence, command []byte, onAbandon func() (known func())) error {
	p := g.Queue.Get(fence, command)
	p.OnAbandon = onAbandon
	return g.ProposeWait(p)
}
