package replica

import (
	"context"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	pb "go.etcd.io/raft/v3/raftpb"
)

// admit answers whether the replica may serve a read at ts.
func (r *Replica) admit(ts hlc.Timestamp) error {
	l := r.lease.Load()
	if l == nil || !r.covers(l, ts) {
		return r.notLeader()
	}
	return nil
}

// covers reports whether a lease covers a read at ts.
func (r *Replica) covers(l *lease.Lease, ts hlc.Timestamp) bool {
	return l.Covers(ts, r.deps.Clock.MaxOffset())
}

// coversNow reports whether a lease covers reads at the clock's present time.
func (r *Replica) coversNow(l *lease.Lease) bool { return l.Alone || r.covers(l, r.deps.Clock.Now()) }

// admitWrite answers whether the replica may evaluate a write of keys now, and
// behind which fence to propose it.
func (r *Replica) admitWrite(ctx context.Context, keys ...[]byte) (raftgroup.Fence, error) {
	l, desc := r.lease.Load(), r.Desc()
	if desc.Into != 0 {
		if err := r.awaitUnfreeze(ctx); err != nil {
			return raftgroup.Fence{}, err
		}
		l, desc = r.lease.Load(), r.Desc()
	}
	if l == nil || !r.coversNow(l) {
		return raftgroup.Fence{}, r.notLeader()
	}
	for _, k := range keys {
		if !desc.ContainsKey(k) {
			return raftgroup.Fence{}, r.mismatch()
		}
	}
	return raftgroup.Fence{Term: l.Term, BoundsGen: desc.BoundsGen}, nil
}

// checkFence fails unless the lease and the bounds of a fence still hold: a lock that was taken
// under others is void, and what was read may be old.
func (r *Replica) checkFence(f raftgroup.Fence) error {
	l := r.lease.Load()
	if l == nil || l.Term != f.Term || !r.coversNow(l) {
		return r.notLeader()
	}
	if r.Desc().BoundsGen != f.BoundsGen {
		return r.mismatch()
	}
	return nil
}

// Leads reports whether the replica leads its range and may serve now. It does not wait,
// not even while a disk that stands still has the clock wait: who asks may hold a mutex.
func (r *Replica) Leads() bool {
	l := r.lease.Load()
	return l != nil && (l.Alone || r.covers(l, r.deps.Clock.Reading()))
}

// Leader returns the replica that leads the range as far as this one knows.
func (r *Replica) Leader() (kvpb.ReplicaDescriptor, bool) {
	return r.Desc().ReplicaByID(*r.leader.Load())
}

func (r *Replica) notLeader() error {
	e := &kvpb.NotLeaderError{Range: r.id, Desc: r.Desc()}
	if r.election.Candidacy() != lease.NotCandidate { // the leader it knows is gone
		r.prioritizeElection()
		return e
	}
	if d, ok := r.Leader(); ok && d.Replica != r.replicaID {
		e.Leader = d
	}
	return e
}

func (r *Replica) mismatch() error {
	e := &kvpb.RangeMismatchError{Range: r.id}
	if s := r.merging.into.Load(); s != nil {
		e.Known = append(e.Known, *s.present())
		return e
	}
	if d := r.Desc(); len(d.EndKey) > 0 {
		e.Known = append(e.Known, *d)
	}
	if d := r.formerRight.Load(); d != nil {
		e.Known = append(e.Known, *d)
	}
	return e
}

// moved says where to ask for a key whose locks left this replica.
func (r *Replica) moved(key []byte) error {
	if r.Gone() || !r.Desc().ContainsKey(key) {
		return r.mismatch()
	}
	return r.notLeader()
}

// onlyVoter reports whether the range has this replica and no other.
func (r *Replica) onlyVoter() bool {
	d := r.Desc()
	return len(d.Replicas) == 1 && d.Replicas[0].Replica == r.replicaID
}

// beginLeadership makes the replica serve. It runs in the processing goroutine,
// after an entry of the term was applied: everything that an earlier leader
// committed is here, and what it read lies below the clock's time.
func (r *Replica) beginLeadership(term uint64) {
	if l := r.lease.Load(); l != nil && l.Alone { // it never ended
		r.storeLease(term, l.Revoked, nil)
		return
	}
	now := r.deps.Clock.Now()
	r.lastWrite.Store(now.WallTime)
	r.swept.begin(now.WallTime)
	r.epoch.Store(uint64(now.WallTime))
	r.merging.subsumedEpochs.Store(nil)
	low := now.Max(r.ClosedHere()) // which lies below it
	if r.inheritOther() {
		r.reads.RaiseLowWater(r.ClosedHere())
	} else if !plant.On(plant.ForgetReads) {
		r.reads.RaiseLowWater(low)
	}
	if err := r.loadThreshold(); err != nil {
		r.deps.Logger.Error("collection threshold", "range", r.id, "err", err)
		return
	}
	if err := r.loadIntents(low); err != nil {
		r.deps.Logger.Error("durable locks", "range", r.id, "err", err)
		return
	}
	if err := r.importLocks(term); err != nil {
		r.deps.Logger.Error("row locks of the former leader", "range", r.id, "err", err)
		return
	}
	r.raiseCertain()
	r.transfers.Open()
	r.storeLease(term, new(atomic.Bool), nil)
	if r.stopped.Load() {
		r.stopServing()
	}
	if r.transfers.Importing() == term {
		r.tasks.run(func() { r.dropTransfer(term) })
	}
	if r.deps.OnLeader != nil {
		r.deps.OnLeader(r)
	}
}

// inheritOther takes over what the leader of the range that this one was split off from
// knew of it, and reports whether that was this replica's store: nobody has led the range in
// between (invariant 7).
func (r *Replica) inheritOther() bool {
	r.inheritMu.Lock()
	defer r.inheritMu.Unlock()
	inherits := r.inherits && r.transfers.previousTerm == apply.FirstTerm
	if inherits {
		r.locks.Install(r.inherit)
		r.epoch.Store(r.inheritEpoch)
		r.merging.subsumedEpochs.Store(r.inheritSubsumed)
	}
	r.inherit, r.inherits = nil, false
	return inherits
}

// refreshLease makes the lease follow a change of the descriptor.
func (r *Replica) refreshLease() {
	if l := r.lease.Load(); l != nil {
		r.storeLease(l.Term, l.Revoked, l)
	}
}

func (r *Replica) storeLease(term uint64, revoked *atomic.Bool, old *lease.Lease) {
	from := func(s kvpb.StoreID) *liveness.Cell { return r.deps.Support.From(s) }
	r.lease.Store(lease.New(term, revoked, r.replicaID, r.Desc(), old, from))
}

// noteAnswer notes that a replica answered the leader in this term, while its store gave the
// support of an epoch.
func (g *group) noteAnswer(m *pb.Message, epoch int64) {
	l := g.r.lease.Load()
	if l == nil || l.Term != m.GetTerm() {
		return
	}
	s, ok := l.Supporter(kvpb.ReplicaID(m.GetFrom()))
	if !ok {
		return
	}
	s.NoteAnswer(epoch, func() bool { return g.applier.State().Index >= g.Raft().BasicStatus().GetCommit() })
	if m.GetType() == pb.MsgAppResp && !m.GetReject() {
		s.NoteMatch(m.GetIndex())
	}
}

// endLeadership makes the replica stop serving: its locks are gone, and those who
// wait for one learn of it.
func (r *Replica) endLeadership() {
	r.endTracking()
	r.lease.Store(nil)
	r.idle.Store(false)
	r.Unquiesce()
	r.locks.Extract(nil, nil)
}

// stopServing makes the replica answer no read in its leadership any more, nor in a later one. It
// comes before those who wait for commands learn that the outcome is not known: from
// then on commits are not in flight any more that may happen all the same (invariant 1).
// The only voter goes on: nobody else makes them happen.
func (r *Replica) stopServing() {
	r.stopped.Store(true) // beginLeadership looks at it when its lease is there
	if l := r.lease.Load(); l != nil && !l.Alone {
		l.Revoked.Store(true)
	}
}

func (r *Replica) noteLeader(id uint64) {
	if rid := kvpb.ReplicaID(id); *r.leader.Load() != rid {
		if rid != 0 {
			r.group.stepElection(&lease.ElectionEvent{Type: lease.KnowLeader})
		}
		r.leader.Store(&rid)
		r.Unquiesce()
	}
}
