package rangestate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// ErrBusy says that another change of the range is under way.
var ErrBusy = errors.New("rangestate: the range is being changed already")

// ErrNotNow says that two ranges can't be merged at the moment.
var ErrNotNow = errors.New("rangestate: the ranges can't be merged now")

// Next returns a copy of a descriptor in the next generation.
func Next(d *kvpb.RangeDescriptor) *kvpb.RangeDescriptor {
	c := *d
	c.Replicas = slices.Clone(d.Replicas)
	c.Generation++
	return &c
}

// Split returns the halves of a range that is split at a key. The right half has a new id and the same replicas.
func Split(d *kvpb.RangeDescriptor, key []byte, id kvpb.RangeID) (left, right *kvpb.RangeDescriptor, err error) {
	if d.Changing() {
		return nil, nil, fmt.Errorf("range %d: %w", d.RangeID, ErrBusy)
	}
	left, right = Next(d), Next(d)
	left.EndKey = bytes.Clone(key)
	left.BoundsGen = left.Generation
	right.RangeID, right.StartKey = id, left.EndKey
	right.BoundsGen = left.BoundsGen
	return left, right, nil
}

// Mergeable returns an error unless two ranges lie side by side, on the same stores, and neither is
// being changed.
func Mergeable(left, right *kvpb.RangeDescriptor) error {
	switch {
	case !bytes.Equal(left.EndKey, right.StartKey) || len(right.EndKey) == 0:
		return fmt.Errorf("%w: range %d does not begin where range %d ends", ErrNotNow, right.RangeID, left.RangeID)
	case left.Changing() || right.Changing():
		return ErrBusy
	case len(left.Replicas) != len(right.Replicas):
		return fmt.Errorf("%w: they have different replicas", ErrNotNow)
	}
	for _, rep := range left.Replicas {
		if o, ok := right.Replica(rep.Store); !ok || o.Type != rep.Type || o.Node != rep.Node {
			return fmt.Errorf("%w: they have different replicas", ErrNotNow)
		}
	}
	return nil
}

// BeginMerge marks the left range of a merge: until the merge ends, the range changes in no other way.
func BeginMerge(left *kvpb.RangeDescriptor, right kvpb.RangeID) *kvpb.RangeDescriptor {
	next := Next(left)
	next.Merging = right
	return next
}

// Freeze makes the right range stop serving, until left has subsumed it or Unfreeze is called. left is the result
// of BeginMerge, right is from before that.
func Freeze(right, left *kvpb.RangeDescriptor) (*kvpb.RangeDescriptor, error) {
	unmarked := *left
	unmarked.Merging = 0
	if err := Mergeable(&unmarked, right); err != nil {
		return nil, err
	}
	next := Next(right)
	next.BoundsGen = next.Generation
	next.Into, next.IntoGeneration = left.RangeID, left.Generation
	return next, nil
}

// Widen ends a merge: the left range gets the keys of the frozen one.
func Widen(left, frozen *kvpb.RangeDescriptor) *kvpb.RangeDescriptor {
	wide := Next(left)
	wide.EndKey = frozen.EndKey
	wide.Generation = max(left.Generation, frozen.Generation) + 1
	wide.Merging = 0
	return wide
}

// Abandon gives up a merge that the left range has begun: Widen has no effect any more.
func Abandon(left *kvpb.RangeDescriptor) *kvpb.RangeDescriptor { return Next(left) }

// EndMerge lets the left range of an abandoned merge change again. The right range must serve again.
func EndMerge(left *kvpb.RangeDescriptor) *kvpb.RangeDescriptor {
	next := Next(left)
	next.Merging = 0
	return next
}

// Unfreeze makes a range serve again that left froze before left had the generation. A freeze that is still in
// flight has no effect any more.
func Unfreeze(d *kvpb.RangeDescriptor, left kvpb.RangeID, generation uint64) (*kvpb.RangeDescriptor, error) {
	if d.Into != 0 && (d.Into != left || d.IntoGeneration >= generation) {
		return nil, fmt.Errorf("range %d: %w", d.RangeID, ErrBusy)
	}
	next := Next(d)
	if d.Into != 0 {
		next.BoundsGen = next.Generation
		next.Into, next.IntoGeneration = 0, 0
	}
	return next, nil
}

// Renew makes merges that were decided before have no effect: the range keeps its left boundary.
func Renew(d *kvpb.RangeDescriptor) (*kvpb.RangeDescriptor, error) {
	if d.Changing() {
		return nil, ErrBusy
	}
	return Next(d), nil
}

// Follower is what a leader knows of another replica of its range.
type Follower struct {
	Supports bool // its store supports this one, so it is alive
	Known    bool // raft knows the replica
	Match    uint64
}

// FollowersHave reports whether all replicas of d except self have the log up to an index. It fails with
// ErrNotNow if one of their stores does not answer: a merge would keep the range frozen.
func FollowersHave(d *kvpb.RangeDescriptor, self kvpb.ReplicaID, index uint64, of func(*kvpb.ReplicaDescriptor) Follower) (bool, error) {
	have := true
	for i := range d.Replicas {
		r := &d.Replicas[i]
		if r.Replica == self {
			continue
		}
		f := of(r)
		if !f.Supports {
			return false, fmt.Errorf("%w: the store %d, which has a replica of range %d, does not answer", ErrNotNow, r.Store, d.RangeID)
		}
		have = have && f.Known && f.Match >= index
	}
	return have, nil
}
