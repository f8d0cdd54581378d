package lease

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/scripttest"
)

// TestElections runs the stories of testdata/elections. A step is a fact that changes, or an event at
// one replica, which is 1 on store 1 unless "range" says otherwise; its result are the effects and,
// where it changes, the candidacy.
func TestElections(t *testing.T) {
	scripttest.Walk(t, "testdata/elections", func(t *testing.T, d *datadriven.TestData) scripttest.Step {
		s := newElectionScript(t, d)
		return func(words []string) []string { return scripttest.Line(s.op(words)) }
	})
}

// promises are those of a node, by store.
type promises struct {
	epochs map[kvpb.StoreID]int64 // of the support that it gives
	incs   map[kvpb.StoreID]int64 // the incarnations of the nodes that it is given to
	early  bool                   // support of an earlier incarnation may last yet
	drain  map[kvpb.StoreID]bool  // stores whose nodes drain
}

func (p *promises) Draining(s kvpb.StoreID) bool { return p.drain[s] }
func (p *promises) Supports(s kvpb.StoreID) bool { return p.epochs[s] != 0 }
func (p *promises) Granted(s kvpb.StoreID) liveness.Support {
	if p.epochs[s] == 0 {
		return liveness.Support{}
	}
	return liveness.Support{Epoch: p.epochs[s], Incarnation: p.incs[s]}
}
func (p *promises) MayVote() bool { return !p.early }

type electionScript struct {
	script
	e        Election
	f        ElectionFacts
	promises promises
}

// newElectionScript makes a replica, whose id is self, of a range with three voters and a learner.
func newElectionScript(t *testing.T, d *datadriven.TestData) *electionScript {
	s := &electionScript{script: script{t: t}, promises: promises{epochs: map[kvpb.StoreID]int64{}, incs: map[kvpb.StoreID]int64{}, drain: map[kvpb.StoreID]bool{}}}
	s.script.op(strings.Fields("range 3 1v 2v 3v 4l"))
	s.f = ElectionFacts{Now: time.Unix(1000, 0), Desc: &s.desc, Self: 1, Promises: &s.promises, Term: 5}
	if d.HasArg("self") {
		d.ScanArgs(t, "self", &s.f.Self)
	}
	return s
}

func (s *electionScript) op(f []string) string {
	switch f[0] {
	case "supports": // supports STORE EPOCH, which is 0 if no longer
		s.promises.epochs[kvpb.StoreID(s.num(f[1]))] = s.num(f[2])
	case "drains": // drains STORE: its node
		s.promises.drain[kvpb.StoreID(s.num(f[1]))] = true
	case "incarnation": // incarnation STORE N: that of its node
		s.promises.incs[kvpb.StoreID(s.num(f[1]))] = s.num(f[2])
	case "answer": // the leader
		s.e.NoteAnswer(s.f.leaderSupport())
	case "restarted": // support of the earlier incarnation may last yet
		s.promises.early = f[1] == "just-now"
	case "advance": // advance MILLISECONDS
		s.f.Now = s.f.Now.Add(time.Duration(s.num(f[1])) * time.Millisecond)
	case "leader": // leader REPLICA TERM: what raft knows
		s.f.Lead, s.f.Term = kvpb.ReplicaID(s.num(f[1])), uint64(s.num(f[2]))
		s.f.Leading, s.f.Candidate = s.f.Lead == s.f.Self, false
		if s.f.Lead != 0 {
			return s.step(ElectionEvent{Type: KnowLeader})
		}
	case "candidate": // raft calls for votes in a term
		s.f.Lead, s.f.Leading, s.f.Candidate, s.f.Term = 0, false, true, uint64(s.num(f[1]))
	case "serves":
		s.f.Serves = f[1] == "yes"
	case "split-off": // split-off STORE EPOCH
		s.e.SplitOff(SplitLeader{Store: kvpb.StoreID(s.num(f[1])), Epoch: s.num(f[2])})
	case "ticks": // ticks N
		var out []string
		for n := range s.num(f[1]) {
			if got := s.step(ElectionEvent{Type: Tick}); got != "" {
				out = append(out, fmt.Sprintf("%d. %s", n+1, got))
			}
		}
		return strings.Join(out, "; ")
	default:
		return s.event(f)
	}
	return ""
}

var electionEvents = map[string]ElectionEventType{
	"need-leader": NeedLeader, "dequeue": Dequeued, "end-campaign": EndCampaign, "start": Start, "tick": Tick, "campaign-now": CampaignNow,
	"campaign-first": CampaignFirst, "vote": CallForVotes, "pre-vote": CallForVotes, "granted": Granted, "pre-granted": Granted,
	"refused": Refused, "timeout-now": TimeoutNow, "later-term": LaterTerm, "elected": Elected, "log-full": LogFull, "demoted": Demoted, "new-term": NewTerm,
}

// event takes in EVENT, with the replica it comes from; log-full and demoted TERM CANDIDATE...
func (s *electionScript) event(f []string) string {
	typ, ok := electionEvents[f[0]]
	if !ok {
		s.t.Fatalf("unknown event %q", f[0])
	}
	e := ElectionEvent{Type: typ, PreVote: strings.HasPrefix(f[0], "pre-"), Forced: f[len(f)-1] == "forced"}
	switch {
	case (typ == LogFull || typ == Demoted) && len(f) > 1:
		e.Term = uint64(s.num(f[1]))
		for _, id := range f[2:] {
			e.Candidates = append(e.Candidates, kvpb.ReplicaID(s.num(id)))
		}
	case len(f) > 1:
		e.From = kvpb.ReplicaID(s.num(f[1]))
	}
	got := s.step(e)
	if typ == CallForVotes && !strings.Contains(got, "drop") {
		return strings.TrimSpace("raft decides " + got)
	}
	return got
}

func (s *electionScript) step(e ElectionEvent) string {
	before := s.e.Candidacy()
	r := s.e.Step(&e, &s.f)
	out := r.Effects.String()
	if r.Effects.Has(Enqueue) {
		out += fmt.Sprintf(" after %v, behind %d others", r.Wait, r.Rank)
	}
	if r.Effects.Has(AskCandidate) {
		out += fmt.Sprintf(" to %d in term %d", r.To, r.Term)
	}
	if now := s.e.Candidacy(); now != before {
		out += " → " + now.String()
	}
	return strings.TrimSpace(out)
}
