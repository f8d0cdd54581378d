package placement

import "cmp"

// diversityEpsilon hides rounding of sums of distances.
const diversityEpsilon = 1e-6

// score says how well a set of replicas meets its goal. The fields are listed by
// weight.
type score struct {
	violations, lacking int
	voterDiversity      float64
	leaseRank           int
	diversity           float64
}

// compare is positive if a is better than b. Sets of different size have no
// comparable diversity.
func (a score) compare(b score) int {
	if c := cmp.Compare(b.violations, a.violations); c != 0 {
		return c
	}
	if c := cmp.Compare(b.lacking, a.lacking); c != 0 {
		return c
	}
	if c := compareClose(a.voterDiversity, b.voterDiversity); c != 0 {
		return c
	}
	if c := cmp.Compare(b.leaseRank, a.leaseRank); c != 0 {
		return c
	}
	return compareClose(a.diversity, b.diversity)
}

func compareClose(a, b float64) int {
	switch {
	case a > b+diversityEpsilon:
		return 1
	case a < b-diversityEpsilon:
		return -1
	}
	return 0
}

// distance is how far apart two stores are: 1 if they share no tier, 0 if all.
func distance(a, b *store) float64 {
	n := max(len(a.path), len(b.path))
	if n == 0 {
		return 0
	}
	shared := 0
	for shared < min(len(a.path), len(b.path)) && a.path[shared] == b.path[shared] {
		shared++
	}
	return 1 - float64(shared)/float64(n)
}

// spread sums the distances of all pairs within a, and between a and b.
func spread(a, b []*store) float64 {
	sum := 0.0
	for i, s := range a {
		for _, t := range a[i+1:] {
			sum += distance(s, t)
		}
		for _, t := range b {
			sum += distance(s, t)
		}
	}
	return sum
}

func (d *decision) score(voters, learners []*store) score {
	var s score
	s.violations, s.lacking = d.goal.violations(voters, learners)
	s.voterDiversity = spread(voters, nil)
	s.diversity = s.voterDiversity
	if len(learners) > 0 && len(d.learners) <= d.goal.learners { // else some of them are about to go
		s.diversity += spread(learners, voters)
	}
	s.leaseRank = len(d.goal.lease)
	for _, v := range voters {
		s.leaseRank = min(s.leaseRank, d.goal.leaseRank(v))
	}
	return s
}

// with copies set into buf, without from (nil: nothing leaves) and with to (nil:
// nothing comes).
func with(buf, set []*store, from, to *store) []*store {
	buf = buf[:0]
	for _, s := range set {
		if s != from && s != to {
			buf = append(buf, s)
		}
	}
	if to != nil {
		buf = append(buf, to)
	}
	return buf
}

// roomier orders receivers that would serve a range equally well.
func (d *decision) roomier(a, b *store) bool {
	full := func(s *store) bool { return s.Capacity.fraction(d.r.Size) >= d.c.params.FullAt }
	if full(a) != full(b) {
		return full(b)
	}
	if la, lb := d.learnsAt(a), d.learnsAt(b); la != lb {
		return la // has the data already
	}
	if c := cmp.Compare(a.Capacity.Ranges, b.Capacity.Ranges); c != 0 {
		return c < 0
	}
	if c := compareClose(a.Capacity.fraction(0), b.Capacity.fraction(0)); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}
