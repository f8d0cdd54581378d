package placement

import (
	"fmt"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Trouble says of which kind a Problem is.
type Trouble uint8

// The kinds of problems, the worst first.
const (
	LostQuorum      Trouble = iota // it can't be read or written
	UnderReplicated                // fewer voters than asked for are alive
	Unsatisfiable                  // no placement on these nodes would meet the constraints
	Misplaced                      // a constraint is broken
	Leaving                        // a replica is where it can't stay
	LeaderElsewhere                // the leader is not where it is preferred
)

var troubleNames = [...]string{"unavailable", "under-replicated", "unsatisfiable", "misplaced", "leaving", "leader elsewhere"}

func (t Trouble) String() string {
	if int(t) < len(troubleNames) {
		return troubleNames[t]
	}
	return fmt.Sprintf("trouble %d", uint8(t))
}

// Problem is something about the placement of a range that is not as it should be.
type Problem struct {
	Kind Trouble
	Text string // for people
}

// Problems lists what is not as z asks about the replicas of desc and its leader (0:
// not known), and what no placement could mend. Unlike Decide it needs to know nothing
// from the leader.
func (c *Cluster) Problems(desc *kvpb.RangeDescriptor, leader kvpb.StoreID, z *zone.Config) []Problem {
	var out []Problem
	add := func(k Trouble, format string, args ...any) {
		out = append(out, Problem{Kind: k, Text: fmt.Sprintf(format, args...)})
	}
	g := goalOf(c, z)
	if c.spare(desc) < 0 {
		add(LostQuorum, "too few of its voters answer")
	}
	voters, learners, alive := c.members(desc)
	if alive < g.voters {
		add(UnderReplicated, "has %d of %d voters", alive, g.voters)
	}
	for _, s := range voters {
		switch {
		case s.dead:
			add(Leaving, "s%d is dead", s.ID)
		case s.State == Down:
			add(Leaving, "s%d is down", s.ID)
		case s.Decommissioning:
			add(Leaving, "s%d is being decommissioned", s.ID)
		}
	}
	out = append(out, c.violations(g, "constraints", g.constraints, append(voters[:len(voters):len(voters)], learners...), g.voters+g.learners)...)
	out = append(out, c.violations(g, "voter_constraints", g.voterConstraints, voters, g.voters)...)
	if s, ok := c.byID[leader]; ok && len(g.lease) > 0 {
		if rank := g.leaseRank(s); rank > 0 {
			if best := c.bestLease(g); best < rank {
				add(LeaderElsewhere, "the leader on s%d is not at %s", s.ID, describe(g.lease[best]))
			} else if rank == len(g.lease) {
				add(Unsatisfiable, "no live node meets lease_preferences")
			}
		}
	}
	return out
}

// members sorts the replicas that will stay, and counts the voters that are not dead.
func (c *Cluster) members(desc *kvpb.RangeDescriptor) (voters, learners []*store, alive int) {
	for _, r := range desc.Replicas {
		s := c.lookup(r.Store, r.Node)
		switch r.Type {
		case kvpb.Learner:
			learners = append(learners, s)
		case kvpb.Voter, kvpb.VoterIncoming:
			if voters = append(voters, s); !s.dead {
				alive++
			}
		case kvpb.VoterOutgoing, kvpb.LearnerOutgoing:
		}
	}
	return voters, learners, alive
}

// violations lists the constraints of a variable that the stores of a range violate. of is how many
// replicas the variable is about.
func (c *Cluster) violations(g goal, variable string, list []zone.Conjunction, at []*store, of int) []Problem {
	var out []Problem
	for _, r := range list {
		want, need, have := r.NumReplicas, r.NumReplicas, 0
		if want == 0 { // on all replicas
			want, need = len(at), of
		}
		for _, s := range at {
			if meets(s, r.Constraints) {
				have++
			}
		}
		if can := c.nodesMeeting(r.Constraints); can < need {
			out = append(out, Problem{Unsatisfiable, fmt.Sprintf("%s: %d live nodes meet %s, %d replicas must",
				variable, can, describe(r.Constraints), need)})
			continue
		}
		if have < want {
			out = append(out, Problem{Misplaced, fmt.Sprintf("%s: %d of %d replicas meet %s", variable, have, want, describe(r.Constraints))})
		}
	}
	return out
}

// nodesMeeting counts the nodes with a store that may hold replicas and meets cs.
func (c *Cluster) nodesMeeting(cs []zone.Constraint) int {
	nodes := map[kvpb.NodeID]bool{}
	for _, s := range c.stores {
		if s.available() && !s.Decommissioning && meets(s, cs) {
			nodes[s.Node] = true
		}
	}
	return len(nodes)
}

// bestLease is the first leader preference that a live store meets.
func (c *Cluster) bestLease(g goal) int {
	best := len(g.lease)
	for _, s := range c.stores {
		if s.available() && !s.Decommissioning {
			best = min(best, g.leaseRank(s))
		}
	}
	return best
}
