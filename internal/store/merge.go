package store

import (
	"bytes"
	"maps"
	"math"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
)

// maxForwards bounds the merged ranges whose successors a store remembers.
const maxForwards = 1 << 14

// removedReplicas are the replicas of this store that were removed, or subsumed in a merge.
type removedReplicas struct {
	mu sync.Mutex
	// logs are those of replicas whose end is not durable in the engine yet. After a crash they are
	// needed to repeat the merges, and for the votes of removed replicas.
	logs map[kvpb.RangeID]obsoleteLog
	// forward has the replica that subsumed a range.
	forward map[kvpb.RangeID]*replica.Replica
	order   []kvpb.RangeID
}

// obsoleteLog is a log to be removed after the next flush.
type obsoleteLog struct {
	replica kvpb.ReplicaID
	awaited bool // a message waits for its removal, and a flush was requested
}

// await schedules the log of a replica for removal once the replica's end is durable.
func (a *removedReplicas) await(r *replica.Replica) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logs == nil {
		a.logs = map[kvpb.RangeID]obsoleteLog{}
	}
	a.logs[r.RangeID()] = obsoleteLog{replica: r.ReplicaID()}
}

// awaits reports whether the log of an earlier replica of a range is still to be removed, and
// whether this is the first call to ask so.
func (a *removedReplicas) awaits(id kvpb.RangeID) (waits, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d, ok := a.logs[id]
	if !ok || d.awaited {
		return ok, false
	}
	d.awaited = true
	a.logs[id] = d
	return true, true
}

// merged records that the range of right was subsumed by that of left.
func (s *Store) merged(left, right *replica.Replica) {
	id := right.RangeID()
	s.drop(id)
	a := &s.removed
	a.await(right)
	a.mu.Lock()
	if a.forward == nil {
		a.forward = map[kvpb.RangeID]*replica.Replica{}
	}
	if len(a.order) == maxForwards {
		delete(a.forward, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.forward[id] = left
	a.order = append(a.order, id)
	a.mu.Unlock()
	s.workers.Go(right.Stop)
}

// MergedInto returns the descriptor of the range that subsumed a range, if that happened here.
func (s *Store) MergedInto(id kvpb.RangeID) (*kvpb.RangeDescriptor, bool) {
	a := &s.removed
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

// destroyLogs removes the logs of merged ranges and removed replicas whose end is durable in the
// engine. It runs after each flush.
func (m *maintenance) destroyLogs() {
	s := m.s
	a := &s.removed
	a.mu.Lock()
	logs := maps.Clone(a.logs)
	a.mu.Unlock()
	for id, d := range logs {
		// A replica of the range that was here before may have left a tombstone too.
		floor, err := tombstoneOf(m.durable, id)
		durable := floor > d.replica
		if err == nil && durable {
			err = s.log.Destroy(raftlog.GroupID(id), uint64(d.replica))
		}
		switch {
		case err != nil:
			s.opts.Logger.Error("the log of a replica that is gone", "range", id, "err", err)
		case durable:
			a.mu.Lock()
			delete(a.logs, id)
			a.mu.Unlock()
		}
	}
}

// destroyOrphans removes the logs of removed replicas that a crash has left. It runs at the start,
// when everything in the engine is durable.
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

// answerGone notifies a replica whose range was subsumed here. A replica that missed the merge has
// no other way to learn of it.
func (s *Store) answerGone(e *envelope) {
	if floor, err := s.tombstone(e.id); err != nil || floor != apply.MergedAway {
		return
	}
	d := &kvpb.RangeDescriptor{RangeID: e.id, Generation: math.MaxUint64, NextReplicaID: apply.MergedAway}
	s.net.Transport.Send(e.from.Node, MethodGone, gone(d, e.from))
}

// endsAt reports whether a replica here ends at key. While a merge is still to be applied here, the
// range on its left does.
func (s *Store) endsAt(key []byte) bool {
	for _, r := range s.Replicas() {
		if bytes.Equal(r.Desc().EndKey, key) {
			return true
		}
	}
	return false
}

// At returns the replica whose range holds key; nil if there is none here.
func (s *Store) At(key []byte) *replica.Replica { return s.find(key) }
