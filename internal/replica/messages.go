package replica

import (
	"math"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/raftgroup"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Step delivers a raft message from another replica. epoch is that of the support that the sender's store
// gave to this node when it sent the message.
func (r *Replica) Step(m *pb.Message, from kvpb.ReplicaDescriptor, epoch int64) {
	r.group.Post(raftgroup.Input{Msg: m, From: from, Epoch: epoch})
}

// NeededFrom returns the index of the first entry that a follower may still need. The log below may be
// truncated. Only a leader knows the index: other replicas return the maximum.
func (r *Replica) NeededFrom() uint64 {
	if r.lease.Load() == nil || r.onlyVoter() {
		return math.MaxUint64
	}
	return r.group.MinMatch()
}

// Accept implements raftgroup.Host.
func (g *group) Accept(m *pb.Message, epoch int64) bool {
	if t := g.r.election.SteppingDown(); t != 0 && m.GetTerm() > t {
		g.stepElection(&lease.ElectionEvent{Type: lease.NewTerm})
	}
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		return !g.callForVotes(m)
	case pb.MsgHeartbeat:
		if err := g.checkAcknowledged(m); err != nil {
			g.failLost(err)
			return false
		}
	case pb.MsgTimeoutNow:
		return !g.stepElection(&lease.ElectionEvent{Type: lease.TimeoutNow})
	case pb.MsgHeartbeatResp:
		g.noteLaterTerm(m)
		g.noteAnswer(m, epoch)
	case pb.MsgAppResp:
		g.noteLaterTerm(m)
		g.noteAnswer(m, epoch)
	case pb.MsgVoteResp, pb.MsgPreVoteResp:
		return !g.noteVote(m)
	}
	return true
}

// noteLaterTerm notices an answer from a later term, in which an election is in progress.
func (g *group) noteLaterTerm(m *pb.Message) {
	if m.GetTerm() > g.Raft().BasicStatus().GetTerm() {
		g.stepElection(&lease.ElectionEvent{Type: lease.LaterTerm})
	}
}

// Send implements raftgroup.Host.
func (g *group) Send(m *pb.Message) {
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
			l.Revoked.Store(true) // before the message leaves
			g.r.endTracking()
		}
	}
	g.r.deps.Send(g.r, to, m)
}

// NoteAnswer records that a message of the replica leaves with the support that its node gives to the
// receiver's. From then on the leader may count the support.
func (r *Replica) NoteAnswer(to kvpb.ReplicaID, m *pb.Message, given liveness.Support) {
	switch m.GetType() {
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		if to == *r.leader.Load() {
			r.election.NoteAnswer(given)
		}
	}
}

func (g *group) peer(id kvpb.ReplicaID) (kvpb.ReplicaDescriptor, bool) {
	if d, ok := g.r.Desc().ReplicaByID(id); ok {
		return d, true
	}
	// A replica without a snapshot knows only the sender of its messages.
	if s := g.Sender(); s.Replica == id && id != 0 {
		return s, true
	}
	return kvpb.ReplicaDescriptor{}, false
}

// Tick advances the group's time by one tick, unless the replica quiesces. A follower quiesces while its
// store supports the leader's, a leader while its followers have the whole log and support it. Tick returns
// false for a quiesced replica. Deps.OnUnquiesce is called when the replica needs ticks again.
func (r *Replica) Tick() bool {
	if r.Gone() {
		return false
	}
	if r.onlyVoter() || r.mayQuiesce() {
		r.quiesced.Store(true)
		// Check again: a concurrent Unquiesce may not have seen it quiesced.
		if r.onlyVoter() || r.mayQuiesce() || !r.quiesced.CompareAndSwap(true, false) {
			return false
		}
	}
	g := r.group
	if !g.ticking.CompareAndSwap(false, true) {
		// The last tick still waits, and messages may wait with it, perhaps behind those of thousands of
		// other groups. The group's time must not run ahead of its messages.
		return true
	}
	if !g.Do(g.tick) {
		g.ticking.Store(false)
		return false
	}
	return true
}

// Unquiesce resumes the replica's ticks. Its callers have changed an input of mayQuiesce.
func (r *Replica) Unquiesce() {
	if r.quiesced.Load() && r.quiesced.CompareAndSwap(true, false) && r.deps.OnUnquiesce != nil {
		r.deps.OnUnquiesce(r)
	}
}

// supportedBy reports whether another store supports this node's leaderships, so that it is alive. It
// reads the clock before the support (liveness, invariant 8).
func (r *Replica) supportedBy(s kvpb.StoreID) bool {
	return r.deps.Support == nil || r.deps.Clock.Reading().Less(r.deps.Support.From(s).Support().Until)
}

// mayQuiesce reports whether a tick would change nothing. It does not wait for the processing goroutine.
func (r *Replica) mayQuiesce() bool {
	s := r.deps.Support
	if s == nil {
		return true
	}
	if l := r.lease.Load(); l != nil {
		return r.idle.Load() && !r.Desc().ChangingReplicas() && r.coversNow(l) // a tick may call removeOutgoing
	}
	if r.election.Candidacy() == lease.Queued {
		return true // StartCampaign unquiesces it
	}
	if !r.votes() {
		return r.election.SteppingDown() == 0 // only voters campaign
	}
	d, ok := r.Leader()
	return ok && d.Replica != r.replicaID && r.election.Supports(s, d.Store)
}

func (g *group) tick() {
	g.ticking.Store(false)
	if g.Raft().BasicStatus().RaftState == raft.StateLeader {
		g.TickLeader()
		g.removeOutgoing()
		return
	}
	g.stepElection(&lease.ElectionEvent{Type: lease.Tick})
}

// SupportChanged notifies the replica that support between its store and another has begun or ended.
// heartbeat is true for an idle leader: the other store may have restarted, so the caller calls
// HeartbeatAll.
func (r *Replica) SupportChanged(s kvpb.StoreID) (heartbeat bool) {
	if _, ok := r.Desc().Replica(s); !ok {
		return false
	}
	if r.lease.Load() != nil && r.supportedBy(s) {
		heartbeat = r.idle.Load()
	} else if !r.election.Supports(r.deps.Support, s) {
		r.SupportLost(s)
	}
	r.Unquiesce()
	return heartbeat
}

// HeartbeatAll makes a quiesced leader send heartbeats to its followers for a while.
func (r *Replica) HeartbeatAll() {
	if r.lease.Load() != nil {
		r.group.Do(r.group.Unquiesce)
	}
}
