package placement

import (
	"cmp"
	"fmt"

	"github.com/lichendb/lichen/internal/plant"
)

// mayLead reports whether leadership could go to a voter. A suspect or slow store leads
// only if nobody better can, which poor says.
func (d *decision) mayLead(s *store, poor bool) bool {
	if s == d.leader || s.dead || s.Draining || s.Decommissioning || !s.available() {
		return false
	}
	if !poor && (s.State == Suspect || s.slow) {
		return false
	}
	return d.r.caughtUp(s.ID, d.c.params.MaxBehind)
}

// successors lists the voters that could lead and meet the leader preferences best.
func (d *decision) successors(poor bool) []*store {
	var out []*store
	for _, s := range d.voters {
		if !d.mayLead(s, poor) {
			continue
		}
		if len(out) > 0 {
			switch c := cmp.Compare(d.goal.leaseRank(s), d.goal.leaseRank(out[0])); {
			case c > 0:
				continue
			case c < 0:
				out = out[:0]
			}
		}
		out = append(out, s)
	}
	return out
}

// successor is the voter that should lead when the leader can't stay, or nil.
func (d *decision) successor() *store {
	to := d.successors(false)
	if len(to) == 0 {
		to = d.successors(true)
	}
	return fewestLeaders(to)
}

// fewestLeaders returns the store that leads least, nil of none.
func fewestLeaders(of []*store) *store {
	var best *store
	for _, s := range of {
		if best == nil || s.Capacity.Leaders < best.Capacity.Leaders {
			best = s
		}
	}
	return best
}

func (d *decision) transfer(to *store, prio int, class Class, why string) Action {
	return Action{Kind: TransferLeader, From: target(d.leader), To: target(to), Class: class, Priority: prio, Reason: why}
}

// vacateLeader moves leadership off a store that is about to stop.
func (d *decision) vacateLeader() (Action, bool) {
	if d.leader == nil || !d.leader.Draining && !d.leader.Decommissioning {
		return Action{}, false
	}
	why := fmt.Sprintf("its leader's store s%d is draining", d.leader.ID)
	if !d.leader.Draining {
		why = fmt.Sprintf("its leader's store s%d is being decommissioned", d.leader.ID)
	}
	if to := d.successor(); to != nil {
		return d.transfer(to, prioDrain, Repair, why), true
	}
	if d.leader.Draining {
		return d.block("%s and no other replica can lead", why)
	}
	return Action{}, false // a replica elsewhere comes first
}

// relieveLeader moves leadership off a store whose disk is slow, whatever is preferred: each
// write waits for the leader's disk, but for those of most followers only.
func (d *decision) relieveLeader() (Action, bool) {
	if d.leader == nil || !d.leader.slow || plant.On(plant.SlowLeads) {
		return Action{}, false
	}
	to := fewestLeaders(d.successors(false))
	if to == nil {
		return Action{}, false
	}
	return d.transfer(to, prioSlow, Repair, fmt.Sprintf("the disk of its leader's store s%d is slow", d.leader.ID)), true
}

// preferLeader moves leadership to a store that meets an earlier preference.
func (d *decision) preferLeader() (Action, bool) {
	if d.leader == nil || len(d.goal.lease) == 0 {
		return Action{}, false
	}
	to := d.successors(false)
	if len(to) == 0 || d.goal.leaseRank(to[0]) >= d.goal.leaseRank(d.leader) {
		return Action{}, false
	}
	best := fewestLeaders(to)
	return d.transfer(best, prioLease, Comply, "leader preference "+describe(d.goal.lease[d.goal.leaseRank(best)])), true
}

// balanceLeader evens out the number of leaders and then their load among the
// stores that would lead the range equally well.
func (d *decision) balanceLeader() (Action, bool) {
	if d.leader == nil || d.leader.State != Live {
		return Action{}, false
	}
	to := d.successors(false)
	if len(to) == 0 || d.goal.leaseRank(to[0]) > d.goal.leaseRank(d.leader) {
		return Action{}, false
	}
	count := func(s *store) float64 { return float64(s.Capacity.Leaders) }
	p := &d.c.params
	if t, mean := least(d.leader, to, count); uneven(count(d.leader), count(t), mean, p.Band) {
		a := d.transfer(t, prioLeaders, Balance, fmt.Sprintf("s%d leads %d ranges, s%d %d",
			d.leader.ID, d.leader.Capacity.Leaders, t.ID, t.Capacity.Leaders))
		a.Headroom = headroom(count(d.leader), count(t), mean)
		return a, true
	}
	load := func(s *store) float64 { return s.Capacity.QPS }
	t, mean := least(d.leader, to, load)
	_, meanCount := least(d.leader, to, count)
	if mean < p.MinQPS || !worthMoving(load(d.leader), load(t), d.r.QPS, mean, p.LoadBand) ||
		!staysEven(count(d.leader), count(t), meanCount, p.Band) {
		return Action{}, false
	}
	a := d.transfer(t, prioLoad, Balance, fmt.Sprintf("s%d serves %.0f requests/s, s%d %.0f",
		d.leader.ID, load(d.leader), t.ID, load(t)))
	a.Headroom = headroom(load(d.leader), load(t), mean) / d.r.QPS
	return a, true
}
