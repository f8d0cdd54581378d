package replica

import (
	"bytes"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Elections decides which replicas of a store campaign, and when. When a
// node dies thousands of its ranges need leaders at once; those that are asked for
// come first, and no more at a time than get it done.
type Elections interface {
	// Enqueue puts a replica into the queue; StartCampaign is called when its turn has come, not before
	// wait is over. rank is how many other replicas should try before.
	Enqueue(r *Replica, rank int, wait time.Duration)
	// Prioritize says that somebody waits for a replica that is in the queue.
	Prioritize(r *Replica)
	// Done says that a replica campaigns no longer.
	Done(r *Replica)
}

// candidacy is what a replica does for a leader of its range.
type candidacy = int32

const (
	noCandidate candidacy = iota // nothing
	queued                       // it is in the store's line
	campaigning                  // it campaigns, or is about to
)

const (
	// campaignTicks is how long a replica campaigns before it gives others a chance; half-way it
	// asks for votes again, in case its messages were lost.
	campaignTicks = 6
	// campaignAgain is how long a replica waits that campaigned in vain, or has voted.
	campaignAgain = 300 * time.Millisecond
	// campaignDelay is how long a replica waits that has no leader any more: the others' support
	// of the former leader may end a moment later.
	campaignDelay = 50 * time.Millisecond
)

// forced marks the messages of an election that the leader itself asked for.
var forced = []byte("CampaignTransfer")

// SupportLost tells the replica that its store no longer supports another, which
// may lead the range. Nothing is done before the replica's turn has come: if the other
// is supported again until then, it leads on.
func (r *Replica) SupportLost(s kvpb.StoreID) {
	if d, ok := r.Leader(); ok && d.Store == s && r.Initialized() {
		r.enterElection(campaignDelay)
	}
}

// enterElection puts the replica in line, unless it is or campaigns.
func (r *Replica) enterElection(wait time.Duration) {
	rank, may := r.rank()
	if !may || r.Gone() || !r.candidacy.CompareAndSwap(noCandidate, queued) {
		return
	}
	if e := r.deps.Elections; e != nil {
		e.Enqueue(r, rank, wait)
	} else {
		r.StartCampaign()
	}
}

// leaveElection ends the replica's campaign.
func (r *Replica) leaveElection() {
	if r.candidacy.CompareAndSwap(campaigning, noCandidate) && r.deps.Elections != nil {
		r.deps.Elections.Done(r)
	}
}

// prioritizeElection says that somebody asked for what the range's leader would answer.
func (r *Replica) prioritizeElection() {
	if r.candidacy.Load() == queued && r.deps.Elections != nil {
		r.deps.Elections.Prioritize(r)
	}
}

// StartCampaign makes the replica campaign, if its range still needs a leader.
func (r *Replica) StartCampaign() {
	if !r.candidacy.CompareAndSwap(queued, campaigning) {
		return
	}
	if !r.group.Do(r.group.startCampaign) {
		r.leaveElection()
	}
}

// EndCampaign takes the replica out of an election that takes too long. It enters again by
// itself.
func (r *Replica) EndCampaign() {
	r.candidacy.CompareAndSwap(campaigning, noCandidate)
	r.Wake()
}

// Electable reports whether the replica could serve if it were elected: a majority of the
// range's voters support its store.
func (r *Replica) Electable() bool {
	if r.deps.Support == nil {
		return true
	}
	now, ok := r.deps.Clock.TryNow()
	if !ok {
		return false // the clock waits for a disk, as the election would
	}
	return lease.Electable(r.Desc(), func(s kvpb.StoreID) bool {
		return s == r.deps.Store || now.Less(r.deps.Support.From(s).Support().Until)
	})
}

// rank returns how many others campaign before this replica; false: it does not vote.
func (r *Replica) rank() (n int, may bool) {
	return lease.Rank(r.Desc(), r.replicaID, func(s kvpb.StoreID) bool { return r.deps.Support == nil || r.deps.Support.Supports(s) })
}

// votes reports whether the replica has a vote in its range.
func (r *Replica) votes() bool {
	d, _ := r.Desc().ReplicaByID(r.replicaID)
	in, out := lease.IsVoter(d.Type)
	return d.Replica != 0 && (in || out)
}

// leaderless reports whether the range needs a leader, as far as this replica knows.
func (g *group) leaderless() bool {
	return !g.Subsumed() && g.Raft().BasicStatus().RaftState != raft.StateLeader &&
		(g.r.deps.Support == nil || !g.supportsOther(g.r.replicaID))
}

// mayVote reports whether this replica may vote, so also for itself.
func (g *group) mayVote() bool { return g.r.deps.Support == nil || g.r.deps.Support.MayVote() }

// startCampaign calls for votes.
func (g *group) startCampaign() {
	switch {
	case g.r.candidacy.Load() != campaigning:
	case !g.leaderless(), g.full():
		g.r.leaveElection()
	case !g.mayVote(), g.yields():
		g.r.leaveElection()
		g.r.enterElection(campaignAgain)
	default:
		g.campaign()
	}
}

// yields reports whether somebody else is being elected: this replica stands back for a while,
// and takes no answer to an earlier call for votes, since by a later term it would end the
// other's leadership as it begins.
func (g *group) yields() bool { return time.Now().Before(g.voted.Add(campaignAgain)) }

func (g *group) campaign() {
	_ = g.Raft().ForgetLeader() // its store has lost our support
	g.campaignTicks = campaignTicks
	_ = g.Raft().Campaign()
}

// electionTick is a tick of a replica that does not lead.
func (g *group) electionTick() {
	switch {
	case !g.leaderless():
		g.campaignTicks = 0
		g.r.leaveElection()
	case g.stepDown != nil:
		g.stepDownTick()
	case g.full():
	case g.campaignTicks > 0:
		if g.campaignTicks--; g.campaignTicks == campaignTicks/2 && g.mayVote() {
			_ = g.Raft().Campaign()
		}
		if g.campaignTicks == 0 {
			g.r.leaveElection()
			g.r.enterElection(campaignAgain)
		}
	case g.r.candidacy.Load() == noCandidate:
		_ = g.Raft().ForgetLeader()
		g.r.enterElection(0)
	}
}

// NoteElected implements raftgroup.Host: it ends the replica's campaign.
func (g *group) NoteElected() {
	if g.r.candidacy.Load() == campaigning {
		g.campaignTicks = 0
		g.r.leaveElection()
	}
}

// acceptsVote answers whether raft may see a call for votes. A replica that supports its
// leader's store casts no vote for another, and none at all before it is sure
// that the support it granted in an earlier life has expired.
func (g *group) acceptsVote(m *pb.Message) bool {
	s := g.r.deps.Support
	candidate := kvpb.ReplicaID(m.GetFrom())
	switch {
	case s == nil:
		return true
	case !s.MayVote():
	case bytes.Equal(m.GetContext(), forced):
		g.voted = time.Now()
		return true
	case !g.supportsOther(candidate):
		// Raft has its own idea of how long a leader is to be followed.
		_ = g.Raft().ForgetLeader()
		if m.GetType() == pb.MsgVote {
			g.voted = time.Now()
		}
		return true
	case g.Raft().BasicStatus().RaftState == raft.StateLeader:
		g.Unquiesce() // it does not know who leads, having been restarted perhaps
	}
	if m.GetType() == pb.MsgPreVote { // so that it does not wait; a vote that is refused says nothing
		g.Send(&pb.Message{
			Type: pb.MsgPreVoteResp.Enum(), From: proto.Uint64(uint64(g.r.replicaID)), To: m.From,
			Term: proto.Uint64(m.GetTerm() - 1), Reject: proto.Bool(true),
		})
	}
	return false
}

// noteRefusal notes that another replica has refused its vote: the slot is for others now. The
// replica may still win by the votes of the rest.
func (g *group) noteRefusal() {
	if g.r.candidacy.Load() == campaigning {
		g.campaignTicks = 0
		g.r.leaveElection()
		g.r.enterElection(campaignAgain)
	}
}

// supportsOther reports whether this store supports a leader other than the
// candidate.
func (g *group) supportsOther(candidate kvpb.ReplicaID) bool {
	lead := kvpb.ReplicaID(g.Raft().BasicStatus().Lead)
	if p := g.r.presumed; lead == 0 && p.store != 0 && g.Raft().BasicStatus().GetTerm() <= apply.FirstTerm+1 {
		d, ok := g.r.Desc().Replica(p.store)
		return ok && d.Replica != candidate && g.r.deps.Support.Granted(p.store).Epoch == p.epoch
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

// Campaign makes the replica try to become leader at once.
func (r *Replica) Campaign() {
	if r.onlyVoter() {
		return // Start has done it
	}
	r.group.Do(func() {
		if g := r.group; g.leaderless() && g.mayVote() {
			g.campaign()
		}
	})
}
