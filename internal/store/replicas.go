package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
)

// maxCreations bounds the messages that wait for the creation of a replica. Raft sends dropped messages again.
const maxCreations = 64

// createFor creates a replica for a message and passes it the message, in the background: the caller reads
// messages from the network and must not wait for a disk.
func (s *Store) createFor(e envelope, m *pb.Message) {
	if s.creations.Add(1) > maxCreations || s.closed() {
		s.creations.Add(-1)
		return
	}
	e.start, e.raft = bytes.Clone(e.start), nil // the reader of messages reuses their memory
	s.workers.Go(func() {
		defer s.creations.Add(-1)
		switch r, err := s.create(&e); {
		case err != nil:
			s.opts.Logger.Error("replica", "range", e.id, "err", err)
		case r == nil:
			s.answerGone(&e)
		default:
			s.step(r, &e, m)
		}
	})
}

// replicaFor returns the replica that a message is for, or nil if there is none. create says that one may have
// to be created, which Store.create decides.
func (s *Store) replicaFor(e *envelope) (r *replica.Replica, create bool) {
	if r, ok := s.Replica(e.id); ok {
		switch {
		case r.ReplicaID() == e.to.Replica:
			return r, false
		case r.ReplicaID() > e.to.Replica:
			return nil, false
		}
		s.remove(r, e.to.Replica)
		return nil, false // a later message gets through
	}
	return nil, s.find(e.start) == nil
}

// create creates the replica that a message is for, without data. It returns nil if this store has had a
// later replica of the range, or if another range here has its keys, since a split is not applied here yet.
func (s *Store) create(e *envelope) (*replica.Replica, error) {
	s.creating.Lock()
	defer s.creating.Unlock()
	if r, create := s.replicaFor(e); !create {
		return r, nil
	}
	floor, err := s.tombstone(e.id)
	if err != nil || e.to.Replica < floor {
		return nil, err
	}
	if waits, first := s.removed.awaits(e.id); waits {
		if first {
			return nil, s.eng.StartFlush()
		}
		return nil, nil // the log of the previous replica is still to be removed
	}
	st, ok := s.log.State(raftlog.GroupID(e.id))
	switch {
	case ok && st.Replica != uint64(e.to.Replica):
		if err := s.log.Destroy(raftlog.GroupID(e.id), st.Replica); err != nil {
			return nil, err
		}
		ok = false
	case ok && st.Truncated.Index > 0:
		return nil, nil // a split here will create it
	}
	if !ok {
		err := s.log.Append([]raftlog.Write{{
			Group: raftlog.GroupID(e.id), Replica: uint64(e.to.Replica), HardState: &raftlog.HardState{},
		}})
		if err != nil {
			return nil, err
		}
	}
	r, err := replica.New(s.deps(), &kvpb.RangeDescriptor{RangeID: e.id}, e.to.Replica)
	if err != nil {
		return nil, err
	}
	s.add(r)
	return r, nil
}

// tombstone returns the lowest replica id that a range may still get here.
func (s *Store) tombstone(id kvpb.RangeID) (kvpb.ReplicaID, error) { return tombstoneOf(s.eng, id) }

// tombstoneOf is tombstone in the state that a reader sees.
func tombstoneOf(r storage.Reader, id kvpb.RangeID) (kvpb.ReplicaID, error) {
	p, ok, err := r.GetUnversioned(keys.RangeTombstone(uint64(id)), nil)
	if err != nil || !ok {
		return 0, err
	}
	n, w := binary.Uvarint(p)
	if w <= 0 {
		return 0, fmt.Errorf("range %d: damaged tombstone", id)
	}
	return kvpb.ReplicaID(n), nil
}

// remove removes a replica that is no longer part of its range. destroyLogs removes its log after the next
// flush, when the tombstone is durable: a flush for each replica would be too slow when many move away. A
// crash before that brings the replica back, which then learns of its removal again.
func (s *Store) remove(r *replica.Replica, next kvpb.ReplicaID) {
	if !s.markRemoving(r.RangeID(), true) {
		return
	}
	// The caller may have looked r up a while ago: another replica may have its keys by now.
	if present, ok := s.Replica(r.RangeID()); !ok || present != r || r.Gone() {
		s.markRemoving(r.RangeID(), false)
		return
	}
	go func() {
		defer s.markRemoving(r.RangeID(), false)
		defer must.Report(s.opts.OnFatal)
		r.Stop()
		b := s.eng.NewBatch()
		defer b.Close()
		id := uint64(r.RangeID())
		errs := []error{bury(b, r.RangeID(), next)}
		if r.Initialized() {
			for _, sp := range snapshot.DataSpans(r.Desc()) {
				errs = append(errs, b.DeleteRange(sp.Start, sp.End))
			}
		}
		errs = append(errs, b.Commit())
		if err := errors.Join(errs...); err != nil {
			s.opts.Logger.Error("remove replica", "range", id, "err", err)
			return
		}
		s.removed.await(r)
		s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, r.RangeID()) })
	}()
}

// bury removes the local data of a replica from the engine, but not the keys of its range, and writes its
// tombstone.
func bury(b *storage.Batch, id kvpb.RangeID, next kvpb.ReplicaID) error {
	local := keys.RangeLocalSpan(uint64(id))
	return errors.Join(
		b.DeleteRange(local.Start, local.End),
		b.Set(keys.RangeTombstone(uint64(id)), binary.AppendUvarint(nil, uint64(next))),
	)
}

// forget drops a replica whose tombstone is durable.
func (s *Store) forget(r *replica.Replica) {
	s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, r.RangeID()) })
	if err := s.log.Destroy(raftlog.GroupID(r.RangeID()), uint64(r.ReplicaID())); err != nil {
		s.opts.Logger.Error("remove replica", "range", r.RangeID(), "err", err)
	}
}

// markRemoving marks a replica as being removed, or unmarks it. It reports whether the mark changed.
func (s *Store) markRemoving(id kvpb.RangeID, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.removing[id]
	if on {
		if s.removing == nil {
			s.removing = map[kvpb.RangeID]struct{}{}
		}
		s.removing[id] = struct{}{}
	} else {
		delete(s.removing, id)
	}
	return was != on
}

// Superseded compares replica r with a descriptor that may be newer than its own: that of its range, or of
// the range that now has its first key. It removes r if r is not part of that range, unless the merge that
// ended its own range may still be applied here (invariant S5).
func (s *Store) Superseded(r *replica.Replica, d *kvpb.RangeDescriptor) {
	next := d.NextReplicaID
	if d.RangeID != r.RangeID() {
		if !r.Initialized() {
			return // it has no first key
		}
		next = apply.MergedAway
	} else if hasReplica(d, r.ReplicaID()) {
		return
	}
	if r.Desc().Generation >= d.Generation || r.ReplicaID() >= next {
		return
	}
	if next == apply.MergedAway {
		pending, err := s.mayBeSubsumed(r)
		if err != nil && !errors.Is(err, raftlog.ErrCompacted) { // truncated meanwhile: a later descriptor will do
			s.opts.Logger.Error("the merge of a replica's range", "range", r.RangeID(), "err", err)
		}
		if err != nil || pending {
			return
		}
	}
	s.remove(r, next)
}

// noteDescriptor handles a change of a range's descriptor: it updates the index, and removes the replica if it
// is no longer part of the range.
func (s *Store) noteDescriptor(r *replica.Replica, old *kvpb.RangeDescriptor) {
	d := r.Desc()
	if len(old.EndKey) == 0 || !bytes.Equal(old.StartKey, d.StartKey) {
		s.change(func(map[kvpb.RangeID]*replica.Replica) {})
	}
	if !hasReplica(d, r.ReplicaID()) {
		s.remove(r, d.NextReplicaID)
		return
	}
	if r.Leads() && s.net.Transport != nil {
		for _, o := range old.Replicas {
			if !hasReplica(d, o.Replica) {
				s.net.Transport.Send(o.Node, MethodGone, gone(d, o))
			}
		}
	}
	if s.net.OnDescriptor != nil {
		s.net.OnDescriptor(r)
	}
}

// prepareSplit creates the log of a split's right half before the right half is in the engine, atomically with
// a write to the log of the left half. After a crash the log may already exist and hold votes.
func (s *Store) prepareSplit(right *kvpb.RangeDescriptor, left raftlog.Write) error {
	rep, ok := right.Replica(s.Identity().Store)
	if !ok {
		return nil
	}
	s.creating.Lock()
	defer s.creating.Unlock()
	if r, ok := s.Replica(right.RangeID); ok {
		// A message for the new range has arrived before the split was applied here, and has created a
		// replica without data. The split's replica takes its place and its log.
		r.Stop()
		must.True(!r.Initialized(), "S6: range %d has data here before it is split off", right.RangeID)
		s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, right.RangeID) })
	}
	st, ok := s.log.State(raftlog.GroupID(right.RangeID))
	switch {
	case !ok || st.Replica != uint64(rep.Replica):
		return s.log.Append([]raftlog.Write{newLog(right.RangeID, rep.Replica, raftlog.HardState{}), left})
	case st.Last >= apply.FirstIndex:
		return nil
	}
	return s.log.Append([]raftlog.Write{newLog(right.RangeID, rep.Replica, st.HardState), left})
}

// split creates the replica of a split's right half.
func (s *Store) split(_ *replica.Replica, right *kvpb.RangeDescriptor) (*replica.Replica, error) {
	rep, ok := right.Replica(s.Identity().Store)
	if !ok {
		return nil, nil
	}
	r, err := replica.New(s.deps(), right, rep.Replica)
	if err != nil {
		return nil, err
	}
	s.add(r)
	return r, nil // the caller starts it
}

// hasReplica reports whether a replica is part of a range.
func hasReplica(d *kvpb.RangeDescriptor, id kvpb.ReplicaID) bool {
	_, ok := d.ReplicaByID(id)
	return ok
}
