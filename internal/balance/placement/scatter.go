package placement

import (
	"cmp"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Scatter draws places for the replicas of a range and for its leader. A replica goes
// only where it serves the range at least as well, and the leader stays where it is
// preferred. Of two places drawn the one with fewer replicas (or leaders) is taken,
// so that many ranges come out even; draw returns a number below its argument. The
// picture is changed as if all was done. leader is where leadership goes at last.
func (c *Cluster) Scatter(r *Range, z *zone.Config, draw func(n int) int) (moves []Action, leader kvpb.StoreID) {
	desc := *r.Desc
	desc.Replicas = append([]kvpb.ReplicaDescriptor(nil), desc.Replicas...)
	now := *r
	now.Desc = &desc
	d := c.newDecision(&now, z)
	for i := range desc.Replicas {
		rep := &desc.Replicas[i]
		from := c.lookup(rep.Store, rep.Node)
		if rep.Type != kvpb.Voter || from == d.leader || !from.known {
			continue
		}
		to := d.drawPlace(from, draw)
		if to == from {
			continue
		}
		a := Action{Kind: ReplaceVoter, From: target(from), To: target(to), Reason: "scatter"}
		c.Apply(&now, a)
		moves = append(moves, a)
		rep.Node, rep.Store = to.Node, to.ID
		d = c.newDecision(&now, z)
	}
	return moves, d.drawLeader(draw)
}

// drawPlace draws a store for a voter, the one where it is among them.
func (d *decision) drawPlace(from *store, draw func(n int) int) *store {
	now := d.score(d.voters, d.learners)
	places := []*store{from}
	for _, t := range d.receivers(true, false, false) {
		if d.scoreWith(from, t, true).compare(now) >= 0 {
			places = append(places, t)
		}
	}
	// The store where it is has it counted already.
	count := func(s *store) int {
		if s == from {
			return s.Capacity.Ranges - 1
		}
		return s.Capacity.Ranges
	}
	a, b := places[draw(len(places))], places[draw(len(places))]
	if cmp.Compare(count(b), count(a)) < 0 {
		a = b
	}
	return a
}

// drawLeader draws a voter that may lead, and counts it as leading.
func (d *decision) drawLeader(draw func(n int) int) kvpb.StoreID {
	if d.leader == nil || !d.leader.known {
		return d.r.Leader
	}
	places := []*store{d.leader}
	rank := d.goal.leaseRank(d.leader)
	for _, s := range d.voters {
		if s != d.leader && s.State == Live && !s.slow && !s.Draining && !s.Decommissioning && d.goal.leaseRank(s) <= rank {
			places = append(places, s)
		}
	}
	count := func(s *store) int {
		if s == d.leader {
			return s.Capacity.Leaders - 1
		}
		return s.Capacity.Leaders
	}
	a, b := places[draw(len(places))], places[draw(len(places))]
	if cmp.Compare(count(b), count(a)) < 0 {
		a = b
	}
	if a != d.leader {
		d.c.Apply(d.r, Action{Kind: TransferLeader, From: target(d.leader), To: target(a)})
	}
	return a.ID
}
