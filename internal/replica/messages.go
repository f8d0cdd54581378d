package replica

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// quietTicks is after how many ticks without work a leader whose followers have
// everything stops ticking.
const quietTicks = 5

// Step takes in a raft message from another replica. epoch is that of the support
// that the sender's store gave to this node then.
func (r *Replica) Step(m *pb.Message, from kvpb.ReplicaDescriptor, epoch int64) {
	r.group.deliver(input{msg: m, from: from, epoch: epoch})
}

// NeededFrom returns the index of the first entry that a follower may still need;
// everything below may be truncated. Only a leader knows.
func (r *Replica) NeededFrom() uint64 {
	if r.lease.Load() == nil || r.onlyVoter() {
		return math.MaxUint64
	}
	return r.minMatch.Load()
}

// accepts filters messages before raft sees them.
func (g *group) accepts(m *pb.Message, epoch int64) bool {
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		return g.acceptsVote(m)
	case pb.MsgHeartbeat:
		if err := g.held(m); err != nil {
			g.lose(err)
			return false
		}
	case pb.MsgTimeoutNow:
		return g.r.deps.Support == nil || g.r.deps.Support.MayVote()
	case pb.MsgHeartbeatResp:
		g.takeNote(m)
		g.noteLaterTerm(m)
		g.r.noteAnswer(m, epoch)
	case pb.MsgAppResp:
		g.noteLaterTerm(m)
		g.r.noteAnswer(m, epoch)
	case pb.MsgVoteResp, pb.MsgPreVoteResp:
		if m.GetReject() {
			g.noteRefusal()
		} else if m.GetType() == pb.MsgPreVoteResp && g.yields() {
			return false
		}
	}
	return true
}

// noteLaterTerm notes that a follower's answer comes from a later term: somebody is being elected.
func (g *group) noteLaterTerm(m *pb.Message) {
	if m.GetTerm() > g.rn.BasicStatus().GetTerm() {
		g.voted = time.Now()
	}
}

// send hands a message to the transport.
func (g *group) send(m *pb.Message) {
	to, ok := g.peer(kvpb.ReplicaID(m.GetTo()))
	if !ok || g.r.deps.Send == nil {
		return
	}
	switch m.GetType() {
	case pb.MsgSnap:
		g.sendSnapshot(to, m)
		return
	case pb.MsgHeartbeat:
		m.Context = binary.AppendUvarint(binary.AppendUvarint(nil, g.round), m.GetCommit())
	case pb.MsgTimeoutNow:
		if l := g.r.lease.Load(); l != nil {
			l.given.Store(true) // before the message leaves
			g.r.endRest()
		}
	}
	g.r.deps.Send(g.r, to, m)
}

func (g *group) peer(id kvpb.ReplicaID) (kvpb.ReplicaDescriptor, bool) {
	if d, ok := g.r.Desc().ReplicaByID(id); ok {
		return d, true
	}
	// A replica without a snapshot knows only who has written to it.
	if g.caller.Replica == id && id != 0 {
		return g.caller, true
	}
	return kvpb.ReplicaDescriptor{}, false
}

// Tick advances the group's time by one tick, unless it rests: a follower while it
// supports its leader's store, a leader while its followers have everything and
// support it. False means that it rests and that Deps.Wake will say when no longer.
func (r *Replica) Tick() bool {
	if r.Gone() {
		return false
	}
	if r.onlyVoter() || r.resting() {
		r.asleep.Store(true)
		// What ended the rest just now may not have found it asleep.
		if r.onlyVoter() || r.resting() || !r.asleep.CompareAndSwap(true, false) {
			return false
		}
	}
	g := r.group
	if !g.ticking.CompareAndSwap(false, true) {
		// The last tick waits for its turn, behind thousands of other groups perhaps, as
		// do messages: the group's time must not run ahead of them.
		return true
	}
	if !g.deliver(input{do: g.tick}) {
		g.ticking.Store(false)
		return false
	}
	return true
}

// Wake ends the replica's rest. Whatever changes what resting looks at calls it
// afterwards.
func (r *Replica) Wake() {
	if r.asleep.Load() && r.asleep.CompareAndSwap(true, false) && r.deps.Wake != nil {
		r.deps.Wake(r)
	}
}

// known is what a follower has said it knows to be committed.
type known struct{ follower, commit uint64 }

// takeNote notes what a follower knows to be committed: it answers a heartbeat after it has
// taken in what that says, and sends back what goes with it. What it answers to heartbeats
// from before the last stir does not count, since it may have been restarted meanwhile and
// forgets what is committed then.
func (g *group) takeNote(m *pb.Message) {
	round, n := binary.Uvarint(m.GetContext())
	commit, w := binary.Uvarint(m.GetContext()[max(n, 0):])
	m.Context = nil
	if n <= 0 || w <= 0 || round != g.round || m.GetTerm() != g.led {
		return
	}
	for i := range g.known {
		if k := &g.known[i]; k.follower == m.GetFrom() {
			k.commit = max(k.commit, commit)
			return
		}
	}
	g.known = append(g.known, known{m.GetFrom(), commit})
}

// knows reports whether a follower has said that it knows an entry to be committed.
func (g *group) knows(follower, index uint64) bool {
	return slices.ContainsFunc(g.known, func(k known) bool { return k.follower == follower && k.commit >= index })
}

// stir makes the leader speak to its followers for a while.
func (g *group) stir() {
	g.idleTicks = 0
	g.round++
	g.known = g.known[:0]
	g.r.quiet.Store(false)
	g.r.Wake()
}

// hears reports whether another store supports this node's leaderships, so that it
// is there. The clock is read before the support, as invariant 8 of liveness wants it.
func (r *Replica) hears(s kvpb.StoreID) bool {
	return r.deps.Support == nil || r.deps.Clock.Reading().Less(r.deps.Support.From(s).Support().Until)
}

// resting answers without disturbing the group whether a tick would do nothing.
func (r *Replica) resting() bool {
	s := r.deps.Support
	if s == nil {
		return true
	}
	if l := r.lease.Load(); l != nil {
		return r.quiet.Load() && r.coversNow(l)
	}
	if r.candidacy.Load() == inLine {
		return true // its turn wakes it
	}
	if !r.votes() {
		return true // others have to see to a leader
	}
	d, ok := r.Leader()
	return ok && d.Replica != r.replicaID && s.Supports(d.Store)
}

func (g *group) tick() {
	g.ticking.Store(false)
	if g.rn.BasicStatus().RaftState == raft.StateLeader {
		g.rn.Tick()
		g.noteQuiet()
		return
	}
	g.electionTick()
}

// noteQuiet decides whether the leader may rest: not before its followers have everything
// and know it to be committed (invariant R37). It does not wait for followers whose stores
// are not there: when they come back SupportChanged ends the rest, or finds that it has not
// begun, so that it is for this function to look again.
func (g *group) noteQuiet() {
	g.idleTicks++
	quiet := !g.lagging() && g.idleTicks > quietTicks && len(g.waiting) == 0
	if quiet && !g.r.quiet.Load() {
		g.r.told.Store(nil)
	}
	g.r.quiet.Store(quiet)
	if quiet && g.lagging() {
		g.r.quiet.Store(false)
	}
}

// lagging reports whether a follower whose store is there lacks something. It notes how far
// the slowest follower is.
func (g *group) lagging() (lags bool) {
	last, least := g.view.state.Last, uint64(math.MaxUint64)
	g.rn.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == uint64(g.r.replicaID) {
			return
		}
		least = min(least, p.Match)
		if p.Match < last || !g.knows(id, last) {
			d, ok := g.r.Desc().ReplicaByID(kvpb.ReplicaID(id))
			lags = lags || !ok || g.r.hears(d.Store)
		}
	})
	g.r.minMatch.Store(least)
	return lags
}

// SupportChanged tells the replica that support between its store and another has
// begun or ended. True: the replica leads, rests, and should speak to that store's
// replica, which may have been restarted; Stir has it do so.
func (r *Replica) SupportChanged(s kvpb.StoreID) (stir bool) {
	if _, ok := r.Desc().Replica(s); !ok {
		return false
	}
	if r.lease.Load() != nil && r.hears(s) {
		stir = r.quiet.Load()
	} else if !r.deps.Support.Supports(s) {
		r.SupportLost(s)
	}
	r.Wake()
	return stir
}

// Stir makes a leader speak to its followers for a while.
func (r *Replica) Stir() {
	if r.lease.Load() != nil {
		r.group.deliver(input{do: r.group.stir})
	}
}
