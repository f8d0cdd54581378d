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

// Elections schedules the campaigns of a store's replicas. When a node dies, thousands of ranges need
// new leaders at once: the queue prefers ranges with waiting requests, and bounds the number of
// concurrent campaigns so that each one completes.
type Elections interface {
	// Enqueue adds a replica to the queue, which calls its StartCampaign when its turn comes, but not before
	// wait has passed. rank is the number of replicas of the range that should campaign before it.
	Enqueue(r *Replica, rank int, wait time.Duration)
	// Prioritize moves a queued replica forward, since a request waits for its range.
	Prioritize(r *Replica)
	// Done reports the end of a replica's campaign.
	Done(r *Replica)
}

// forced is raft's context of vote requests after a leadership transfer, which the leader itself began.
var forced = []byte("CampaignTransfer")

// SupportLost notifies the replica that its store has withdrawn its support from another store, or gives it
// to another incarnation of the node. If that store leads the range, the replica queues for a campaign. The
// leader stays if the support of the same incarnation returns before the replica's turn.
func (r *Replica) SupportLost(s kvpb.StoreID) {
	if d, ok := r.Leader(); ok && d.Store == s && r.Initialized() {
		r.stepElection(lease.NeedLeader)
	}
}

// StartCampaign begins the replica's campaign if its range still needs a leader.
func (r *Replica) StartCampaign() { r.stepElection(lease.Dequeued) }

// EndCampaign ends a campaign that takes too long. The replica's next tick begins another.
func (r *Replica) EndCampaign() { r.stepElection(lease.EndCampaign) }

// prioritizeElection moves the replica's election forward, since a request needs the range's leader.
func (r *Replica) prioritizeElection() {
	if r.election.Candidacy() == lease.Queued && r.deps.Elections != nil {
		r.deps.Elections.Prioritize(r)
	}
}

// stepElection processes an event on any goroutine.
func (r *Replica) stepElection(typ lease.ElectionEventType) {
	ev := lease.ElectionEvent{Type: typ}
	f := r.electionFacts()
	res := r.election.Step(&ev, &f)
	r.performElection(&res)
}

// electionFacts returns the facts that any goroutine may read.
func (r *Replica) electionFacts() lease.ElectionFacts {
	f := lease.ElectionFacts{Now: time.Now(), Desc: r.Desc(), Self: r.replicaID, Gone: r.Gone()}
	if r.deps.Support != nil {
		f.Promises = r.deps.Support
	}
	return f
}

// performElection performs the effects that concern the store's queue.
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

// stepElection processes an event on the processing goroutine, with the facts of raft. drop says that raft
// must not see the message of the event.
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

// callForVotes processes a candidate's MsgVote or MsgPreVote.
func (g *group) callForVotes(m *pb.Message) (drop bool) {
	return g.stepElection(&lease.ElectionEvent{
		Type: lease.CallForVotes, From: kvpb.ReplicaID(m.GetFrom()), Term: m.GetTerm(),
		PreVote: m.GetType() == pb.MsgPreVote, Forced: bytes.Equal(m.GetContext(), forced),
	})
}

// noteVote processes the response to a MsgVote or MsgPreVote.
func (g *group) noteVote(m *pb.Message) (drop bool) {
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

// Demoted implements raftgroup.Host.
func (g *group) Demoted(term uint64, candidates []kvpb.ReplicaID) {
	g.stepElection(&lease.ElectionEvent{Type: lease.Demoted, Term: term, Candidates: candidates})
}

// Electable reports whether the replica could serve if it were elected: a majority of the
// range's voters support its store.
func (r *Replica) Electable() bool {
	if r.deps.Support == nil {
		return true
	}
	now, ok := r.deps.Clock.TryNow()
	if !ok {
		return false // the clock waits for a disk, and so would the election
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

// Campaign makes the replica campaign at once.
func (r *Replica) Campaign() {
	if !r.onlyVoter() { // Start makes the only voter the leader
		r.group.Do(func() { r.group.stepElection(&lease.ElectionEvent{Type: lease.CampaignNow}) })
	}
}

const (
	// splitElection is how long the right half's replica at the leader of the left half campaigns in
	// quick succession. Then it campaigns like any other replica.
	splitElection      = 3 * time.Second
	splitElectionFirst = 2 * time.Millisecond
	splitElectionMost  = 50 * time.Millisecond
)

// campaignUntilLed campaigns until the range, which was just split off, has a leader. The other replicas
// do not exist before their stores have applied the split, so the first attempts may go unanswered.
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
