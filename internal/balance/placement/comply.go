package placement

import "fmt"

// comply moves a replica so that fewer constraints are broken.
func (d *decision) comply() (Action, bool) {
	now := d.score(d.voters, d.learners)
	if now.violations == 0 {
		return Action{}, false
	}
	const why = "breaks a placement constraint"
	if from, to := d.mend(d.voters, true, now); to != nil {
		if a, ok := d.replaceVoter(from, to, prioComply, Comply, why); ok {
			return a, true
		}
	}
	if from, to := d.mend(d.learners, false, now); to != nil {
		return Action{Kind: ReplaceLearner, From: target(from), To: target(to), Class: Comply, Priority: prioComply,
			Reason: why}, true
	}
	if from := d.offender(now); from != nil {
		if a, ok := d.removeVoter(from, prioComply, Comply, why); ok {
			return a, true
		}
	}
	return d.block("%s and no move helps: %s", why, d.whyNoReceiver(true, true))
}

// offender is the voter without which the fewest constraints are broken, if the
// range has more voters than the nodes of the cluster suffice for.
func (d *decision) offender(now score) *store {
	if len(d.voters) <= d.goal.needVoters {
		return nil
	}
	var worst *store
	for _, s := range d.voters {
		if sc := d.scoreWith(s, nil, true); sc.violations < now.violations {
			worst, now = s, sc
		}
	}
	return worst
}

// mend finds the exchange within a set that leaves the fewest violations, if it
// leaves fewer than now.
func (d *decision) mend(set []*store, voter bool, now score) (from, to *store) {
	best := now
	receivers := d.receivers(voter, voter, true)
	for _, s := range set {
		t, sc := d.bestReceiver(s, voter, receivers)
		if t != nil && sc.violations < best.violations {
			from, to, best = s, t, sc
		}
	}
	return from, to
}

// tendLearners keeps the number of lasting learners, which serve reads and do not
// vote, and removes what failed changes left.
func (d *decision) tendLearners() (Action, bool) {
	have := len(d.learners)
	for _, s := range d.learners {
		if !s.dead && !s.leaving() {
			continue
		}
		why := fmt.Sprintf("s%d is dead", s.ID)
		if s.leaving() {
			why = fmt.Sprintf("s%d is being decommissioned", s.ID)
		}
		if have > d.goal.needLearners {
			return Action{Kind: RemoveLearner, From: target(s), Class: Repair, Priority: prioLearner, Reason: why}, true
		}
		if to, _ := d.bestReceiver(s, false, d.receivers(false, false, true)); to != nil {
			return Action{Kind: ReplaceLearner, From: target(s), To: target(to), Class: Repair, Priority: prioLearner,
				Reason: why}, true
		}
		d.block("%s and %s", why, d.whyNoReceiver(false, false))
	}
	switch {
	case have > d.goal.learners:
		return d.removeLearner()
	case have < d.goal.needLearners:
		why := fmt.Sprintf("has %d of %d learners", have, d.goal.needLearners)
		to, _ := d.bestReceiver(nil, false, d.receivers(false, false, true))
		if to == nil {
			return d.block("%s and %s", why, d.whyNoReceiver(false, false))
		}
		return Action{Kind: AddLearner, To: target(to), Class: Comply, Priority: prioLearner, Reason: why}, true
	}
	return Action{}, false
}

func (d *decision) removeLearner() (Action, bool) {
	var worst *store
	var left score
	for _, s := range d.learners {
		sc := d.scoreWith(s, nil, false)
		if worst == nil || d.missedLess(s, sc, worst, left) {
			worst, left = s, sc
		}
	}
	return Action{Kind: RemoveLearner, From: target(worst), Class: Comply, Priority: prioLearner,
		Reason: fmt.Sprintf("has %d learners, %d are asked for", len(d.learners), d.goal.learners)}, true
}
