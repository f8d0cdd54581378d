package store

import (
	"bytes"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// indexParts is the number of parts of the replica map, a power of two.
const indexParts = 256

// index finds replicas. Readers take no lock: a change replaces the list and a part of the map. Since the
// map has parts, a change is cheap even with thousands of replicas.
type index struct {
	byID   [indexParts]atomic.Pointer[map[kvpb.RangeID]*replica.Replica]
	n      atomic.Int64
	sorted atomic.Pointer[[]*replica.Replica] // the replicas with data, by start key
}

func (x *index) part(id kvpb.RangeID) *atomic.Pointer[map[kvpb.RangeID]*replica.Replica] {
	return &x.byID[id%indexParts]
}

func (x *index) get(id kvpb.RangeID) *replica.Replica {
	if m := x.part(id).Load(); m != nil {
		return (*m)[id]
	}
	return nil
}

// set replaces the replica of a range, where nil is none, and returns the previous one. The caller holds
// Store.mu.
func (x *index) set(id kvpb.RangeID, r *replica.Replica) (old *replica.Replica) {
	p := x.part(id)
	next := map[kvpb.RangeID]*replica.Replica{}
	if m := p.Load(); m != nil {
		maps.Copy(next, *m)
	}
	if old = next[id]; old != nil {
		x.n.Add(-1)
	}
	if r == nil {
		delete(next, id)
	} else {
		next[id] = r
		x.n.Add(1)
	}
	p.Store(&next)
	return old
}

// each calls fn for all replicas.
func (x *index) each(fn func(*replica.Replica)) {
	for i := range x.byID {
		if m := x.byID[i].Load(); m != nil {
			for _, r := range *m {
				fn(r)
			}
		}
	}
}

// Replicas returns the replicas with data in key order.
func (s *Store) Replicas() []*replica.Replica {
	if l := s.index.sorted.Load(); l != nil {
		return *l
	}
	return nil
}

// all returns all replicas.
func (s *Store) all() []*replica.Replica {
	if sorted := s.Replicas(); int64(len(sorted)) == s.index.n.Load() {
		return sorted
	}
	var out []*replica.Replica
	s.index.each(func(r *replica.Replica) { out = append(out, r) })
	return out
}

// Replica returns the store's replica of a range.
func (s *Store) Replica(id kvpb.RangeID) (*replica.Replica, bool) {
	r := s.index.get(id)
	return r, r != nil
}

// add adds a replica to the index, in place of an earlier one of its range.
func (s *Store) add(r *replica.Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := without(s.Replicas(), s.index.set(r.RangeID(), r))
	if r.Initialized() {
		at, _ := slices.BinarySearchFunc(sorted, r.Desc().StartKey, startsBefore)
		next := make([]*replica.Replica, 0, len(sorted)+1)
		next = append(append(append(next, sorted[:at]...), r), sorted[at:]...)
		sorted = next
	}
	s.index.sorted.Store(&sorted)
}

// drop removes the replica of a range from the index.
func (s *Store) drop(id kvpb.RangeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := without(s.Replicas(), s.index.set(id, nil))
	s.index.sorted.Store(&sorted)
}

// without returns a list without r.
func without(list []*replica.Replica, r *replica.Replica) []*replica.Replica {
	at := slices.Index(list, r)
	if at < 0 {
		return list
	}
	return append(list[:at:at], list[at+1:]...)
}

func startsBefore(r *replica.Replica, key []byte) int { return bytes.Compare(r.Desc().StartKey, key) }

// change applies fn to a copy of the index and sorts it, which takes a while if there are many ranges.
func (s *Store) change(fn func(map[kvpb.RangeID]*replica.Replica)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[kvpb.RangeID]*replica.Replica{}
	s.index.each(func(r *replica.Replica) { m[r.RangeID()] = r })
	fn(m)
	for _, r := range s.all() {
		if id := r.RangeID(); m[id] == nil {
			s.index.set(id, nil)
		}
	}
	sorted := make([]*replica.Replica, 0, len(m))
	for id, r := range m {
		if s.index.get(id) != r {
			s.index.set(id, r)
		}
		if r.Initialized() {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b *replica.Replica) int { return bytes.Compare(a.Desc().StartKey, b.Desc().StartKey) })
	s.index.sorted.Store(&sorted)
}

// Lookup returns the replica whose range holds key, and the range's descriptor.
func (s *Store) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	r := s.find(key)
	if r == nil {
		return nil, nil, &kvpb.NotLeaderError{}
	}
	return r, r.Desc(), nil
}

// find returns the replica whose range holds key, or nil if there is none here.
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
