package rangeops

import (
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// replicasPlan is a membership change in the order in which it is carried out: learners are
// added, brought up to date, votes are given and taken at once, and then learners are removed.
type replicasPlan struct {
	learners []placement.Change // to be added, one by one
	await    []placement.Target // replicas that have to catch up
	votes    []replica.Change   // take effect together
	removed  []replica.Change   // learners, one by one
}

// planReplicas checks changes to a range that a store leads, and brings them in order.
func planReplicas(d *kvpb.RangeDescriptor, leader kvpb.StoreID, cs []placement.Change) (*replicasPlan, error) {
	p := &replicasPlan{}
	for _, c := range cs {
		var why string
		switch c.Kind {
		case placement.AddVoter, placement.AddLearner:
			why = p.add(d, c, cs)
		case placement.RemoveVoter, placement.RemoveLearner:
			why = p.remove(d, c, leader)
		default:
			why = "this is no change of members"
		}
		if why != "" {
			return nil, fmt.Errorf("range %d: %v on store %d: %s", d.RangeID, c.Kind, c.Store, why)
		}
	}
	return p, nil
}

// add plans a new replica, or says why there can't be one.
func (p *replicasPlan) add(d *kvpb.RangeDescriptor, c placement.Change, all []placement.Change) string {
	rep, there := d.Replica(c.Store)
	if there && (c.Kind == placement.AddLearner || rep.Type != kvpb.Learner) {
		return "there is a replica already"
	}
	for _, o := range d.Replicas {
		if o.Node == c.Node && o.Store != c.Store && !removes(all, o.Store) {
			return "its node has a replica already"
		}
	}
	if !there {
		p.learners = append(p.learners, c)
	}
	p.await = append(p.await, c.Target)
	if c.Kind == placement.AddVoter {
		p.votes = append(p.votes, replica.Change{Kind: replica.Promote, Node: c.Node, Store: c.Store})
	}
	return ""
}

// remove plans the end of a replica, or says why it must stay.
func (p *replicasPlan) remove(d *kvpb.RangeDescriptor, c placement.Change, leader kvpb.StoreID) string {
	rep, there := d.Replica(c.Store)
	switch {
	case !there:
		return "there is no replica"
	case c.Store == leader:
		return "it leads the range"
	case (rep.Type == kvpb.Learner) != (c.Kind == placement.RemoveLearner):
		return "the replica is of another type"
	}
	change := replica.Change{Kind: replica.Remove, Node: rep.Node, Store: c.Store}
	if rep.Type == kvpb.Learner {
		p.removed = append(p.removed, change)
	} else {
		p.votes = append(p.votes, change)
	}
	return ""
}

// removes reports whether changes end with no replica on a store: it moves to another disk of
// the node, perhaps.
func removes(cs []placement.Change, id kvpb.StoreID) bool {
	return slices.ContainsFunc(cs, func(c placement.Change) bool {
		return c.Store == id && (c.Kind == placement.RemoveVoter || c.Kind == placement.RemoveLearner)
	})
}
