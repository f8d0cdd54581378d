package kvpb

import (
	"bytes"
	"slices"
	"sort"

	"github.com/lichendb/lichen/internal/keys"
)

// Span is the keys k with Key <= k < EndKey; an empty EndKey means the single
// key Key.
type Span struct{ Key, EndKey []byte }

// End returns the first key behind s.
func (s Span) End() []byte {
	if len(s.EndKey) > 0 {
		return s.EndKey
	}
	return keys.Next(s.Key)
}

// Contains reports whether key lies in s.
func (s Span) Contains(key []byte) bool {
	if len(s.EndKey) == 0 {
		return bytes.Equal(s.Key, key)
	}
	return bytes.Compare(key, s.Key) >= 0 && bytes.Compare(key, s.EndKey) < 0
}

// Before reports whether all of s lies before key.
func (s Span) Before(key []byte) bool {
	if len(s.EndKey) == 0 {
		return bytes.Compare(s.Key, key) < 0
	}
	return bytes.Compare(s.EndKey, key) <= 0
}

// Clip returns the part of s that lies in [start, end), and false if there is none.
func (s Span) Clip(start, end []byte) (part Span, ok bool) {
	if s.Before(start) || bytes.Compare(s.Key, end) >= 0 {
		return Span{}, false
	}
	if len(s.EndKey) == 0 {
		return s, true
	}
	if bytes.Compare(s.Key, start) < 0 {
		s.Key = start
	}
	if bytes.Compare(s.EndKey, end) > 0 {
		s.EndKey = end
	}
	return s, true
}

// CountBefore returns the number of sorted, disjoint spans that lie before key.
func CountBefore(spans []Span, key []byte) int {
	return sort.Search(len(spans), func(i int) bool { return !spans[i].Before(key) })
}

// Narrow returns the sorted, disjoint spans that overlap [start, end).
func Narrow(spans []Span, start, end []byte) []Span {
	spans = spans[CountBefore(spans, start):]
	hi := sort.Search(len(spans), func(i int) bool { return bytes.Compare(spans[i].Key, end) >= 0 })
	return spans[:hi]
}

// Rest returns the sorted, disjoint spans from key on, as after a page of a scan. The result may alias
// key; spans stays unchanged.
func Rest(spans []Span, key []byte) []Span {
	spans = spans[CountBefore(spans, key):]
	if len(spans) > 0 && bytes.Compare(spans[0].Key, key) < 0 {
		spans = slices.Clone(spans)
		spans[0].Key = key
	}
	return spans
}

// Bounds returns the bounds of the smallest range of keys that holds sorted spans.
func Bounds(spans []Span) (start, end []byte) {
	return spans[0].Key, spans[len(spans)-1].End()
}

// NodeSpans are sorted, disjoint spans that one node reads from its own replicas, as far as is known: as a leader, or as
// the nearest replica where the past is read.
type NodeSpans struct {
	Node  NodeID
	Spans []Span
}

// RangeID identifies a range; never reused.
type RangeID uint64

// ReplicaID identifies a replica of a range; never reused within it.
type ReplicaID uint64

// NodeID identifies a node of the cluster.
type NodeID uint64

// StoreID identifies a store of the cluster.
type StoreID uint64

// ReplicaDescriptor names a replica and its place.
type ReplicaDescriptor struct {
	Node    NodeID
	Store   StoreID
	Replica ReplicaID
	Type    ReplicaType
}

// ReplicaType is the role of a replica in its raft group.
type ReplicaType uint8

// The types of replicas. Incoming and outgoing voters exist while a joint configuration lasts. An outgoing
// learner was an outgoing voter; the leader removes it by a change of its own (package replica, removal).
const (
	Voter ReplicaType = iota
	Learner
	VoterIncoming
	VoterOutgoing
	LearnerOutgoing
)

// Votes reports whether a replica votes, in one half of a joint configuration at least.
func (t ReplicaType) Votes() bool { return t != Learner && t != LearnerOutgoing }

// RangeDescriptor has the bounds of a range and its replicas.
type RangeDescriptor struct {
	RangeID       RangeID
	StartKey      []byte
	EndKey        []byte
	Replicas      []ReplicaDescriptor
	NextReplicaID ReplicaID
	Generation    uint64 // rises with every split, merge and membership change
	// BoundsGen is the bounds generation: the Generation at which the range last lost keys
	// or stopped serving. A command that was evaluated under another one has no effect. A
	// merge that makes the range larger does not change it.
	BoundsGen uint64
	// Merging is the range to the right that is being merged into this one, 0 if none is.
	Merging RangeID
	// Into is the range to the left that is about to subsume this one, 0 if none is. If set,
	// the range is frozen: it serves nothing until the merge has happened or was given up.
	// IntoGeneration is the generation of the left range when it began the merge.
	Into           RangeID
	IntoGeneration uint64
}

// Replica returns the replica on a store.
func (d *RangeDescriptor) Replica(s StoreID) (ReplicaDescriptor, bool) {
	for _, r := range d.Replicas {
		if r.Store == s {
			return r, true
		}
	}
	return ReplicaDescriptor{}, false
}

// ReplicaByID returns the replica with an id. No replica has the id 0.
func (d *RangeDescriptor) ReplicaByID(id ReplicaID) (ReplicaDescriptor, bool) {
	for _, r := range d.Replicas {
		if r.Replica == id && id != 0 {
			return r, true
		}
	}
	return ReplicaDescriptor{}, false
}

// Joint reports whether the range is in a joint configuration.
func (d *RangeDescriptor) Joint() bool {
	for _, r := range d.Replicas {
		if r.Type == VoterIncoming || r.Type == VoterOutgoing {
			return true
		}
	}
	return false
}

// Outgoing returns a former voter that is still to be removed.
func (d *RangeDescriptor) Outgoing() (ReplicaDescriptor, bool) {
	for _, r := range d.Replicas {
		if r.Type == LearnerOutgoing {
			return r, true
		}
	}
	return ReplicaDescriptor{}, false
}

// ChangingReplicas reports whether a change of the range's replicas has begun and not ended. The leader
// ends it.
func (d *RangeDescriptor) ChangingReplicas() bool {
	_, outgoing := d.Outgoing()
	return outgoing || d.Joint()
}

// Changing reports whether a change of the range has begun that must end before another
// one begins.
func (d *RangeDescriptor) Changing() bool {
	return d.Merging != 0 || d.Into != 0 || d.ChangingReplicas()
}

// ContainsKey reports whether the range holds key.
func (d *RangeDescriptor) ContainsKey(key []byte) bool {
	return bytes.Compare(key, d.StartKey) >= 0 && bytes.Compare(key, d.EndKey) < 0
}

// Cover returns the smallest span that contains s, which may be empty, and key.
func Cover(s Span, key []byte) Span {
	if len(s.EndKey) == 0 {
		return Span{Key: bytes.Clone(key), EndKey: keys.Next(key)}
	}
	if bytes.Compare(key, s.Key) < 0 {
		s.Key = bytes.Clone(key)
	}
	if bytes.Compare(key, s.EndKey) >= 0 {
		s.EndKey = keys.Next(key)
	}
	return s
}
