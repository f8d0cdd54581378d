package replica

import (
	"bytes"
	"context"
	"time"

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

// forced marks the messages of an election that the leader itself asked for.
var forced = []byte("CampaignTransfer")

// SupportLost tells the replica that its store no longer supports another, which
// may lead the range. Nothing is done before the replica's turn has come: if the other
// is supported again until then, it leads on.
func (r *Replica) SupportLost(s kvpb.StoreID) {
	if d, ok := r.Leader(); ok && d.Store == s && r.Initialized() {
		r.stepElection(lease.NeedLeader)
	}
}

// StartCampaign makes the replica campaign, if its range still needs a leader.
func (r *Replica) StartCampaign() { r.stepElection(lease.Turn) }

// EndCampaign ends a campaign that takes too long. The replica's next tick begins another.
func (r *Replica) EndCampaign() { r.stepElection(lease.EndCampaign) }

// prioritizeElection says that somebody asked for what the range's leader would answer.
func (r *Replica) prioritizeElection() {
	if r.election.Candidacy() == lease.Queued && r.deps.Elections != nil {
		r.deps.Elections.Prioritize(r)
	}
}

// stepElection takes in an event from outside of the group.
func (r *Replica) stepElection(typ lease.ElectionEventType) {
	ev := lease.ElectionEvent{Type: typ}
	f := r.electionFacts()
	res := r.election.Step(&ev, &f)
	r.performElection(&res)
}

// electionFacts are those that are known outside of the group.
func (r *Replica) electionFacts() lease.ElectionFacts {
	f := lease.ElectionFacts{Now: time.Now(), Desc: r.Desc(), Self: r.replicaID, Gone: r.Gone()}
	if r.deps.Support != nil {
		f.Promises = r.deps.Support
	}
	return f
}

// performElection carries out what concerns the store's queue.
func (r *Replica) performElection(res *lease.ElectionResult) {
	e := r.deps.Elections
	if res.Effects.Has(lease.LeaveCampaign) && e != nil {
		e.Done(r)
	}
	switch {
	case !res.Effects.Has(lease.Enqueue):
	case e != nil:
		e.Enqueue(r, res.Rank, res.Wait)
	default:
		r.StartCampaign()
	}
	if res.Effects.Has(lease.Begin) && !r.group.Do(func() { r.group.stepElection(&lease.ElectionEvent{Type: lease.Start}) }) {
		r.stepElection(lease.EndCampaign)
		if e != nil {
			e.Done(r)
		}
	}
	if res.Effects.Has(lease.Unquiesce) {
		r.Unquiesce()
	}
}

// stepElection takes in an event of the group, and carries out what follows. drop says that raft
// must not see the message that it is about.
func (g *group) stepElection(ev *lease.ElectionEvent) (drop bool) {
	st := g.Raft().BasicStatus()
	f := g.r.electionFacts()
	f.Gone = f.Gone || g.Subsumed()
	f.Term, f.Lead = st.GetTerm(), kvpb.ReplicaID(st.Lead)
	f.Leading, f.Candidate = st.RaftState == raft.StateLeader, st.RaftState == raft.StateCandidate
	f.Serves = f.Lead == g.r.replicaID && g.r.Leads()
	res := g.r.election.Step(ev, &f)
	if res.Effects.Has(lease.ForgetLeader) {
		_ = g.Raft().ForgetLeader()
	}
	g.r.performElection(&res)
	if res.Effects.Has(lease.Campaign) {
		_ = g.Raft().Campaign()
	}
	if res.Effects.Has(lease.AskCandidate) {
		g.Send(g.r.timeoutNow(res.To, res.Term))
	}
	if res.Effects.Has(lease.RejectPreVote) {
		g.Send(&pb.Message{
			Type: pb.MsgPreVoteResp.Enum(), From: proto.Uint64(uint64(g.r.replicaID)), To: proto.Uint64(uint64(ev.From)),
			Term: proto.Uint64(ev.Term - 1), Reject: proto.Bool(true),
		})
	}
	if res.Effects.Has(lease.Heartbeat) {
		g.Unquiesce()
	}
	return res.Effects.Has(lease.Drop)
}

// callForVotes takes in a message by which a candidate calls for votes.
func (g *group) callForVotes(m *pb.Message) (drop bool) {
	return g.stepElection(&lease.ElectionEvent{
		Type: lease.CallForVotes, From: kvpb.ReplicaID(m.GetFrom()), Term: m.GetTerm(),
		PreVote: m.GetType() == pb.MsgPreVote, Forced: bytes.Equal(m.GetContext(), forced),
	})
}

// takeVote takes in the answer to a call for votes.
func (g *group) takeVote(m *pb.Message) (drop bool) {
	ev := lease.ElectionEvent{Type: lease.Granted, From: kvpb.ReplicaID(m.GetFrom()), PreVote: m.GetType() == pb.MsgPreVoteResp}
	if m.GetReject() {
		ev.Type = lease.Refused
	}
	return g.stepElection(&ev)
}

// NoteElected implements raftgroup.Host: it ends the replica's campaign.
func (g *group) NoteElected() {
	if g.r.election.Candidacy() == lease.Campaigning {
		g.stepElection(&lease.ElectionEvent{Type: lease.Elected})
	}
}

// LogFull implements raftgroup.Host.
func (g *group) LogFull(term uint64, candidates []kvpb.ReplicaID) {
	g.stepElection(&lease.ElectionEvent{Type: lease.LogFull, Term: term, Candidates: candidates})
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

// votes reports whether the replica has a vote in its range.
func (r *Replica) votes() bool {
	d, _ := r.Desc().ReplicaByID(r.replicaID)
	in, out := lease.IsVoter(d.Type)
	return d.Replica != 0 && (in || out)
}

// Campaign makes the replica try to become leader at once.
func (r *Replica) Campaign() {
	if !r.onlyVoter() { // Start has done it
		r.group.Do(func() { r.group.stepElection(&lease.ElectionEvent{Type: lease.CampaignNow}) })
	}
}

const (
	// splitElection bounds how long the new range's replica at the leader of the old
	// one tries to become leader before it does so at the pace of any other.
	splitElection      = 3 * time.Second
	splitElectionFirst = 2 * time.Millisecond
	splitElectionMost  = 50 * time.Millisecond
)

// campaignUntilLed calls for votes until the range, which was just split off, has a leader. The
// other replicas are not there before their stores have applied the split too.
func (r *Replica) campaignUntilLed(ctx context.Context) {
	for wait := splitElectionFirst; *r.leader.Load() == 0 && !r.Gone(); wait = min(2*wait, splitElectionMost) {
		r.group.Do(func() { r.group.stepElection(&lease.ElectionEvent{Type: lease.CampaignFirst}) })
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}
