package replica

import (
	"bytes"
	"math"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// forced marks the messages of an election that the leader itself asked for.
var forced = []byte("CampaignTransfer")

// The replica whose turn it is to succeed a lost leader tries at once, the next one
// turnTicks later, since the first may lack entries; and each again every few ticks
// for a while: the others may have withdrawn their support a moment later than this
// store, and have refused their votes until then.
const (
	turnTicks  = 4
	eagerTicks = 12
	eagerEvery = 3
)

// quietTicks is after how many ticks without work a leader whose followers have
// everything stops ticking.
const quietTicks = 10

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

// accepts filters messages before raft sees them. A replica that supports its
// leader's store casts no vote for another, and none at all before it is sure
// that the support it granted in an earlier life has expired.
func (g *group) accepts(m *pb.Message, epoch int64) bool {
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		s := g.r.deps.Support
		if s == nil {
			return true
		}
		if !s.MayVote() {
			return false
		}
		if bytes.Equal(m.GetContext(), forced) || !g.supportsOther(kvpb.ReplicaID(m.GetFrom())) {
			return true
		}
		if g.rn.BasicStatus().RaftState == raft.StateLeader {
			g.stir() // it does not know who leads, having been restarted perhaps
		}
		return false
	case pb.MsgTimeoutNow:
		return g.r.deps.Support == nil || g.r.deps.Support.MayVote()
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		g.r.noteAnswer(kvpb.ReplicaID(m.GetFrom()), m.GetTerm(), epoch)
	}
	return true
}

// supportsOther reports whether this store supports a leader other than the
// candidate.
func (g *group) supportsOther(candidate kvpb.ReplicaID) bool {
	lead := kvpb.ReplicaID(g.rn.BasicStatus().Lead)
	if lead == 0 && g.r.presumed != 0 && g.rn.BasicStatus().GetTerm() <= apply.FirstTerm+1 {
		// A range just split off: the other half's leader may still answer for it.
		d, ok := g.r.Desc().Replica(g.r.presumed)
		return ok && d.Replica != candidate && (d.Replica == g.r.replicaID || g.r.deps.Support.Supports(d.Store))
	}
	if lead == 0 || lead == candidate {
		return false
	}
	if lead == g.r.replicaID {
		return g.r.Leads()
	}
	d, ok := g.r.Desc().ReplicaByID(lead)
	return ok && g.r.deps.Support.Supports(d.Store)
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
	case pb.MsgTimeoutNow:
		if l := g.r.lease.Load(); l != nil {
			l.given.Store(true) // before the message leaves
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

// stir makes the leader speak to its followers for a while.
func (g *group) stir() {
	g.idleTicks = 0
	g.r.quiet.Store(false)
	g.r.Wake()
}

// hears reports whether another store supports this node's leaderships, so that it
// is there.
func (r *Replica) hears(s kvpb.StoreID) bool {
	return r.deps.Support == nil || r.deps.Clock.Now().Less(r.deps.Support.From(s).Support().Until)
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
	d, ok := r.Leader()
	return ok && d.Replica != r.replicaID && s.Supports(d.Store)
}

func (g *group) tick() {
	g.ticking.Store(false)
	r := g.r
	if g.rn.BasicStatus().RaftState == raft.StateLeader {
		g.rn.Tick()
		g.noteQuiet()
		return
	}
	if !r.deps.Support.MayVote() || g.supportsOther(r.replicaID) {
		return
	}
	_ = g.rn.ForgetLeader() // its store has lost our support
	if g.eagerAfter > 0 {
		g.eagerAfter--
		return
	}
	if g.eager > 0 {
		if g.eager--; g.eager%eagerEvery == 0 {
			_ = g.rn.Campaign()
		}
		return
	}
	g.rn.Tick()
}

// noteQuiet decides whether the leader may rest. It does not wait for followers whose
// stores are not there: when they come back SupportChanged ends the rest.
func (g *group) noteQuiet() {
	g.idleTicks++
	quiet := g.idleTicks > quietTicks && len(g.waiting) == 0
	last, least := g.view.state.Last, uint64(math.MaxUint64)
	g.rn.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == uint64(g.r.replicaID) {
			return
		}
		least = min(least, p.Match)
		if p.Match < last {
			d, ok := g.r.Desc().ReplicaByID(kvpb.ReplicaID(id))
			quiet = quiet && ok && !g.r.hears(d.Store)
		}
	})
	g.r.minMatch.Store(least)
	if quiet && !g.r.quiet.Load() {
		g.r.told.Store(nil)
	}
	g.r.quiet.Store(quiet)
}

// SupportChanged tells the replica that support between its store and another has
// begun or ended.
func (r *Replica) SupportChanged(s kvpb.StoreID) {
	if _, ok := r.Desc().Replica(s); !ok {
		return
	}
	switch {
	case r.lease.Load() != nil && r.hears(s):
		r.group.deliver(input{do: r.group.stir}) // it may have been restarted
	case !r.deps.Support.Supports(s):
		r.SupportLost(s)
		r.Wake()
	default:
		r.Wake()
	}
}

// SupportLost tells the replica that its store no longer supports another, which
// may lead the range.
func (r *Replica) SupportLost(s kvpb.StoreID) {
	d, ok := r.Leader()
	if !ok || d.Store != s || !r.Initialized() {
		return
	}
	r.group.deliver(input{do: func() {
		if g := r.group; !g.supportsOther(r.replicaID) && r.deps.Support.MayVote() {
			_ = g.rn.ForgetLeader()
			turn := r.turn(s)
			g.eager, g.eagerAfter = eagerTicks, turn*turnTicks
			if turn == 0 {
				_ = g.rn.Campaign()
			}
		}
	}})
}

// turn returns how many others, among the replicas that may lead, try before this one
// when the leader's store is gone, so that not all try at once.
func (r *Replica) turn(gone kvpb.StoreID) (n int) {
	for _, d := range r.Desc().Replicas {
		in, _ := isVoter(d.Type)
		switch {
		case !in || d.Store == gone:
		case d.Replica == r.replicaID:
			return n
		case r.deps.Support.Supports(d.Store):
			n++
		}
	}
	return n
}

// Campaign makes the replica try to become leader.
func (r *Replica) Campaign() {
	if r.onlyVoter() {
		return // Start has done it
	}
	r.group.deliver(input{do: func() {
		if s := r.deps.Support; s == nil || s.MayVote() && !r.group.supportsOther(r.replicaID) {
			_ = r.group.rn.Campaign()
		}
	}})
}
