package kvpb

import "bytes"

// Span is the keys k with Key <= k < EndKey; an empty EndKey means the single
// key Key.
type Span struct{ Key, EndKey []byte }

// Contains reports whether key lies in s.
func (s Span) Contains(key []byte) bool {
	if len(s.EndKey) == 0 {
		return bytes.Equal(s.Key, key)
	}
	return bytes.Compare(key, s.Key) >= 0 && bytes.Compare(key, s.EndKey) < 0
}

// RangeID identifies a range; never reused.
type RangeID uint64

// ReplicaID identifies a replica of a range; never reused within it.
type ReplicaID uint64

// NodeID identifies a node of the cluster.
type NodeID uint64

// StoreID identifies a store of the cluster.
type StoreID uint64

// ReplicaDescriptor says where a replica is.
type ReplicaDescriptor struct {
	Node    NodeID
	Store   StoreID
	Replica ReplicaID
	Type    ReplicaType
}

// ReplicaType says how a replica takes part in its raft group.
type ReplicaType uint8

// The types of replicas. Incoming and outgoing voters exist while a joint
// configuration lasts.
const (
	Voter ReplicaType = iota
	Learner
	VoterIncoming
	VoterOutgoing
)

// RangeDescriptor says which keys a range holds and where its replicas are.
type RangeDescriptor struct {
	RangeID       RangeID
	StartKey      []byte
	EndKey        []byte
	Replicas      []ReplicaDescriptor
	NextReplicaID ReplicaID
	Generation    uint64 // rises with every split, merge and membership change
	// Borders is the Generation at which StartKey and EndKey got their values.
	Borders uint64
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

// ReplicaByID returns the replica of an id; there is none of id 0.
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

// ContainsKey reports whether the range holds key.
func (d *RangeDescriptor) ContainsKey(key []byte) bool {
	return bytes.Compare(key, d.StartKey) >= 0 && bytes.Compare(key, d.EndKey) < 0
}

// Cover returns the least span that holds all of s, which may be empty, and key.
func Cover(s Span, key []byte) Span {
	if len(s.EndKey) == 0 {
		return Span{Key: bytes.Clone(key), EndKey: append(bytes.Clone(key), 0)}
	}
	if bytes.Compare(key, s.Key) < 0 {
		s.Key = bytes.Clone(key)
	}
	if bytes.Compare(key, s.EndKey) >= 0 {
		s.EndKey = append(bytes.Clone(key), 0)
	}
	return s
}
