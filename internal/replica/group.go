package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Limits of the raft group (notes on each at raft.Config).
const (
	maxSizePerMsg      = 1 << 20
	maxCommittedSize   = 4 << 20
	maxUncommittedSize = 256 << 20
	maxInflightMsgs    = 256
	maxInflightBytes   = 16 << 20
	electionTicks      = 8
	heartbeatTicks     = 2
	// maxInbox bounds the messages that wait for a group; raft sends again what
	// is dropped.
	maxInbox = 1024
	// proposalTimeout bounds how long a command may be on its way before the one
	// who waits for it is told that its outcome is not known.
	proposalTimeout = 5 * time.Second
	// formerPatience is how long one who waits for an entry of a leadership that has
	// ended is left to wait for what became of it here, before asking elsewhere.
	formerPatience = 300 * time.Millisecond
	// stopGrace is how long it may still take once the group was stopped.
	stopGrace = 100 * time.Millisecond
)

var errStopped = &kvpb.UnavailableError{Reason: "the node is stopping"}

// proposal is a command on its way through raft. Whoever proposes waits on wake,
// which brings one of two messages: the proposal is done, or the waiter is to
// process the group's queue itself.
type proposal struct {
	command []byte
	under   raftgroup.Fence
	err     error
	done    bool // belongs to the processing goroutine
	wake    chan wakeup
	// keep, if not nil, is called when the proposer stops waiting, what it returns when
	// the outcome is known.
	keep func() (known func())
}

type wakeup uint8

const (
	wakeDone wakeup = iota
	wakeLead
)

// submitted is an entry on its way, with those who wait for its commands.
type submitted struct {
	data  []byte
	conf  bool   // a configuration change, whose bytes raft makes
	index uint64 // 0 until raft has given it one
	term  uint64
	props []*proposal
}

// input is what a group is told from outside: a message, or something to do with
// its raft state.
type input struct {
	msg   *pb.Message
	from  kvpb.ReplicaDescriptor
	epoch int64
	do    func()
}

// group drives one raft group. There is no goroutine of its own: the goroutine
// that finds the group at rest processes it, itself writing and syncing the log
// and applying what was committed; whoever comes meanwhile queues up, and when
// the processing goroutine's own command is done it hands the queue to the
// first waiter, or to a worker of the store. All commands waiting at a moment
// become one entry and one sync, and a lone writer on a single node never pays
// for a hand-off between goroutines.
type group struct {
	r    *Replica
	rn   *raft.RawNode
	view logView
	// proposals are kept for reuse, by group since they hold channels, which a test
	// in virtual time may not share with another.
	proposals sync.Pool
	halted    chan struct{} // closed by stop
	ticking   atomic.Bool   // a tick waits to be processed
	dismissal dismissal

	mu struct {
		sync.Mutex
		busy    bool // some goroutine is processing
		started bool // until then what comes in waits
		queue   []*proposal
		inbox   []input
		stopped error
		rested  chan struct{} // closed when nobody processes the group any more; nil: nobody waits for that
		riders  riders
	}

	// The rest belongs to the processing goroutine.
	parked bool // the only voter is not leader: a full disk interrupted it
	// starting: what is applied now was committed in an earlier life.
	starting bool
	own      *proposal
	applier  apply.Applier
	entry    []byte
	joint    *joint // the next append goes together with those of other groups
	spare    []*proposal
	inputs   []input
	writes   []raftlog.Write
	entries  []raftlog.Entry
	// appending are entries given to raft that it has not numbered yet, waiting
	// those that it has, in order.
	appending, waiting []submitted
	// props are those who wait for the commands of the entry being applied, applied
	// those of all entries of the batch being applied.
	props, applied []*proposal
	idleTicks      int
	round          uint64                 // goes with heartbeats: how often the group was stirred
	known          []known                // since the last stir
	caller         kvpb.ReplicaDescriptor // who wrote last
	incoming       *IncomingSnapshot      // what raft may take now
	standTicks     int                    // how long it stands for election yet
	voted          time.Time              // when it last voted for another, perhaps, or heard of a later term
	dead           bool                   // the range is part of another one (surrender)
	// broken is why the group ended before its time. Raft is not asked any more then: it
	// would take what could not be written for durable as soon as something else is.
	broken error
	led    uint64 // the term for which this replica has begun to lead
	// fullAt is when the log had no room last, resigned how a leadership ended of that.
	fullAt   time.Time
	resigned *resignation
}

func newGroup(r *Replica, st raftlog.State, applied apply.State) (*group, error) {
	g := &group{r: r, halted: make(chan struct{})}
	g.view = logView{log: r.deps.Log, group: raftlog.GroupID(r.id), state: st, r: r}
	// What is applied was committed, whether or not the log says so yet.
	hs := &g.view.state.HardState
	hs.Commit = max(hs.Commit, applied.Index)
	if applied.Index > st.Last {
		return nil, &LostLogError{r.id, fmt.Sprintf("its state is at index %d, its log ends at %d", applied.Index, st.Last)}
	}
	if applied.Index < st.Truncated.Index {
		return nil, fmt.Errorf("range %d: state is at index %d, behind its log, which begins after %d", r.id, applied.Index, st.Truncated.Index)
	}
	g.applier.Reset(r.deps.Engine, r.deps.Store, r.Desc(), applied)
	r.handing.noteTerm(applied.Term)
	g.mu.started = !r.Initialized()
	return g, g.reset()
}

// reset makes the raft state anew from what is durable and applied.
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
		MaxInflightBytes:          maxInflightBytes,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    r.deps.raftLogger(),
	})
	if err != nil {
		return fmt.Errorf("range %d: %w", r.id, err)
	}
	g.rn, g.parked = rn, r.onlyVoter()
	return nil
}

// exclusively starts a group: it runs fn as the processing goroutine. What has come
// in before, from other replicas that were faster, is processed afterwards.
func (g *group) exclusively(fn func() error) error {
	defer must.Report(g.r.deps.OnFatal)
	g.mu.Lock()
	must.True(!g.mu.busy && !g.mu.started, "R1: the group is being processed")
	if g.mu.stopped != nil {
		g.mu.Unlock()
		return nil // removed before it began
	}
	g.mu.busy = true
	g.mu.Unlock()
	g.starting = true
	err := fn()
	g.starting = false
	g.mu.Lock()
	g.mu.started = true
	waiting := len(g.mu.inbox) > 0 || len(g.mu.queue) > 0
	if !waiting {
		g.rest()
	}
	g.mu.Unlock()
	if waiting {
		g.r.deps.Schedule(g.work)
	}
	return err
}

// start applies what is committed as far as this replica knows. While it is the only
// voter everything in its log is, up to and with the next change of membership:
// only when no such change is left may it lead on its own.
func (g *group) start() error {
	if err := g.processReady(); err != nil {
		return err
	}
	for g.r.onlyVoter() {
		at, err := g.nextConfChange()
		if err != nil {
			return err
		}
		if at == 0 {
			return g.lift()
		}
		g.view.state.HardState.Commit = max(g.view.state.HardState.Commit, at)
		if err := g.reset(); err != nil {
			return err
		}
		if err := g.processReady(); err != nil {
			return err
		}
		must.True(g.applier.State().Index >= at, "replica: entry %d is committed and was not applied", at)
	}
	g.parked = false
	return nil
}

// confScanBytes is how much of the log is read at a time in search of changes of
// membership.
const confScanBytes = 4 << 20

// nextConfChange returns the index of the first change of membership that is in the
// log but not applied, 0 if there is none.
func (g *group) nextConfChange() (uint64, error) {
	for i, last := g.applier.State().Index+1, g.view.state.Last; i <= last; {
		ents, err := g.view.log.Entries(g.view.group, i, last+1, confScanBytes)
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

// lift makes the only voter the leader and applies what its log holds.
func (g *group) lift() error {
	if err := g.rn.Campaign(); err != nil {
		return err
	}
	if err := g.processReady(); err != nil {
		return err
	}
	if g.rn.BasicStatus().RaftState != raft.StateLeader {
		return fmt.Errorf("range %d: the only voter did not become leader", g.r.id)
	}
	g.parked = false
	return nil
}

// propose makes a command durable and applies it. command is kept until then.
func (g *group) propose(under raftgroup.Fence, command []byte) error {
	return g.enqueue(g.newProposal(under, command))
}

// proposeKeeping is propose for a command that others must go on to wait for if its
// outcome is not known in time while the leadership lasts: keep is called then, before
// the proposer goes on, and what it returns when the outcome is known.
func (g *group) proposeKeeping(under raftgroup.Fence, command []byte, keep func() (known func())) error {
	p := g.newProposal(under, command)
	p.keep = keep
	return g.enqueue(p)
}

// enqueue passes a command through the queue.
func (g *group) enqueue(p *proposal) error {
	g.mu.Lock()
	if err := g.mu.stopped; err != nil {
		g.mu.Unlock()
		g.proposals.Put(p)
		return err
	}
	g.mu.queue = g.mu.riders.board(append(g.mu.queue, p))
	lead := g.mu.started && !g.mu.busy
	g.mu.busy = g.mu.busy || lead
	g.mu.Unlock()
	switch {
	case lead && g.aside():
		g.r.deps.Schedule(g.work)
	case lead && g.lead(p):
		return g.release(p)
	}
	return g.await(p, 0)
}

func (g *group) newProposal(under raftgroup.Fence, command []byte) *proposal {
	p, _ := g.proposals.Get().(*proposal)
	if p == nil {
		p = &proposal{wake: make(chan wakeup, 1)}
	}
	p.command, p.err, p.done, p.under, p.keep = command, nil, false, under, nil
	return p
}

// aside reports whether proposers leave the processing to workers: the node has other
// stores, and who waits for an answer must not wait for this one's disk for ever.
func (g *group) aside() bool { return g.r.deps.Aside && !g.r.onlyVoter() }

// await waits for a proposal, processing the group when asked to. waited is for how long the
// caller has waited already.
func (g *group) await(p *proposal, waited time.Duration) error {
	if g.r.onlyVoter() { // nobody else to wait for
		for <-p.wake == wakeLead {
			if g.lead(p) {
				break
			}
		}
		return g.release(p)
	}
	timeout := time.NewTimer(proposalTimeout - waited)
	defer timeout.Stop()
	halted := g.halted
	var stalled <-chan struct{}
	if f := g.r.deps.Stalled; f != nil {
		stalled = f()
	}
	dismissed := g.dismissal.next()
	if g.dismissal.covers(p.under.Term) {
		timeout.Reset(stopGrace)
	}
	for {
		select {
		case <-dismissed:
			if dismissed = nil; g.dismissal.covers(p.under.Term) {
				timeout.Reset(stopGrace)
			}
		case <-stalled: // nothing comes back from the disk soon, and others lead by then
			stalled = nil
			timeout.Reset(stopGrace)
		case <-halted: // what is nearly done may end
			halted = nil
			timeout.Reset(stopGrace)
		case w := <-p.wake:
			if w == wakeDone || g.lead(p) {
				return g.release(p)
			}
		case <-timeout.C:
			if g.withdraw(p) {
				g.proposals.Put(p)
				return &kvpb.UnavailableError{Reason: "the range does not make progress"}
			}
			select {
			case w := <-p.wake: // at the last moment; a hand-off must not get lost
				if w == wakeDone || g.lead(p) {
					return g.release(p)
				}
			default:
			}
			// p stays with whoever finishes it, and is not used again.
			g.keep(p)
			return &kvpb.AmbiguousCommitError{Cause: errors.New("no quorum of the range's replicas answers")}
		}
	}
}

// keep sees to what goes on until the outcome of a proposal is known for which nobody
// waits any more.
func (g *group) keep(p *proposal) {
	if p.keep == nil {
		return
	}
	known := p.keep()
	started := g.r.tasks.run(func() {
		defer known()
		select {
		case <-p.wake: // it was in an entry, so nobody hands the queue on to it
		case <-g.halted:
		}
	})
	if !started {
		known()
	}
}

func (g *group) release(p *proposal) error {
	err := p.err
	p.command, p.keep = nil, nil
	g.proposals.Put(p)
	return err
}

// withdraw takes a proposal out of the queue if nobody has begun with it.
func (g *group) withdraw(p *proposal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range []*[]*proposal{&g.mu.queue, &g.mu.riders.waiting} {
		if i := slices.Index(*l, p); i >= 0 && len(p.wake) == 0 {
			*l = slices.Delete(*l, i, i+1)
			return true
		}
	}
	return false
}

// deliver hands the group an input and sees that it is processed: by whoever is at
// it, or by a worker of the store. False means that it never will be.
func (g *group) deliver(in input) bool {
	g.mu.Lock()
	if g.mu.stopped != nil || len(g.mu.inbox) >= maxInbox && in.msg != nil {
		g.mu.Unlock()
		return false
	}
	g.mu.inbox = append(g.mu.inbox, in)
	start := g.mu.started && !g.mu.busy
	g.mu.busy = g.mu.busy || start
	g.mu.Unlock()
	g.r.Wake()
	if start {
		g.r.deps.Schedule(g.work)
	}
	return true
}

// work processes the group on a worker.
func (g *group) work() { g.lead(nil) }

// lead processes the inputs and the queue until own is done, then hands on; it
// reports whether own is done. With own still on its way and nothing else to do, or its
// leadership resigned, it returns too.
func (g *group) lead(own *proposal) bool {
	defer must.Report(g.r.deps.OnFatal)
	g.own = own
	for {
		g.mu.Lock()
		if len(g.mu.queue) == 0 && len(g.mu.inbox) == 0 {
			done := own == nil || own.done
			g.own, g.joint = nil, nil
			g.rest()
			g.mu.Unlock()
			return done
		}
		if own != nil && (own.done || g.dismissal.covers(own.under.Term)) {
			done := own.done
			g.own, g.joint = nil, nil
			if len(g.mu.inbox) == 0 && !g.aside() && done {
				// With the mutex held, so that who gives up waiting now finds it (withdraw).
				g.mu.queue[0].wake <- wakeLead
				g.mu.Unlock()
			} else {
				g.mu.Unlock()
				g.r.deps.Schedule(g.work)
			}
			return done
		}
		batch := g.mu.queue
		g.mu.queue, g.spare = g.spare[:0], batch
		g.inputs, g.mu.inbox = g.mu.inbox, g.inputs[:0]
		g.mu.Unlock()
		g.step()
		if len(batch) > 0 {
			g.process(batch)
			clear(batch)
		}
	}
}

// step takes the inputs in.
func (g *group) step() {
	for i, in := range g.inputs {
		g.inputs[i] = input{}
		if in.do != nil {
			in.do()
			continue
		}
		if g.dead || g.broken != nil {
			continue
		}
		if in.from.Replica != 0 {
			g.caller = in.from
		}
		if g.resigned != nil && in.msg.GetTerm() > g.resigned.term {
			g.resigned = nil // somebody stands, or leads
		}
		if g.accepts(in.msg, in.epoch) {
			// Errors are of messages that came too late: raft ignores them.
			_ = g.rn.Step(in.msg)
		}
	}
	if !g.dead && g.broken == nil && g.rn.HasReady() {
		if err := g.processReady(); err != nil {
			_ = g.failed(err)
		}
	}
}

// process proposes the commands of batch, as few entries as the limits allow.
func (g *group) process(batch []*proposal) {
	if g.dead {
		g.finishAll(batch, g.r.mismatch())
		return
	}
	for len(batch) > 0 {
		if g.broken != nil {
			g.finishAll(batch, g.broken)
			return
		}
		n := g.coalesce(batch)
		part := batch[:n]
		batch = batch[n:]
		if len(g.entry) == 0 { // nothing in it may be proposed now
			continue
		}
		err := g.submit(part)
		if err != nil {
			err = g.failed(err)
			g.finishAll(part, err)
		}
	}
}

func (g *group) finish(p *proposal, err error) {
	if p.done {
		return
	}
	p.err, p.done = err, true
	if p != g.own {
		p.wake <- wakeDone
	}
}

func (g *group) finishAll(ps []*proposal, err error) {
	for _, p := range ps {
		if p != nil {
			g.finish(p, err)
		}
	}
}

// submit gives g.entry to raft and does what raft then asks for.
func (g *group) submit(part []*proposal) error {
	if g.parked {
		if err := g.lift(); err != nil {
			return err
		}
	}
	entry := g.entry
	g.entry = nil // raft keeps it
	s := submitted{data: entry, props: append([]*proposal(nil), part...)}
	g.appending = append(g.appending, s)
	if err := g.rn.Propose(entry); err != nil {
		g.appending = g.appending[:len(g.appending)-1]
		if errors.Is(err, raft.ErrProposalDropped) {
			g.finishAll(part, g.r.notLeader())
			return nil
		}
		return err
	}
	g.stir() // the followers are to hear of it, again if it gets lost
	return g.processReady()
}

// coalesce puts as many commands into g.entry as the limits allow, at least one.
// Commands evaluated under another leadership are answered at once.
func (g *group) coalesce(batch []*proposal) int {
	size := 1
	n := 0
	for n < len(batch) && n < apply.MaxEntryCommands {
		l := len(batch[n].command) + 15
		if n > 0 && size+l > apply.MaxEntryBytes {
			break
		}
		size += l
		n++
	}
	g.entry = make([]byte, 0, size)
	term := g.led
	for i, p := range batch[:n] {
		if !g.parked && p.under.Term != term && p.under.Term != raftgroup.AnyTerm {
			g.finish(p, g.r.notLeader())
			batch[i] = nil
			continue
		}
		g.entry = apply.AppendEntry(g.entry, p.under.BoundsGen, p.command)
	}
	return n
}

// failed decides what an error of the log or of raft means. With a full disk
// nothing was written here: raft's memory of it is dropped, the group goes on
// when there is room, and a leader sees that another replica takes over. Anything
// else stops the group.
func (g *group) failed(err error) error {
	var cause error = &kvpb.AmbiguousCommitError{Cause: err}
	if errors.Is(err, raftlog.ErrDiskFull) || errors.Is(err, storage.ErrDiskFull) {
		alone, resigned := g.r.onlyVoter(), g.heirs()
		g.fullAt = time.Now()
		if rerr := g.reset(); rerr == nil {
			if alone { // nobody else has seen the entries, or can lead
				cause = &kvpb.DiskFullError{Cause: err}
			} else {
				g.r.endLeadership()
			}
			g.led = 0
			g.abandon(cause)
			if resigned != nil && !alone {
				g.resigned = resigned
				g.urge()
				g.r.Wake() // its ticks urge again
			}
			return cause
		}
	}
	g.broken = cause
	g.r.cease() // before readers hear that commits they wait for have ended
	g.stop(cause)
	if !g.r.onlyVoter() {
		g.r.endLeadership()
	}
	g.abandon(cause)
	return cause
}

// giveUp answers those who wait for entries of a leadership that ended a while ago and
// that are neither committed nor overwritten here: the next leader knows more.
func (g *group) giveUp(term uint64) {
	if len(g.waiting) == 0 {
		return
	}
	err := &kvpb.AmbiguousCommitError{Cause: errors.New("the leadership of the range ended meanwhile")}
	kept := g.waiting[:0]
	for _, s := range g.waiting {
		if s.term > term {
			kept = append(kept, s)
			continue
		}
		g.finishAll(s.props, err)
	}
	clear(g.waiting[len(kept):])
	g.waiting = kept
}

// abandon answers all who wait for entries on their way.
func (g *group) abandon(err error) {
	for _, l := range [][]submitted{g.appending, g.waiting} {
		for i := range l {
			g.finishAll(l[i].props, err)
		}
	}
	g.appending, g.waiting = nil, nil
}

// stop refuses everything from now on; the first reason stays.
func (g *group) stop(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.stopped == nil {
		g.mu.stopped = reason
		close(g.halted)
		g.mu.riders.refuse(reason)
	}
}

// idle waits until nobody processes the group; after stop it stays so. However long the
// disk takes: what follows removes what the processing goroutine still writes (invariant R36).
func (g *group) idle() {
	g.mu.Lock()
	if !g.mu.busy {
		g.mu.Unlock()
		return
	}
	if g.mu.rested == nil {
		g.mu.rested = make(chan struct{})
	}
	rested := g.mu.rested
	g.mu.Unlock()
	<-rested
}

// rest notes that nobody processes the group any more. g.mu is held.
func (g *group) rest() {
	g.mu.busy = false
	if g.mu.rested != nil {
		close(g.mu.rested)
		g.mu.rested = nil
	}
}
