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

// maxForwards bounds the merged ranges of which a store can say where they went.
const maxForwards = 1 << 14

// mergedAway are the ranges whose replicas here became part of others, or were removed.
type mergedAway struct {
	mu sync.Mutex
	// logs are those of replicas whose end is not durable in the engine yet: without
	// them a crash now would leave merges impossible to repeat, and removed replicas
	// without what they have voted.
	logs map[kvpb.RangeID]obsoleteLog
	// forward says which replica took a range in.
	forward map[kvpb.RangeID]*replica.Replica
	order   []kvpb.RangeID
}

// obsoleteLog is a log that is removed with the next flush.
type obsoleteLog struct {
	replica kvpb.ReplicaID
	awaited bool // somebody waits for it, and a flush was begun
}

// await notes that the log of a replica goes when the replica's end is durable.
func (a *mergedAway) await(r *replica.Replica) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logs == nil {
		a.logs = map[kvpb.RangeID]obsoleteLog{}
	}
	a.logs[r.RangeID()] = obsoleteLog{replica: r.ReplicaID()}
}

// awaits reports whether the log of an earlier replica of a range is still to go, and
// whether that is asked for the first time.
func (a *mergedAway) awaits(id kvpb.RangeID) (waits, news bool) {
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

// merged notes that the range of a replica became part of another one's.
func (s *Store) merged(left, right *replica.Replica) {
	id := right.RangeID()
	s.drop(id)
	a := &s.away
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

// destroyLogs gives up the logs of merged ranges and removed replicas once the engine
// holds their end durably. It runs after each flush.
func (m *maintenance) destroyLogs() {
	s := m.s
	a := &s.away
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
// not there when that happened it learns of it from nobody else.
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
