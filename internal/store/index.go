package store

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// index finds replicas. It is never changed but replaced.
type index struct {
	byID   map[kvpb.RangeID]*replica.Replica
	sorted []*replica.Replica // those that hold data, by start key
}

// Replicas returns the replicas that hold data in the order of their keys.
func (s *Store) Replicas() []*replica.Replica { return s.index.Load().sorted }

// all returns all replicas.
func (s *Store) all() []*replica.Replica {
	x := s.index.Load()
	if len(x.sorted) == len(x.byID) {
		return x.sorted
	}
	out := make([]*replica.Replica, 0, len(x.byID))
	for _, r := range x.byID {
		out = append(out, r)
	}
	return out
}

// Replica returns the store's replica of a range.
func (s *Store) Replica(id kvpb.RangeID) (*replica.Replica, bool) {
	r, ok := s.index.Load().byID[id]
	return r, ok
}

func (s *Store) add(r *replica.Replica) {
	s.change(func(m map[kvpb.RangeID]*replica.Replica) { m[r.RangeID()] = r })
}

// change replaces the index.
func (s *Store) change(fn func(map[kvpb.RangeID]*replica.Replica)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.index.Load()
	x := &index{byID: make(map[kvpb.RangeID]*replica.Replica, len(old.byID)+1)}
	for id, r := range old.byID {
		x.byID[id] = r
	}
	fn(x.byID)
	for _, r := range x.byID {
		if r.Initialized() {
			x.sorted = append(x.sorted, r)
		}
	}
	slices.SortFunc(x.sorted, func(a, b *replica.Replica) int { return bytes.Compare(a.Desc().StartKey, b.Desc().StartKey) })
	s.index.Store(x)
}

// Lookup returns the replica whose range holds key, and the range's descriptor.
func (s *Store) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	r := s.find(key)
	if r == nil {
		// A split is being applied, perhaps: its right half comes in a moment.
		return nil, nil, &kvpb.NotLeaderError{}
	}
	return r, r.Desc(), nil
}

// find returns the replica whose range holds key, nil if there is none here.
func (s *Store) find(key []byte) *replica.Replica {
	all := s.Replicas()
	lo, hi := 0, len(all)
	for lo < hi {
		mid := (lo + hi) / 2
		if bytes.Compare(all[mid].Desc().EndKey, key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(all) || !all[lo].Desc().ContainsKey(key) {
		return nil
	}
	return all[lo]
}
