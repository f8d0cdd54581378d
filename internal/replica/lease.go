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

// admit returns an error unless the replica may serve a read at ts.
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

// coversNow reports whether a lease covers a read at the present time.
func (r *Replica) coversNow(l *lease.Lease) bool { return l.Alone || r.covers(l, r.deps.Clock.Now()) }

// admitWrite returns the fence for a write of keys, or an error if the replica may not evaluate it. It
// waits while the range is frozen.
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

// checkFence fails unless the lease and the bounds of a fence still hold. Otherwise locks acquired since the
// fence may be void, and data read since may be stale.
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

// Leads reports whether the replica leads its range and may serve now. It never blocks, not even while
// the clock waits for a stalled disk, since its callers may hold a mutex.
func (r *Replica) Leads() bool {
	l := r.lease.Load()
	return l != nil && (l.Alone || r.covers(l, r.deps.Clock.Reading()))
}

// ClaimsLeadership reports whether the replica leads or may soon lead: it campaigns, raft has elected it and
// it does not serve yet, or it offers its leadership to another replica.
func (r *Replica) ClaimsLeadership() bool {
	return r.Leads() || *r.leader.Load() == r.replicaID || r.splitOff.Load() || r.election.Candidacy() == lease.Campaigning
}

// Leader returns the replica that leads the range as far as this one knows.
func (r *Replica) Leader() (kvpb.ReplicaDescriptor, bool) {
	return r.Desc().ReplicaByID(*r.leader.Load())
}

func (r *Replica) notLeader() error {
	e := &kvpb.NotLeaderError{Range: r.id, Desc: r.Desc()}
	if r.election.Candidacy() != lease.NotCandidate { // the last known leader is gone
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

// moved returns the error for a key whose locks have left this replica. It sends the request to where they
// are now.
func (r *Replica) moved(key []byte) error {
	if r.Gone() || !r.Desc().ContainsKey(key) {
		return r.mismatch()
	}
	return r.notLeader()
}

// onlyVoter reports whether this replica is the range's only one.
func (r *Replica) onlyVoter() bool {
	d := r.Desc()
	return len(d.Replicas) == 1 && d.Replicas[0].Replica == r.replicaID
}

// beginLeadership makes the replica serve. It runs on the processing goroutine after an entry of the term was
// applied: the replica has all commits of earlier leaders, and the clock has passed all their reads.
func (r *Replica) beginLeadership(term uint64) {
	if l := r.lease.Load(); l != nil && l.Alone { // the only voter never stops serving
		r.storeLease(term, l.Revoked, nil)
		return
	}
	now := r.deps.Clock.Now()
	r.lastWrite.Store(now.WallTime)
	r.gc.begin(now.WallTime)
	r.lockTableID.Store(uint64(now.WallTime))
	r.merging.subsumedLockTables.Store(nil)
	low := now.Max(r.ClosedHere())
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

// inheritOther installs the locks that the left half has left to this range at the split. It does so only
// at the leader of the left half, and as the first leader of the range (invariant 7), and reports whether it
// did.
func (r *Replica) inheritOther() bool {
	r.inheritMu.Lock()
	defer r.inheritMu.Unlock()
	inherits := r.inherits && r.transfers.previousTerm == apply.FirstTerm
	if inherits {
		r.locks.Install(r.inherit)
		r.lockTableID.Store(r.inheritLockTableID)
		r.merging.subsumedLockTables.Store(r.inheritSubsumed)
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

// noteAnswer records a follower's answer in this term, and the epoch of its store's support at that time.
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

// endLeadership makes the replica stop serving. It empties the lock table, so that waiters get an error.
func (r *Replica) endLeadership() {
	r.endTracking()
	r.lease.Store(nil)
	r.idle.Store(false)
	r.Unquiesce()
	r.locks.Extract(nil, nil)
}

// stopServing makes the replica refuse all reads from now on, in this leadership and later ones. It must
// precede the ambiguous errors of pending commands: with these errors the commits cease to be in flight,
// though they may still be applied (invariant 1). The only voter continues, since no other replica can apply
// them.
func (r *Replica) stopServing() {
	r.stopped.Store(true) // beginLeadership reads it after it has stored its lease
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
