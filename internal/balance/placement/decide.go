package placement

import (
	"fmt"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxReplicas sizes scratch space for sets; larger sets work and allocate.
const maxReplicas = 16

// decision is the state of one call of Decide.
type decision struct {
	c        *Cluster
	r        *Range
	goal     goal
	voters   []*store // when no joint change is under way
	learners []*store
	leader   *store // nil if not known
	blocked  string // the most pressing thing that can't be done
}

// steps lists what is looked at, the most pressing first. A step answers with an
// action or leaves it to the next ones.
var steps = [...]func(*decision) (Action, bool){
	(*decision).lostQuorum,
	(*decision).finishJoint,
	(*decision).vacateLeader,
	(*decision).relieveLeader,
	(*decision).addVoter,
	(*decision).replaceDead,
	(*decision).replaceDecommissioning,
	(*decision).removeSurplus,
	(*decision).comply,
	(*decision).tendLearners,
	(*decision).preferLeader,
	(*decision).rebalanceVoters,
	(*decision).rebalanceLearners,
	(*decision).balanceLeader,
}

// Decide returns the next action for a range, None if it is well placed. z is the
// configuration with everything inherited filled in.
func (c *Cluster) Decide(r *Range, z *zone.Config) Action {
	d := c.newDecision(r, z)
	for _, step := range steps {
		if a, ok := step(d); ok {
			a.Blocked = d.blocked
			return a
		}
	}
	return Action{Reason: d.blocked, Blocked: d.blocked}
}

func (c *Cluster) newDecision(r *Range, z *zone.Config) *decision {
	d := &decision{c: c, r: r, goal: goalOf(c, z)}
	for _, rep := range r.Desc.Replicas {
		s := c.lookup(rep.Store, rep.Node)
		if rep.Store == r.Leader {
			d.leader = s
		}
		switch rep.Type {
		case kvpb.Learner:
			d.learners = append(d.learners, s)
		case kvpb.Voter, kvpb.VoterIncoming, kvpb.VoterOutgoing:
			d.voters = append(d.voters, s)
		case kvpb.LearnerOutgoing: // finishJoint comes first
		}
	}
	return d
}

// block notes why a step can do nothing; the first step's reason stays.
func (d *decision) block(format string, args ...any) (Action, bool) {
	if d.blocked == "" {
		d.blocked = fmt.Sprintf(format, args...)
	}
	return Action{}, false
}

func target(s *store) Target { return Target{Node: s.Node, Store: s.ID} }

// lostQuorum reports a range of which too few voters answer, counting both halves
// of a joint configuration.
func (d *decision) lostQuorum() (Action, bool) {
	var n, up [2]int
	for _, rep := range d.r.Desc.Replicas {
		var halves [2]bool // before and after the joint change
		switch rep.Type {
		case kvpb.Voter:
			halves = [2]bool{true, true}
		case kvpb.VoterOutgoing:
			halves = [2]bool{true, false}
		case kvpb.VoterIncoming:
			halves = [2]bool{false, true}
		case kvpb.Learner, kvpb.LearnerOutgoing:
		}
		for i, in := range halves {
			if !in {
				continue
			}
			n[i]++
			if d.c.lookup(rep.Store, rep.Node).available() {
				up[i]++
			}
		}
	}
	for i := range n {
		if up[i] < Quorum(n[i]) {
			why := fmt.Sprintf("lost its quorum: %d of %d voters answer, %d must", up[i], n[i], Quorum(n[i]))
			return Action{Kind: Unavailable, Class: Repair, Priority: prioFinish, Reason: why}, true
		}
	}
	return Action{}, false
}

func (d *decision) finishJoint() (Action, bool) {
	if d.r.Desc.ChangingReplicas() {
		return Action{Kind: FinishJoint, Class: Repair, Priority: prioFinish, Reason: "a joint change was left unfinished"}, true
	}
	return Action{}, false
}

// healthy counts the stores of a set that answer and are caught up.
func (d *decision) healthy(set []*store) int {
	n := 0
	for _, s := range set {
		if s.available() && d.r.caughtUp(s.ID, d.c.params.MaxBehind) {
			n++
		}
	}
	return n
}

// safe reports whether the voters stay a working group when from leaves and to,
// which is brought up to date first, comes; either may be nil.
func (d *decision) safe(from, to *store) bool {
	if d.healthy(d.voters) < Quorum(len(d.voters)) {
		return false // a joint change would not end soon
	}
	var buf [maxReplicas]*store
	after := with(buf[:0], d.voters, from, nil)
	n, ok := len(after), d.healthy(after)
	if to != nil {
		n, ok = n+1, ok+1
	}
	return n > 0 && ok >= Quorum(n)
}

func (d *decision) learnsAt(s *store) bool {
	for _, l := range d.learners {
		if l == s {
			return true
		}
	}
	return false
}

// holdsOnNode reports whether a node has a replica of the range.
func (d *decision) holdsOnNode(n kvpb.NodeID) bool {
	for _, rep := range d.r.Desc.Replicas {
		if rep.Node == n {
			return true
		}
	}
	return false
}

// mayReceive says why a store can't get a new replica, "" if it can. With promote a
// learner of the range may become a voter.
func (d *decision) mayReceive(s *store, voter, promote, repair bool) string {
	if d.holdsOnNode(s.Node) && !(promote && d.learnsAt(s)) {
		return "on a node that holds the range already"
	}
	if why := d.c.refuses(s, d.r.Size, repair); why != "" {
		return why
	}
	if cs := violated(s, d.goal.constraints); cs != nil {
		return "outside " + describe(cs)
	}
	if cs := violated(s, d.goal.voterConstraints); voter && cs != nil {
		return "outside " + describe(cs)
	}
	return ""
}

// siblings lists the other stores of a replica's node that can take it over in one
// change, so that the node never keeps two.
func (d *decision) siblings(from *store, repair bool) []*store {
	if from == d.leader {
		if next := d.successor(); next == nil || d.goal.leaseRank(next) > d.goal.leaseRank(from) {
			return nil // it would have to stay until the other one leads
		}
	}
	var to []*store
	for _, s := range d.c.stores {
		if s != from && s.Node == from.Node && !d.holdsAt(s) && d.c.refuses(s, d.r.Size, repair) == "" {
			to = append(to, s)
		}
	}
	return to
}

// holdsAt reports whether a store has a replica of the range.
func (d *decision) holdsAt(s *store) bool {
	_, ok := d.r.Desc.Replica(s.ID)
	return ok
}

// receivers lists the stores that can get a new replica.
func (d *decision) receivers(voter, promote, repair bool) []*store {
	var to []*store
	for _, s := range d.c.stores {
		if d.mayReceive(s, voter, promote, repair) == "" {
			to = append(to, s)
		}
	}
	return to
}

// whyNoReceiver tells for people why no store can get a new replica.
func (d *decision) whyNoReceiver(voter, promote bool) string {
	counts := map[string]int{}
	var order []string
	free := 0
	for _, s := range d.c.stores {
		why := d.mayReceive(s, voter, promote, true)
		switch {
		case s.State == Gone:
			continue
		case why == "":
			free++
			continue
		case counts[why] == 0:
			order = append(order, why)
		}
		counts[why]++
	}
	msg := "no store can take it"
	sep := ": "
	for _, why := range order {
		msg += fmt.Sprintf("%s%d %s", sep, counts[why], why)
		sep = ", "
	}
	if free > 0 {
		msg += fmt.Sprintf("%s%d would break a placement constraint", sep, free)
	}
	return msg
}

// bestReceiver chooses among to the store that serves best as a voter (or learner)
// in place of from (nil: in addition), breaking no further constraint; nil if none.
func (d *decision) bestReceiver(from *store, voter bool, to []*store) (*store, score) {
	now := d.score(d.voters, d.learners)
	var best *store
	var bestScore score
	for _, s := range to {
		sc := d.scoreWith(from, s, voter)
		if sc.violations > now.violations {
			continue
		}
		c := 1
		if best != nil {
			c = sc.compare(bestScore)
		}
		if c > 0 || c == 0 && d.roomier(s, best) {
			best, bestScore = s, sc
		}
	}
	return best, bestScore
}

// scoreWith is the score after from left and to came, each of which may be nil.
func (d *decision) scoreWith(from, to *store, voter bool) score {
	var vb, lb [maxReplicas]*store
	if voter {
		return d.score(with(vb[:0], d.voters, from, to), with(lb[:0], d.learners, to, nil))
	}
	return d.score(d.voters, with(lb[:0], d.learners, from, to))
}
