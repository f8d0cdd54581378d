package placement

import "fmt"

// addVoter brings the range to the number of voters that it should have.
func (d *decision) addVoter() (Action, bool) {
	have := len(d.voters)
	if have >= d.goal.needVoters {
		return Action{}, false
	}
	best, to := d.newVoter(nil)
	if best == nil {
		return d.block("has %d of %d voters and %s", have, d.goal.needVoters, d.whyNoReceiver(true, true))
	}
	// An even number of voters tolerates no more failures than one less and needs
	// one more to agree: it is only a step to the next odd number.
	if (have+1)%2 == 0 && have+1 < d.goal.needVoters && !d.canAddAfter(best, to) {
		return d.block("has %d of %d voters and only one store can take another", have, d.goal.needVoters)
	}
	if !d.safe(nil, best) {
		return d.block("has %d of %d voters, too few of them up to date to add another", have, d.goal.needVoters)
	}
	return Action{Kind: AddVoter, To: target(best), Class: Repair, Priority: prioUnder + 10*(d.goal.needVoters-have),
		Reason: fmt.Sprintf("has %d of %d voters", have, d.goal.needVoters)}, true
}

// newVoter finds a store for a voter that comes in place of from (nil: in addition),
// and the stores among which it was chosen. A learner becomes one if it is a voter on
// its way, which shows in that there are more than asked for, or if no other store
// can take it.
func (d *decision) newVoter(from *store) (*store, []*store) {
	for _, promote := range [...]bool{len(d.learners) > d.goal.needLearners, true} {
		to := d.receivers(true, promote, true)
		if from != nil {
			to = append(to, d.siblings(from, true)...)
		}
		if best, _ := d.bestReceiver(from, true, to); best != nil {
			return best, to
		}
	}
	return nil, nil
}

// canAddAfter reports whether a further voter finds a place once first was added.
func (d *decision) canAddAfter(first *store, to []*store) bool {
	next := *d
	next.voters = append(append([]*store(nil), d.voters...), first)
	var rest []*store
	for _, s := range to {
		if s.Node != first.Node {
			rest = append(rest, s)
		}
	}
	second, _ := next.bestReceiver(nil, true, rest)
	return second != nil
}

func (d *decision) replaceDead() (Action, bool) {
	dead := 0
	for _, s := range d.voters {
		if s.dead {
			dead++
		}
	}
	for _, s := range d.voters {
		if !s.dead {
			continue
		}
		prio := prioDead + 10*dead
		if a, ok := d.relieve(s, prio, fmt.Sprintf("s%d is dead", s.ID)); ok {
			return a, true
		}
	}
	return Action{}, false
}

func (d *decision) replaceDecommissioning() (Action, bool) {
	for _, s := range d.voters {
		if s.leaving() {
			if a, ok := d.relieve(s, prioDecommission, fmt.Sprintf("s%d is being decommissioned", s.ID)); ok {
				a.Patient = true
				return a, true
			}
		}
	}
	return Action{}, false
}

// relieve moves a voter off a store that can't keep it, or drops it if the range
// has voters enough.
func (d *decision) relieve(from *store, prio int, why string) (Action, bool) {
	if len(d.voters) > d.goal.needVoters {
		return d.removeVoter(from, prio, Repair, why)
	}
	best, _ := d.newVoter(from)
	if best == nil {
		return d.block("%s and %s", why, d.whyNoReceiver(true, true))
	}
	return d.replaceVoter(from, best, prio, Repair, why)
}

// replaceVoter exchanges a voter; one that leads hands over leadership first.
func (d *decision) replaceVoter(from, to *store, prio int, class Class, why string) (Action, bool) {
	a := Action{Kind: ReplaceVoter, From: target(from), To: target(to), Class: class, Priority: prio, Reason: why}
	if from == d.leader {
		next := d.successor()
		rank := d.goal.leaseRank(from)
		switch {
		case next != nil && d.goal.leaseRank(next) > rank && d.goal.leaseRank(to) <= rank && d.safe(nil, to):
			// Only the receiver may lead as well as from does; else leadership would
			// be drawn back to from before the replica could move.
			a.Kind = AddVoter
			a.Reason = why + fmt.Sprintf("; s%d leaves when the next one leads", from.ID)
			return a, true
		case next != nil:
			a.Kind, a.To = TransferLeader, target(next)
			a.Reason = why + fmt.Sprintf("; leadership goes first, the replica to s%d next", to.ID)
			return a, true
		case len(d.voters) == 1 && class == Balance && d.goal.voters > 1:
			return Action{}, false // more nodes must come; then it gets more voters anyway
		case len(d.voters) == 1:
			a.Kind = AddVoter
			a.Reason = why + "; the only replica leaves when the next one leads"
			return a, true
		default:
			return d.block("%s; it leads and no other replica can", why)
		}
	}
	if !d.safe(from, to) {
		return d.block("%s; too few other replicas are up to date", why)
	}
	return a, true
}

// removeVoter drops a voter; one that leads hands over leadership first.
func (d *decision) removeVoter(from *store, prio int, class Class, why string) (Action, bool) {
	if !d.safe(from, nil) {
		return d.block("%s; too few other replicas are up to date", why)
	}
	a := Action{Kind: RemoveVoter, From: target(from), Class: class, Priority: prio, Reason: why}
	if from == d.leader {
		next := d.successor()
		if next == nil {
			return d.block("%s; it leads and no other replica can", why)
		}
		a.Kind, a.To = TransferLeader, target(next)
		a.Reason = why + "; leadership goes first"
	}
	return a, true
}

// removeSurplus drops the voter that is missed least.
func (d *decision) removeSurplus() (Action, bool) {
	have := len(d.voters)
	if have <= d.goal.voters {
		return Action{}, false
	}
	var worst *store
	var left score
	for _, s := range d.voters {
		if !d.safe(s, nil) || s == d.leader && d.successor() == nil {
			continue
		}
		sc := d.scoreWith(s, nil, true)
		if worst == nil || d.missedLess(s, sc, worst, left) {
			worst, left = s, sc
		}
	}
	why := fmt.Sprintf("has %d voters, %d are asked for", have, d.goal.voters)
	if worst == nil {
		return d.block("%s; too few of them are up to date to remove one", why)
	}
	return d.removeVoter(worst, prioSurplus, Repair, why)
}

// missedLess reports whether a range that loses a, and scores sa then, is better off
// than one that loses b.
func (d *decision) missedLess(a *store, sa score, b *store, sb score) bool {
	if a.available() != b.available() {
		return !a.available()
	}
	if a.Decommissioning != b.Decommissioning {
		return a.Decommissioning
	}
	if c := sa.compare(sb); c != 0 {
		return c > 0
	}
	if a.Draining != b.Draining {
		return a.Draining
	}
	if a.Capacity.Ranges != b.Capacity.Ranges {
		return a.Capacity.Ranges > b.Capacity.Ranges
	}
	if (a == d.leader) != (b == d.leader) {
		return b == d.leader
	}
	return a.ID > b.ID
}
