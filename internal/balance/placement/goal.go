package placement

import (
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
)

const defaultReplicas = 3

// voterWeight makes a broken voter constraint count more than any number of broken
// replica constraints: learners can mend the latter, so mending the former first
// never gets stuck.
const voterWeight = 64

// goal is what a zone configuration asks of a range.
type goal struct {
	voters, learners int // as configured
	needVoters       int // that the nodes of the cluster suffice for
	needLearners     int
	constraints      []zone.Conjunction
	voterConstraints []zone.Conjunction
	lease            [][]zone.Constraint
}

func goalOf(c *Cluster, z *zone.Config) goal {
	replicas := defaultReplicas
	if z.NumReplicas != nil {
		replicas = max(1, *z.NumReplicas)
	}
	g := goal{voters: replicas, constraints: z.Constraints, voterConstraints: z.VoterConstraints, lease: z.LeasePreferences}
	if z.NumVoters != nil {
		g.voters = min(max(1, *z.NumVoters), replicas)
	}
	g.learners = replicas - g.voters
	g.needVoters = g.voters
	if c.nodes < g.voters {
		// Fewer nodes than voters: an odd number, as an even one tolerates no more.
		g.needVoters = max(1, c.nodes-1+c.nodes%2)
	}
	g.needLearners = min(g.learners, max(0, c.nodes-g.needVoters))
	return g
}

// meets reports whether a store meets all constraints.
func meets(s *store, cs []zone.Constraint) bool {
	for _, c := range cs {
		has := false
		for _, t := range s.Locality {
			if t.Key == c.Key && t.Value == c.Value {
				has = true
				break
			}
		}
		if has == c.Prohibited {
			return false
		}
	}
	return true
}

// violated returns the first constraint on all replicas that a store violates, or nil.
func violated(s *store, list []zone.Conjunction) []zone.Constraint {
	for _, r := range list {
		if r.NumReplicas == 0 && !meets(s, r.Constraints) {
			return r.Constraints
		}
	}
	return nil
}

// unmet counts replicas that violate a constraint on all, and those that counted constraints
// lack.
func unmet(list []zone.Conjunction, a, b []*store) (broken, lacking int) {
	for _, r := range list {
		n := 0
		for _, s := range a {
			if meets(s, r.Constraints) {
				n++
			}
		}
		for _, s := range b {
			if meets(s, r.Constraints) {
				n++
			}
		}
		if r.NumReplicas == 0 {
			broken += len(a) + len(b) - n
		} else {
			lacking += max(0, r.NumReplicas-n)
		}
	}
	return broken, lacking
}

// violations weighs the constraints that a set of replicas breaks, counting that
// replicas still to come can meet counted constraints; lacking is what they would have to.
func (g *goal) violations(voters, learners []*store) (weight, lacking int) {
	if len(g.constraints) == 0 && len(g.voterConstraints) == 0 {
		return 0, 0
	}
	toComeVoters := max(0, g.voters-len(voters))
	toCome := toComeVoters + max(0, g.learners-len(learners))
	b, l := unmet(g.constraints, voters, learners)
	bv, lv := unmet(g.voterConstraints, voters, nil)
	return b + max(0, l-toCome) + voterWeight*(bv+max(0, lv-toComeVoters)), l + voterWeight*lv
}

// leaseRank is the place of the first leader preference that a store meets.
func (g *goal) leaseRank(s *store) int {
	for i, p := range g.lease {
		if meets(s, p) {
			return i
		}
	}
	return len(g.lease)
}

func describe(cs []zone.Constraint) string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		sign := "+"
		if c.Prohibited {
			sign = "-"
		}
		parts[i] = sign + c.Key + "=" + c.Value
	}
	return strings.Join(parts, ",")
}
