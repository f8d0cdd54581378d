package placement

import "fmt"

// uneven reports whether moving one unit from a store that has a to one that has b
// is due: one of them lies outside the band around the mean, the other on the other
// side of it, and b does not end up above a.
func uneven(a, b, mean, band float64) bool {
	return a-b >= 2 && (a > mean*(1+band) && b < mean || b < mean*(1-band) && a > mean)
}

// staysEven reports whether no unit has to move back after one moved from a to b.
func staysEven(a, b, mean, band float64) bool {
	return !uneven(b+1, a-1, mean, band/2) && (b+1 <= mean*(1+band/2) || b+1 <= a) &&
		(a-1 >= mean*(1-band/2) || a-1 >= b)
}

// worthMoving reports whether load should go from a store that bears a to one that
// bears b: a lies above the band and b ends inside it.
func worthMoving(a, b, load, mean, band float64) bool {
	return load > 0 && a > mean*(1+band) && b < mean && b+load <= mean*(1+band) && b+load < a
}

// headroom is how many units should move in all.
func headroom(a, b, mean float64) float64 { return max(min(a-mean, mean-b), 0.5) }

// least returns the store of to with the least value and the mean over it and from.
func least(from *store, to []*store, value func(*store) float64) (best *store, mean float64) {
	sum := value(from)
	for _, s := range to {
		v := value(s)
		sum += v
		if best == nil || v < value(best) {
			best = s
		}
	}
	return best, sum / float64(len(to)+1)
}

func (d *decision) rebalanceVoters() (Action, bool)   { return d.rebalance(d.voters, true) }
func (d *decision) rebalanceLearners() (Action, bool) { return d.rebalance(d.learners, false) }

// move is an exchange of a replica with the stores that would hold it as well.
type move struct {
	from  *store
	equal []*store
}

// rebalance moves a replica to a better place, off a disk that fills up, or to
// where there are fewer or less busy ones.
func (d *decision) rebalance(set []*store, voter bool) (Action, bool) {
	if len(set) == 0 || d.healthy(d.voters) < len(d.voters) {
		return Action{}, false // a range that misses a voter waits
	}
	others := d.receivers(voter, false, false)
	now := d.score(d.voters, d.learners)
	best := now
	var from, dest *store
	moves := make([]move, 0, len(set))
	for _, s := range set {
		if !s.available() {
			continue
		}
		m := move{from: s} // a suspect one gives as well: each leader takes its own store for live
		to := append(others[:len(others):len(others)], d.siblings(s, false)...)
		for _, t := range to {
			if s == d.leader && !d.mayVacate(t) {
				continue
			}
			sc := d.scoreWith(s, t, voter)
			if c := sc.compare(best); c > 0 || c == 0 && dest != nil && from == s && d.roomier(t, dest) {
				from, dest, best = s, t, sc
			}
			if sc.compare(now) == 0 {
				m.equal = append(m.equal, t)
			}
		}
		if len(m.equal) > 0 {
			moves = append(moves, m)
		}
	}
	if dest != nil {
		return d.exchange(voter, from, dest, prioImprove, Balance, 1, "spreads replicas further apart or nearer to the preferred leader")
	}
	for _, f := range [...]func([]move, bool) (Action, bool){d.shedDisk, d.evenDisk, d.evenCount, d.evenLoad} {
		if a, ok := f(moves, voter); ok {
			return a, true
		}
	}
	return Action{}, false
}

// mayVacate reports whether the leader's replica could move to a store and leadership
// would not be drawn back to it before.
func (d *decision) mayVacate(to *store) bool {
	if len(d.voters) == 1 {
		return true
	}
	next, rank := d.successor(), d.goal.leaseRank(d.leader)
	return next != nil && (d.goal.leaseRank(next) <= rank || d.goal.leaseRank(to) <= rank)
}

// exchange replaces a voter or learner.
func (d *decision) exchange(voter bool, from, to *store, prio int, class Class, room float64, why string) (Action, bool) {
	a := Action{Kind: ReplaceLearner, From: target(from), To: target(to), Class: class, Priority: prio, Reason: why}
	if voter {
		var ok bool
		if a, ok = d.replaceVoter(from, to, prio, class, why); !ok {
			return a, false
		}
	}
	a.Headroom = room
	return a, true
}

// shedDisk moves a replica off a disk that is nearly full.
func (d *decision) shedDisk(moves []move, voter bool) (Action, bool) {
	p := &d.c.params
	var from, to *store
	for _, m := range moves {
		if m.from.Capacity.fraction(0) < p.ShedAt || from != nil && m.from.Capacity.fraction(0) <= from.Capacity.fraction(0) {
			continue
		}
		t, _ := least(m.from, m.equal, func(s *store) float64 { return s.Capacity.fraction(0) })
		from, to = m.from, t
	}
	if from == nil {
		return Action{}, false
	}
	return d.exchange(voter, from, to, prioDisk, Comply, 1, fmt.Sprintf("the disk of s%d is %.0f %% full, that of s%d %.0f %%",
		from.ID, 100*from.Capacity.fraction(0), to.ID, 100*to.Capacity.fraction(0)))
}

// evenDisk moves a replica off a disk that is crowded to one that is less so.
func (d *decision) evenDisk(moves []move, voter bool) (Action, bool) {
	p := &d.c.params
	var from, to *store
	for _, m := range moves {
		used := m.from.Capacity.fraction(0)
		if used <= p.CrowdedAt || from != nil && used <= from.Capacity.fraction(0) {
			continue
		}
		t, _ := least(m.from, m.equal, func(s *store) float64 { return s.Capacity.fraction(d.r.Size) })
		if t.Capacity.fraction(d.r.Size) < used-p.DiskBand {
			from, to = m.from, t
		}
	}
	if from == nil {
		return Action{}, false
	}
	return d.exchange(voter, from, to, prioSpace, Balance, 1, fmt.Sprintf("the disk of s%d is %.0f %% full, that of s%d %.0f %%",
		from.ID, 100*from.Capacity.fraction(0), to.ID, 100*to.Capacity.fraction(0)))
}

// evenDiskShare is the part of Params.DiskBand by which disks may differ and still count as
// equally full: those of stores that share a disk differ by what was written between two
// measurements.
const evenDiskShare = 0.2

// roomy leaves of the stores that could take over a replica those whose disks that
// would not crowd, or no more than where it is.
func (d *decision) roomy(m move) []*store {
	p := &d.c.params
	limit := p.CrowdedAt
	if used := m.from.Capacity.fraction(0); used > limit {
		limit = used + evenDiskShare*p.DiskBand
	}
	var out []*store
	for _, t := range m.equal {
		if t.Capacity.fraction(d.r.Size) <= limit {
			out = append(out, t)
		}
	}
	return out
}

// evenCount moves a replica from a store that has more than the mean to one that
// has fewer.
func (d *decision) evenCount(moves []move, voter bool) (Action, bool) {
	count := func(s *store) float64 { return float64(s.Capacity.Ranges) }
	var from, to *store
	var useful float64
	for _, m := range moves {
		room := d.roomy(m)
		if len(room) == 0 {
			continue
		}
		t, mean := least(m.from, room, count)
		if !uneven(count(m.from), count(t), mean, d.c.params.Band) || !d.better(m.from, t, from, to) {
			continue
		}
		from, to, useful = m.from, t, headroom(count(m.from), count(t), mean)
	}
	if from == nil {
		return Action{}, false
	}
	return d.exchange(voter, from, to, prioCount, Balance, useful,
		fmt.Sprintf("s%d has %d replicas, s%d %d", from.ID, from.Capacity.Ranges, to.ID, to.Capacity.Ranges))
}

// better orders exchanges by how much they even out; one that leaves the leader
// alone goes before one that does not.
func (d *decision) better(from, to, oldFrom, oldTo *store) bool {
	if oldFrom == nil {
		return true
	}
	gain := from.Capacity.Ranges - to.Capacity.Ranges
	old := oldFrom.Capacity.Ranges - oldTo.Capacity.Ranges
	return gain > old || gain == old && oldFrom == d.leader
}

// evenLoad moves a replica from a store that writes much to one that writes little,
// where the counts allow it.
func (d *decision) evenLoad(moves []move, voter bool) (Action, bool) {
	p := &d.c.params
	load := func(s *store) float64 { return s.Capacity.WriteBytes }
	count := func(s *store) float64 { return float64(s.Capacity.Ranges) }
	for _, m := range moves {
		room := d.roomy(m)
		if len(room) == 0 {
			continue
		}
		t, mean := least(m.from, room, load)
		_, meanCount := least(m.from, room, count)
		if mean < p.MinWriteBytes || m.from == d.leader ||
			!worthMoving(load(m.from), load(t), d.r.WriteBytes, mean, p.LoadBand) ||
			!staysEven(count(m.from), count(t), meanCount, p.Band) {
			continue
		}
		return d.exchange(voter, m.from, t, prioLoad, Balance, headroom(load(m.from), load(t), mean)/d.r.WriteBytes,
			fmt.Sprintf("s%d writes %.0f bytes/s, s%d %.0f", m.from.ID, load(m.from), t.ID, load(t)))
	}
	return Action{}, false
}
