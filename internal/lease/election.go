package lease

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// Election is a replica's part in the elections of its range: whether it campaigns, and for whom it
// votes. It is pure: Step takes an event and the present facts, and returns what the replica does
// (election.go in package replica).
//
//	              NeedLeader, Tick              Dequeued, Start             Elected, Tick: there is a leader
//	NotCandidate ─────────────────► Queued ───────────────► Campaigning ──────────────────► NotCandidate
//	                                  ▲                          │
//	                                  └──────────────────────────┘
//	                  Refused, Start: it has voted, Tick: in vain
//
// When a node dies, thousands of ranges need leaders at once. So a candidate waits in its store's queue,
// behind the ranges with waiting requests. While a replica's store supports the leader's store, the
// replica neither campaigns nor votes for another.
//
// One event bypasses the queue: TimeoutNow comes from the leader itself, which has revoked its lease
// before it sent the message (Lease).
type Election struct {
	state atomic.Int32 // a Candidacy; any goroutine may enter the queue

	ticks    int       // for which the campaign still lasts
	deferred time.Time // when the replica last voted for another one, or noticed a later term
	fullAt   time.Time // when the log last had no room
	// stepDown is set while the replica, whose leadership has ended, asks others to campaign. Any
	// goroutine may read the term.
	stepDown atomic.Pointer[StepDown]
	// split is the leader that may still serve the keys of this range, which a split has made.
	split SplitLeader
	// leaderInc is the incarnation of the leader's node when the replica learned of the leader or last
	// answered it. It is 0 if this node did not support the leader then. Any goroutine may read it.
	leaderInc atomic.Int64
}

// Candidacy is what a replica does for a leader of its range.
type Candidacy int32

// The candidacies.
const (
	NotCandidate Candidacy = iota
	Queued                 // in its store's queue
	Campaigning            // it calls for votes, or is about to
)

// String implements fmt.Stringer.
func (c Candidacy) String() string {
	return [...]string{"not a candidate", "queued", "campaigning"}[c]
}

// SplitLeader is the leader of a range when the entry arrived that split off another range. It may serve
// reads of that other range too, as long as it has not applied the entry and has the support of Epoch.
type SplitLeader struct {
	Store kvpb.StoreID // 0 if there is none
	Epoch int64
}

const (
	// campaignTicks is how long a replica campaigns before it gives others a chance. Half-way it calls
	// for votes again, in case its messages were lost.
	campaignTicks = 6
	// campaignAgain is how long a replica waits after it has campaigned in vain, or has voted.
	campaignAgain = 300 * time.Millisecond
	// campaignDelay is how long a replica waits after it has lost its leader: the others' support of that
	// leader may end a moment later.
	campaignDelay = 50 * time.Millisecond
	// logFullBackoff is how long a replica does not campaign after its log was full: it could not write
	// its own vote.
	logFullBackoff = 3 * time.Second
	// lastSplitTerm is the last term of a new range in which a SplitLeader counts.
	lastSplitTerm = apply.FirstTerm + 1
)

// ElectionEventType names what happens to an Election.
type ElectionEventType uint8

// The events. NeedLeader, Dequeued and EndCampaign may come from any goroutine, the others only from the
// goroutine that processes the raft group.
const (
	// NeedLeader: the support of the leader's store has ended.
	NeedLeader ElectionEventType = iota
	// Dequeued: it is the replica's turn in the store's queue.
	Dequeued
	// EndCampaign: the campaign takes too long, or can't begin.
	EndCampaign

	// Start: the processing goroutine begins the campaign of a dequeued replica.
	Start
	// Tick: a tick has passed, and the replica does not lead.
	Tick
	// CampaignNow: the replica should lead at once, if no other one does.
	CampaignNow
	// CampaignFirst: the same in a range that was just split off. It is repeated until there is a leader.
	CampaignFirst
	// CallForVotes: From calls for votes. With PreVote it asks whether it could win. With Forced the
	// leader has asked it to campaign.
	CallForVotes
	// Granted: From votes for the replica, or would. Refused: it does not.
	Granted
	Refused
	// TimeoutNow: the leader asks the replica to campaign.
	TimeoutNow
	// LaterTerm: a follower has answered the leader from a later term.
	LaterTerm
	// Elected: the range has a leader that serves.
	Elected
	// KnowLeader: raft knows the leader.
	KnowLeader
	// LogFull: the log has no room. Term is set if the replica led until now.
	LogFull
	// Demoted: the replica led in Term until now, and is no longer a voter.
	Demoted
	// NewTerm: a message of a later term than that of the step-down has arrived.
	NewTerm
)

// ElectionEvent is the input of a Step. Its type says which of the other fields are set.
type ElectionEvent struct {
	Type            ElectionEventType
	From            kvpb.ReplicaID
	PreVote, Forced bool
	Term            uint64
	Candidates      []kvpb.ReplicaID // the one with the longest log first
}

// ElectionFacts are the inputs of a Step beside the event and the state.
type ElectionFacts struct {
	Now  time.Time
	Desc *kvpb.RangeDescriptor
	Self kvpb.ReplicaID
	// Gone says that the range is part of another one.
	Gone bool
	// Promises are the support that this node has promised. It is nil on a single node.
	Promises Promises
	// Term, Lead, Leading and Candidate are raft's state. Lead is 0 if raft knows no leader.
	Term               uint64
	Lead               kvpb.ReplicaID
	Leading, Candidate bool
	// Serves says that this replica leads under a lease that covers the present.
	Serves bool
}

// Promises are the support that this node has promised to the leaders of other stores (package liveness).
type Promises interface {
	// Supports reports whether this node supports a store's leaders.
	Supports(kvpb.StoreID) bool
	// Draining reports whether the node of a store drains.
	Draining(kvpb.StoreID) bool
	// Granted returns the support that this node gives to a store.
	Granted(kvpb.StoreID) liveness.Support
	// MayVote reports whether all support that an earlier incarnation of this node gave has expired.
	MayVote() bool
}

// ElectionEffects are the effects of an event, to be carried out in this order.
type ElectionEffects uint16

// The effects.
const (
	// ForgetLeader makes raft forget the leader: otherwise it would neither campaign nor vote.
	ForgetLeader ElectionEffects = 1 << iota
	// Begin passes Start to the processing goroutine.
	Begin
	// LeaveCampaign frees the replica's place among the campaigns of its store.
	LeaveCampaign
	// Enqueue adds the replica to its store's queue, with Rank and Wait.
	Enqueue
	// Campaign makes raft call for votes.
	Campaign
	// AskCandidate sends TimeoutNow of Term to To.
	AskCandidate
	// RejectPreVote answers the candidate, so that it does not wait.
	RejectPreVote
	// Heartbeat makes a quiesced leader send heartbeats, since a follower does not know the leader.
	Heartbeat
	// Unquiesce resumes the replica's ticks.
	Unquiesce
	// Drop keeps the message from raft.
	Drop
)

var electionEffectNames = [...]string{
	"forget-leader", "begin", "leave-campaign", "enqueue", "campaign", "timeout-now", "reject-prevote", "heartbeat", "unquiesce", "drop",
}

// Has reports whether f is among the effects.
func (e ElectionEffects) Has(f ElectionEffects) bool { return e&f != 0 }

// String lists the effects as the scripts do.
func (e ElectionEffects) String() string {
	var names []string
	for i, name := range electionEffectNames {
		if e.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// ElectionResult is the result of a Step.
type ElectionResult struct {
	Effects ElectionEffects
	Rank    int            // for Enqueue: the number of replicas that should campaign before
	Wait    time.Duration  // for Enqueue
	To      kvpb.ReplicaID // for AskCandidate
	Term    uint64         // for AskCandidate
}

// Candidacy returns what the replica does for a leader. It may be called from any goroutine.
func (e *Election) Candidacy() Candidacy { return Candidacy(e.state.Load()) }

// SteppingDown returns the term of the replica's former leadership while the replica asks others to campaign,
// and otherwise 0. It may be called from any goroutine.
func (e *Election) SteppingDown() uint64 {
	if s := e.stepDown.Load(); s != nil {
		return s.Term
	}
	return 0
}

// NoteAnswer records the support that goes with the replica's answer to its leader.
func (e *Election) NoteAnswer(given liveness.Support) { e.leaderInc.Store(given.Incarnation) }

// Supports reports whether the node supports the replica's leader, whose store is s. A leadership ends when
// the leader's node begins another incarnation. Support for that incarnation does not count. It may be called
// from any goroutine.
func (e *Election) Supports(p Promises, s kvpb.StoreID) bool {
	g := p.Granted(s)
	return g.Epoch != 0 && g.Incarnation == e.leaderInc.Load()
}

// SplitOff sets the SplitLeader of a range that was just split off.
func (e *Election) SplitOff(from SplitLeader) { e.split = from }

// Step processes an event.
func (e *Election) Step(ev *ElectionEvent, f *ElectionFacts) (r ElectionResult) {
	switch ev.Type {
	case NeedLeader:
		e.enqueue(f, campaignDelay, &r)
	case Dequeued:
		if e.change(Queued, Campaigning) {
			r.Effects |= Begin
		}
	case EndCampaign:
		e.change(Campaigning, NotCandidate)
		r.Effects |= Unquiesce
	case Start:
		e.start(f, &r)
	case Tick:
		e.tick(f, &r)
	case CampaignNow, CampaignFirst:
		// A candidate waits for the votes of its term: a new term would need new ones.
		if e.needsLeader(f) && f.mayVote() && !(ev.Type == CampaignFirst && f.Candidate) {
			e.campaign(&r)
		}
	case Elected:
		e.leave(&r)
	case Granted:
		if ev.PreVote && e.defers(f) {
			r.Effects |= Drop
		}
	case Refused:
		// Its place goes to others. It may still win with the other votes.
		if e.Candidacy() == Campaigning {
			e.leave(&r)
			e.enqueue(f, campaignAgain, &r)
		}
	default:
		e.stepVote(ev, f, &r)
	}
	return r
}

// stepVote processes the events that come from other replicas or from raft.
func (e *Election) stepVote(ev *ElectionEvent, f *ElectionFacts, r *ElectionResult) {
	switch ev.Type {
	case CallForVotes:
		e.callForVotes(ev, f, r)
	case TimeoutNow:
		if !f.mayVote() {
			r.Effects |= Drop
		}
	case LaterTerm:
		e.deferred = f.Now
	case KnowLeader:
		e.split = SplitLeader{} // the election of the present leader has respected it
		e.leaderInc.Store(f.leaderSupport().Incarnation)
	case LogFull:
		e.fullAt = f.Now
		if ev.Term != 0 {
			e.stepsDown(ev, r)
		}
	case Demoted:
		e.stepsDown(ev, r)
	case NewTerm:
		e.stepDown.Store(nil) // another replica campaigns, or leads
	}
}

// stepsDown asks the first candidate to campaign. Later ticks ask the others.
func (e *Election) stepsDown(ev *ElectionEvent, r *ElectionResult) {
	e.stepDown.Store(&StepDown{Term: ev.Term, Candidates: ev.Candidates})
	e.askCandidate(r)
	r.Effects |= Unquiesce
}

// start begins the campaign of a replica that was dequeued.
func (e *Election) start(f *ElectionFacts, r *ElectionResult) {
	switch {
	case e.Candidacy() != Campaigning:
	case !e.needsLeader(f), e.isFull(f):
		e.leave(r)
	case !f.mayVote(), e.defers(f):
		e.leave(r)
		e.enqueue(f, campaignAgain, r)
	default:
		e.campaign(r)
	}
}

func (e *Election) tick(f *ElectionFacts, r *ElectionResult) {
	switch {
	case !e.needsLeader(f):
		e.leave(r)
	case e.stepDown.Load() != nil:
		if e.stepDown.Load().Due() {
			e.askCandidate(r)
		}
	case e.isFull(f):
	case e.ticks > 0:
		if e.ticks--; e.ticks == campaignTicks/2 && f.mayVote() {
			r.Effects |= Campaign
		}
		if e.ticks == 0 {
			e.leave(r)
			e.enqueue(f, campaignAgain, r)
		}
	case e.Candidacy() == NotCandidate:
		r.Effects |= ForgetLeader
		e.enqueue(f, 0, r)
	}
}

// callForVotes decides whether raft sees a call for votes (invariant 7). While the replica's store supports
// the leader's, the replica votes for nobody else. It does not vote at all before the support that its node
// gave in an earlier incarnation has certainly expired.
func (e *Election) callForVotes(ev *ElectionEvent, f *ElectionFacts, r *ElectionResult) {
	switch {
	case f.Promises == nil:
		return
	case !f.mayVote():
	case ev.Forced:
		e.deferred = f.Now
		return
	case !e.supportsOther(ev.From, f):
		r.Effects |= ForgetLeader // raft would follow the leader for a time of its own
		if !ev.PreVote {
			e.deferred = f.Now
		}
		return
	case f.Leading:
		r.Effects |= Heartbeat // the candidate does not know the leader: perhaps it has restarted
	}
	r.Effects |= Drop
	if ev.PreVote { // a refused vote gets no answer
		r.Effects |= RejectPreVote
	}
}

// supportsOther reports whether this store supports a leader other than the candidate.
func (e *Election) supportsOther(candidate kvpb.ReplicaID, f *ElectionFacts) bool {
	switch {
	case f.Promises == nil || f.Lead == candidate && f.Lead != 0:
		return false
	case f.Lead == 0:
		if e.split.Store == 0 || f.Term > lastSplitTerm {
			return false
		}
		d, ok := f.Desc.Replica(e.split.Store)
		return ok && d.Replica != candidate && f.Promises.Granted(e.split.Store).Epoch == e.split.Epoch
	case f.Lead == f.Self:
		return f.Serves
	}
	d, ok := f.Desc.ReplicaByID(f.Lead)
	return ok && e.Supports(f.Promises, d.Store)
}

// needsLeader reports whether the range needs a leader, as far as this replica knows.
func (e *Election) needsLeader(f *ElectionFacts) bool {
	return !f.Gone && !f.Leading && !e.supportsOther(f.Self, f)
}

// defers reports whether another replica is being elected. This one then waits, and ignores responses to
// its earlier MsgPreVote: its own later term would end the new leadership, and lose its row locks.
func (e *Election) defers(f *ElectionFacts) bool { return f.Now.Before(e.deferred.Add(campaignAgain)) }

// isFull reports whether the log was full a moment ago.
func (e *Election) isFull(f *ElectionFacts) bool {
	return !e.fullAt.IsZero() && f.Now.Sub(e.fullAt) < logFullBackoff
}

// leaderSupport returns the support that this node gives to the leader.
func (f *ElectionFacts) leaderSupport() liveness.Support {
	if d, ok := f.Desc.ReplicaByID(f.Lead); ok && f.Promises != nil {
		return f.Promises.Granted(d.Store)
	}
	return liveness.Support{}
}

// standing returns the Standing of a store.
func (f *ElectionFacts) standing(s kvpb.StoreID) Standing {
	switch {
	case f.Promises == nil:
		return Staying
	case !f.Promises.Supports(s):
		return Absent
	case f.Promises.Draining(s):
		return Leaving
	}
	return Staying
}

func (f *ElectionFacts) mayVote() bool { return f.Promises == nil || f.Promises.MayVote() }

func (e *Election) campaign(r *ElectionResult) {
	e.ticks = campaignTicks
	r.Effects |= ForgetLeader | Campaign // this store does not support the leader any more
}

// enqueue adds a voter to its store's queue, unless it is there already or campaigns.
func (e *Election) enqueue(f *ElectionFacts, wait time.Duration, r *ElectionResult) {
	rank, votes := Rank(f.Desc, f.Self, f.standing)
	if votes && !f.Gone && e.change(NotCandidate, Queued) {
		r.Effects |= Enqueue
		r.Rank, r.Wait = rank, wait
	}
}

// leave ends the campaign.
func (e *Election) leave(r *ElectionResult) {
	e.ticks = 0
	if e.change(Campaigning, NotCandidate) {
		r.Effects |= LeaveCampaign
	}
}

// askCandidate asks the next candidate to campaign. The replica's own leadership has ended, so it answers no
// reads any more.
func (e *Election) askCandidate(r *ElectionResult) {
	s := e.stepDown.Load()
	to, ok := s.Ask()
	if !ok {
		e.stepDown.Store(nil)
		return
	}
	r.Effects |= AskCandidate
	r.To, r.Term = to, s.Term
}

func (e *Election) change(from, to Candidacy) bool {
	return e.state.CompareAndSwap(int32(from), int32(to))
}
