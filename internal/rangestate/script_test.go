package rangestate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/scripttest"
)

// TestScripts runs the stories in testdata. Ranges 1, 2 and so on are as their logs say. A step makes
// the next descriptor from one that was read earlier ("look"), or from the present one, and applies
// it, as apply.Applier does: only in place of the generation before.
func TestScripts(t *testing.T) {
	scripttest.Walk(t, "testdata", func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
		s := &script{t: t, ranges: map[kvpb.RangeID]*kvpb.RangeDescriptor{}, seen: map[kvpb.RangeID]*kvpb.RangeDescriptor{}}
		return s.op
	})
}

type script struct {
	t      *testing.T
	ranges map[kvpb.RangeID]*kvpb.RangeDescriptor // as their logs say
	seen   map[kvpb.RangeID]*kvpb.RangeDescriptor // as the merge looked at them, and what it made of them
}

func (s *script) id(f string) kvpb.RangeID {
	n, err := strconv.ParseUint(f, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kvpb.RangeID(n)
}

func (s *script) op(f []string) []string {
	id := s.id(f[1])
	d := s.ranges[id]
	switch f[0] {
	case "range": // range ID FROM TO STORE...
		d = &kvpb.RangeDescriptor{RangeID: id, StartKey: []byte(f[2]), EndKey: []byte(f[3]), Generation: 1, BoundsGen: 1}
		for _, st := range f[4:] {
			d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: kvpb.NodeID(s.id(st)), Store: kvpb.StoreID(s.id(st)), Replica: kvpb.ReplicaID(s.id(st))})
			d.NextReplicaID = max(d.NextReplicaID, kvpb.ReplicaID(s.id(st))+1)
		}
		s.ranges[id] = d
	case "change": // change ID [learner|promote|remove STORE]...: its replicas change
		return s.change(d, f[2:])
	case "leave-joint":
		s.ranges[id] = LeaveJoint(d)
		return []string{showReplicas(s.ranges[id])}
	case "split": // split ID KEY NEW
		left, right, err := Split(d, []byte(f[2]), s.id(f[3]))
		if err != nil {
			return []string{err.Error()}
		}
		s.ranges[left.RangeID], s.ranges[right.RangeID] = left, right
		return []string{show(left), show(right)}
	case "look": // look LEFT RIGHT: may they be merged?
		s.seen[id], s.seen[s.id(f[2])] = d, s.ranges[s.id(f[2])]
		return says(Mergeable(d, s.seen[s.id(f[2])]), "they may")
	case "begin-merge": // begin-merge LEFT RIGHT, as looked at
		next := BeginMerge(s.seen[id], s.id(f[2]))
		defer func() { s.seen[id] = next }()
		return s.apply(id, next, nil)
	case "freeze": // freeze RIGHT LEFT, as looked at
		next, err := Freeze(s.seen[id], s.seen[s.id(f[2])])
		defer func() { s.seen[id] = next }()
		return s.apply(id, next, err)
	case "widen": // widen LEFT RIGHT
		return s.widen(id, s.id(f[2]))
	case "abandon":
		return s.apply(id, Abandon(d), nil)
	case "end-merge":
		return s.apply(id, EndMerge(d), nil)
	case "unfreeze": // unfreeze RIGHT LEFT
		next, err := Unfreeze(d, s.id(f[2]), s.ranges[s.id(f[2])].Generation)
		return s.apply(id, next, err)
	case "followers": // followers RANGE INDEX STORE@MATCH...: a merge waits for those of replica 1
		return s.followers(d, f[2:])
	case "renew":
		next, err := Renew(d)
		return s.apply(id, next, err)
	default:
		s.t.Fatalf("unknown step %q", f[0])
	}
	return []string{show(s.ranges[id])}
}

// change changes a range's replicas, and shows what raft is told.
func (s *script) change(d *kvpb.RangeDescriptor, f []string) []string {
	if len(f) == 0 {
		s.ranges[d.RangeID] = Next(d)
		return []string{show(s.ranges[d.RangeID])}
	}
	kinds := map[string]ChangeKind{"learner": AddLearner, "promote": Promote, "remove": Remove}
	var cs []Change
	for ; len(f) > 0; f = f[2:] {
		store := kvpb.StoreID(s.id(f[1]))
		cs = append(cs, Change{Kind: kinds[f[0]], Node: kvpb.NodeID(store), Store: store})
	}
	next, cc, err := ChangeReplicas(d, cs)
	if err != nil {
		return []string{err.Error()}
	}
	s.ranges[d.RangeID] = next
	told := "raft:"
	for _, c := range cc.Changes {
		told += fmt.Sprintf(" %s %d", strings.TrimPrefix(c.GetType().String(), "ConfChange"), c.GetNodeId())
	}
	if cc.Transition != nil {
		told += ", " + cc.GetTransition().String()
	}
	return []string{showReplicas(next), told}
}

// followers shows whether all other replicas have the log. A store without a match does not answer.
func (s *script) followers(d *kvpb.RangeDescriptor, f []string) []string {
	match := map[kvpb.StoreID]uint64{}
	for _, m := range f[1:] {
		store, at, _ := strings.Cut(m, "@")
		match[kvpb.StoreID(s.id(store))] = uint64(s.id(at))
	}
	have, err := FollowersHave(d, 1, uint64(s.id(f[0])), func(r *kvpb.ReplicaDescriptor) Follower {
		at, ok := match[r.Store]
		return Follower{Supports: ok, Known: at > 0, Match: at}
	})
	if err == nil && !have {
		return []string{"not yet"}
	}
	return says(err, "they have it")
}

// widen applies a merge, which names the generation of the left range that it was decided on.
func (s *script) widen(left, right kvpb.RangeID) []string {
	seen, frozen := s.seen[left], s.seen[right]
	if s.ranges[left].Generation != seen.Generation {
		return []string{"no effect"}
	}
	if now := s.ranges[right]; now.Generation != frozen.Generation || now.Into != left {
		return []string{"WRONG: " + show(now) + " is merged"}
	}
	delete(s.ranges, right)
	s.ranges[left] = Widen(seen, frozen)
	return []string{show(s.ranges[left])}
}

// apply applies a descriptor.
func (s *script) apply(id kvpb.RangeID, next *kvpb.RangeDescriptor, err error) []string {
	switch {
	case err != nil:
		return []string{err.Error()}
	case s.ranges[id].Generation != next.Generation-1:
		return []string{"no effect"}
	}
	s.ranges[id] = next
	return []string{show(next)}
}

func says(err error, ok string) []string {
	if err != nil {
		return []string{err.Error()}
	}
	return []string{ok}
}

func show(d *kvpb.RangeDescriptor) string {
	out := fmt.Sprintf("range %d [%s, %s) generation %d, bounds of %d", d.RangeID, d.StartKey, d.EndKey, d.Generation, d.BoundsGen)
	if d.Merging != 0 {
		out += fmt.Sprintf(", merging range %d", d.Merging)
	}
	if d.Into != 0 {
		out += fmt.Sprintf(", frozen into range %d of generation %d", d.Into, d.IntoGeneration)
	}
	return out
}

func showReplicas(d *kvpb.RangeDescriptor) string {
	types := map[kvpb.ReplicaType]string{kvpb.Voter: "voter", kvpb.Learner: "learner", kvpb.VoterIncoming: "incoming voter",
		kvpb.VoterOutgoing: "outgoing voter", kvpb.LearnerOutgoing: "outgoing learner"}
	out := fmt.Sprintf("generation %d:", d.Generation)
	for i, r := range d.Replicas {
		if i > 0 {
			out += ","
		}
		out += fmt.Sprintf(" %s %d on store %d", types[r.Type], r.Replica, r.Store)
	}
	return out
}
