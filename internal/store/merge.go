package store

import (
	"maps"
	"math"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	pb "go.etcd.io/raft/v3/raftpb"
)

// maxForwards bounds the merged ranges whose successors a store remembers.
const maxForwards = 1 << 14

// removedReplicas are the replicas of this store that were removed, or subsumed in a merge.
type removedReplicas struct {
	mu sync.Mutex
	// logs are those of replicas whose end is not durable in the engine yet. After a crash they serve to
	// repeat the merges, and hold the votes of removed replicas.
	logs map[kvpb.RangeID]obsoleteLog
	// forward is the replica that has subsumed a range.
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

// awaits reports whether the log of an earlier replica of a range is still to be removed, and whether this is
// the first call that asks.
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
		if r, ok := s.Replica(id); ok && r.ReplicaID() == d.replica {
			continue // a late split has created the replica again: its next end counts
		}
		// An earlier replica of the range may have left a tombstone too.
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

// destroyOrphans removes the logs of removed replicas that a crash has left behind. It runs at the start, when
// everything in the engine is durable.
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

// answerGone notifies a replica whose range was subsumed here. A replica that has missed the merge has no
// other way to learn of it.
func (s *Store) answerGone(e *envelope) {
	if floor, err := s.tombstone(e.id); err != nil || floor != apply.MergedAway {
		return
	}
	d := &kvpb.RangeDescriptor{RangeID: e.id, Generation: math.MaxUint64, NextReplicaID: apply.MergedAway}
	s.net.Transport.Send(e.from.Node, MethodGone, gone(d, e.from))
}

// mayBeSubsumed reports whether a merge that subsumes the range of r may still be applied here, which would
// need r and its log. Before a merge takes effect anywhere, the logs of all members have the freeze of the
// range (rangestate, invariant 5), and the merge takes effect only on the generation of the left range that
// the freeze names.
func (s *Store) mayBeSubsumed(r *replica.Replica) (bool, error) {
	// The log comes first: what is applied meanwhile is in the descriptor afterwards.
	frozen, err := s.unappliedFreezes(r)
	if err != nil {
		return false, err
	}
	for _, d := range append(frozen, r.Desc()) {
		if d.Into == 0 {
			continue
		}
		if left, ok := s.Replica(d.Into); ok && left.Desc().Generation <= d.IntoGeneration {
			return true, nil
		}
	}
	return false, nil
}

// maxFreezeRead bounds the bytes of the log that unappliedFreezes reads at a time.
const maxFreezeRead = 1 << 20

// unappliedFreezes returns the freezes of the replica's range in the part of its log that is not applied.
func (s *Store) unappliedFreezes(r *replica.Replica) (found []*kvpb.RangeDescriptor, err error) {
	g := raftlog.GroupID(r.RangeID())
	next := r.AppliedIndex() + 1
	for st, ok := s.log.State(g); ok && next <= st.Last; {
		ents, err := s.log.Entries(g, next, st.Last+1, maxFreezeRead)
		if err != nil {
			return nil, err
		}
		for _, e := range ents {
			next = e.Index + 1
			if pb.EntryType(e.Type) != pb.EntryNormal {
				continue
			}
			ds, err := apply.Freezes(e.Data)
			if err != nil {
				return nil, err
			}
			found = append(found, ds...)
		}
	}
	return found, nil
}

// At returns the replica whose range holds key, or nil if there is none here.
func (s *Store) At(key []byte) *replica.Replica { return s.find(key) }
