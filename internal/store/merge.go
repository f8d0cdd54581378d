package store

import (
	"bytes"
	"math"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
)

// maxForwards bounds the merged ranges of which a store can say where they went.
const maxForwards = 1 << 14

// mergedAway are the ranges whose replicas here became part of others.
type mergedAway struct {
	mu sync.Mutex
	// logs are those of which the end is not durable in the engine yet: without the
	// logs a crash now would leave the merges impossible to repeat.
	logs map[kvpb.RangeID]kvpb.ReplicaID
	// forward says which replica took a range in.
	forward map[kvpb.RangeID]*replica.Replica
	order   []kvpb.RangeID
}

// merged hears that the range of a replica became part of another one's.
func (s *Store) merged(left, right *replica.Replica) {
	id := right.RangeID()
	s.drop(id)
	a := &s.away
	a.mu.Lock()
	if a.logs == nil {
		a.logs, a.forward = map[kvpb.RangeID]kvpb.ReplicaID{}, map[kvpb.RangeID]*replica.Replica{}
	}
	a.logs[id] = right.ReplicaID()
	if len(a.order) == maxForwards {
		delete(a.forward, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.forward[id] = left
	a.order = append(a.order, id)
	a.mu.Unlock()
	s.workers.schedule(right.Stop)
}

// MergedInto returns the descriptor of the range that a range became part of, as far
// as that happened here.
func (s *Store) MergedInto(id kvpb.RangeID) (*kvpb.RangeDescriptor, bool) {
	a := &s.away
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.forward[id]
	if r == nil {
		return nil, false
	}
	for range maxForwards {
		next := a.forward[r.RangeID()]
		if next == nil {
			break
		}
		r = next
	}
	return r.Desc(), true
}

// destroyLogs gives up the logs of merged ranges once the engine holds durably that
// they were merged. It runs after each flush.
func (m *maintenance) destroyLogs() {
	s := m.s
	a := &s.away
	a.mu.Lock()
	logs := make(map[kvpb.RangeID]kvpb.ReplicaID, len(a.logs))
	for id, rep := range a.logs {
		logs[id] = rep
	}
	a.mu.Unlock()
	for id, rep := range logs {
		_, durable, err := m.durable.GetUnversioned(keys.RangeTombstone(uint64(id)), nil)
		if err == nil && durable {
			err = s.log.Destroy(raftlog.GroupID(id), uint64(rep))
		}
		switch {
		case err != nil:
			s.opts.Logger.Error("the log of a merged range", "range", id, "err", err)
		case durable:
			a.mu.Lock()
			delete(a.logs, id)
			a.mu.Unlock()
		}
	}
}

// destroyOrphans gives up the logs of replicas that are gone, if a crash came before
// that. It runs at the start, when all that the engine holds is durable.
func (s *Store) destroyOrphans() error {
	for _, g := range s.log.Groups() {
		id := kvpb.RangeID(g)
		if _, ok := s.Replica(id); ok || g == clockGroup {
			continue
		}
		floor, err := s.tombstone(id)
		if err != nil {
			return err
		}
		if st, ok := s.log.State(g); ok && st.Replica < uint64(floor) {
			if err := s.log.Destroy(g, st.Replica); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerGone tells a replica whose range became part of another one here. If it was
// not there when that happened it hears of it from nobody else.
func (s *Store) answerGone(e *envelope) {
	if floor, err := s.tombstone(e.id); err != nil || floor != apply.MergedAway {
		return
	}
	d := &kvpb.RangeDescriptor{RangeID: e.id, Generation: math.MaxUint64, NextReplicaID: apply.MergedAway}
	s.net.Transport.Send(e.from.Node, MethodGone, gone(d, e.from))
}

// endsAt reports whether a replica here ends at key. As long as a merge is still to be
// applied here, the range on its left does.
func (s *Store) endsAt(key []byte) bool {
	for _, r := range s.Replicas() {
		if bytes.Equal(r.Desc().EndKey, key) {
			return true
		}
	}
	return false
}

// At returns the replica whose range holds key, nil if there is none here.
func (s *Store) At(key []byte) *replica.Replica { return s.find(key) }
