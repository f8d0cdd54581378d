package replica

import (
	"context"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// transferWait bounds the wait until a transfer may begin, and then the wait for the requests
	// under way, while new ones are refused.
	transferWait = time.Second
	// transferTimeout bounds the whole transfer. transferCheck is the interval at which the leader that
	// has exported its locks checks whether its leadership has ended.
	transferTimeout = 10 * time.Second
	transferCheck   = 200 * time.Millisecond
	// transferPoll is the interval at which the leader checks whether a transfer may begin.
	transferPoll = 10 * time.Millisecond
	// importPoll is the interval at which a request checks whether the record of the locks was removed.
	importPoll = time.Millisecond
	// maxTransferBytes bounds the record of the row locks. If the locks do not fit, TransferLeader gives
	// them up, and OfferLeader keeps the leadership.
	maxTransferBytes = 8 << 20
	// transferHeadBytes bounds the record without the locks: at most maxSubsumedLockTables ids and the
	// transactions of a txnintent.TxnSet.
	transferHeadBytes = 64 << 10
)

// lockTransfer is a replica's state of exports and imports of row locks.
type lockTransfer struct {
	lease.LockGate
	record chan struct{} // a semaphore of one, held to write or remove the record
	// appliedTerm is the term of the last entry applied, previousTerm the term before it: that of the
	// former leadership, which inheritOther needs. Both belong to the processing goroutine.
	previousTerm, appliedTerm uint64
}

// noteTerm records the term of an applied entry.
func (h *lockTransfer) noteTerm(term uint64) {
	if term != h.appliedTerm {
		h.previousTerm, h.appliedTerm = h.appliedTerm, term
	}
}

// lockSection is the section of a request that changes row locks. A gate excludes it while a transfer exports
// or imports the locks. The zero value is outside.
type lockSection struct {
	r  *Replica
	in bool
}

// enter waits until dropTransfer has removed the record of imported locks. It returns NotLeader
// if the gate is shut, or stays closed for transferWait.
func (s *lockSection) enter(ctx context.Context, r *Replica) error {
	s.r = r
	for began := time.Now(); ; {
		if s.in = r.transfers.Enter(); s.in {
			return nil
		}
		if r.transfers.IsShut() || r.lease.Load() == nil || time.Since(began) > transferWait {
			return r.notLeader()
		}
		if err := sleep.For(ctx, importPoll); err != nil {
			return err
		}
	}
}

// admit combines admitWrite and enter.
func (s *lockSection) admit(ctx context.Context, r *Replica, keys ...[]byte) (fence raftgroup.Fence, err error) {
	if fence, err = r.admitWrite(ctx, keys...); err == nil {
		err = s.enter(ctx, r)
	}
	return fence, err
}

func (s *lockSection) leave() {
	if s.in {
		s.in = false
		s.r.transfers.Leave()
	}
}

// TransferLeader begins to transfer the leadership, with the row locks, to another replica that is close
// to the end of the log. If the locks can't be exported, they are lost. It returns at once. It has no
// effect during a merge of the range: the caller calls it again.
func (r *Replica) TransferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, false) }

// OfferLeader is TransferLeader, but keeps the leadership if requests in progress take too long, or if
// there are too many row locks to export. The locks are lost only if the write of their record fails.
func (r *Replica) OfferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, true) }

// beginTransfer begins a transfer unless another one is in progress. If onlyWithLocks is set, the leadership
// stays when the locks can't be exported.
func (r *Replica) beginTransfer(to kvpb.ReplicaID, onlyWithLocks bool) {
	l := r.lease.Load()
	if l == nil {
		return
	}
	frozen := r.Desc().Into != 0
	switch {
	case l.Alone || l.Revoked.Load() || frozen && r.locks.Len() == 0:
		r.transfer(l.Term, to)
	case frozen: // the merge needs the locks here
	case r.transfers.Begin():
		r.tasks.run(func() { r.transferLocks(l, to, onlyWithLocks) })
	}
}

// isMerging reports whether the range is the left or the right one of a merge under way.
func (r *Replica) isMerging() bool {
	d := r.Desc()
	return d.Merging != 0 || d.Into != 0
}

// transfer makes raft transfer the leadership, but only in this term. In a later term this replica may
// have locks that were not exported, and raft on a follower would forward the request to the leader.
func (r *Replica) transfer(term uint64, to kvpb.ReplicaID) {
	r.group.Do(func() {
		if st := r.group.Raft().BasicStatus(); st.RaftState == raft.StateLeader && st.GetTerm() == term {
			r.group.Raft().TransferLeader(uint64(to))
		}
	})
}

// mayLead reports whether a replica is close enough to the end of the log to lead at once.
func (r *Replica) mayLead(ctx context.Context, to kvpb.ReplicaID) bool {
	answer := make(chan bool, 1)
	r.group.Do(func() {
		g := r.group
		p, ok := g.Raft().Status().Progress[uint64(to)]
		answer <- ok && p.State == tracker.StateReplicate && p.Match+maxBehind >= g.View.State.Last
	})
	select {
	case ok := <-answer:
		return ok
	case <-ctx.Done():
		return false
	}
}

// transferLocks exports the row locks to a record in the range and transfers the leadership. Once the locks
// have left the table, this leadership serves no more requests, even if the transfer fails. Only a leadership
// of a later term does, which may be this replica's own (Reclaim): it imports the locks.
//
// It may end in these ways, each of which leaves the lock gate in another state:
//
//	the other replica can't lead, or the locks do not fit     never shut    this replica leads on
//	the requests inside take too long                         open again    with onlyWithLocks it leads on; else
//	                                                                        it transfers, and the locks are lost
//	the locks do not fit any more                             open again    this replica leads on
//	the leadership ends while the requests are awaited        stays shut    the next leadership here opens it
//	the locks are exported, and another leadership begins     stays shut    the next leadership here opens it
//	the locks are exported, and nobody leads in time          stays shut    likewise; Reclaim campaigns
func (r *Replica) transferLocks(l *lease.Lease, to kvpb.ReplicaID, onlyWithLocks bool) {
	ctx, cancel := r.tasks.context(transferTimeout)
	defer cancel()
	fence, ready := r.awaitTransfer(ctx, l, to, onlyWithLocks)
	if !ready || onlyWithLocks && !r.locksFit() { // before requests have to wait
		r.transfers.GiveUp()
		return
	}
	r.transfers.Shut()
	began := time.Now()
	if !r.transfers.Drained(transferWait) {
		r.deps.Logger.Info("row locks are not transferred: requests take too long", "range", r.id, "leader_stays", onlyWithLocks)
		r.transfers.Open()
		if !onlyWithLocks && !r.isMerging() {
			r.transfer(l.Term, to)
		}
		return
	}
	if onlyWithLocks && !r.locksFit() { // again: no lock can be added from now on
		r.transfers.Open()
		return
	}
	if now := r.lease.Load(); now == nil || now.Term != l.Term {
		return // the leadership is lost; the next one here opens the gate
	}
	if since, err := r.admitWrite(ctx); err == nil && since.Term == fence.Term {
		fence = since // one of the requests in progress may have been a split
	}
	r.transfers.BeginExport()
	l.Revoked.Store(true) // before the locks go
	locks := r.locks.Len()
	if locks > 0 {
		r.exportLocks(l, fence)
	}
	r.transfer(l.Term, to)
	r.transfers.EndExport()
	if r.awaitNextTerm(ctx, l) {
		r.deps.Logger.Debug("leadership transferred", "range", r.id, "locks", locks, "after", time.Since(began))
	}
}

// awaitNextTerm waits until the leadership has ended, and campaigns where raft has given up its transfer. It
// returns false if ctx ends first.
func (r *Replica) awaitNextTerm(ctx context.Context, l *lease.Lease) bool {
	for ctx.Err() == nil {
		select {
		case <-time.After(transferCheck):
		case <-ctx.Done():
		}
		if now := r.lease.Load(); now == nil || now.Term != l.Term {
			return true
		}
		r.Reclaim() // takes effect once raft has given up the transfer
	}
	return false
}

// awaitTransfer waits until this leadership serves and the other replica could lead at once. A leadership
// whose lease lacks support has granted no locks so far, so TransferLeader transfers it without an export.
// ready is false if there is nothing left to do, or the other replica stays behind.
func (r *Replica) awaitTransfer(
	ctx context.Context, l *lease.Lease, to kvpb.ReplicaID, onlyWithLocks bool,
) (fence raftgroup.Fence, ready bool) {
	timeout := time.NewTimer(transferWait)
	defer timeout.Stop()
	for {
		fence, err := r.admitWrite(ctx)
		if now := r.lease.Load(); now == nil || now.Term != l.Term || now.Revoked.Load() {
			return fence, false
		}
		if err == nil && fence.Term == l.Term && !r.isMerging() && r.mayLead(ctx, to) {
			return fence, true
		}
		select {
		case <-time.After(transferPoll):
		case <-ctx.Done():
			return fence, false
		case <-timeout.C:
			if err != nil && !onlyWithLocks && !r.isMerging() {
				r.transfer(l.Term, to)
			}
			return fence, false
		}
	}
}

// locksFit reports whether exportLocks can write all row locks that are held.
func (r *Replica) locksFit() bool {
	size := 0
	r.locks.ForEach(func(l concurrency.Lock) bool {
		if !l.Waiting {
			size += lease.MaxEncodedLock(l.Key)
		}
		return size <= maxTransferBytes-transferHeadBytes
	})
	return size <= maxTransferBytes-transferHeadBytes
}

// exportLocks moves the row locks from the table to a record in the range. If the write fails, the locks are
// lost.
func (r *Replica) exportLocks(l *lease.Lease, fence raftgroup.Fence) {
	h := lease.Transfer{Term: l.Term, LockTableID: r.lockTableID.Load(), Locks: r.locks.Extract(nil, nil)}
	if all := r.merging.subsumedLockTables.Load(); all != nil {
		h.Subsumed = *all
	}
	r.abandoned.Each(func(id kvpb.TxnID) { h.Abandoned = append(h.Abandoned, id) })
	p := h.Encode()
	if len(p) > maxTransferBytes {
		r.deps.Logger.Warn("too many row locks to export", "range", r.id, "locks", len(h.Locks))
		return
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.SetRaw(keys.RangeLockTransfer(uint64(r.id)), p)
	select {
	case r.transfers.record <- struct{}{}:
		defer func() { <-r.transfers.record }()
	case <-time.After(transferWait):
		r.deps.Logger.Warn("exporting row locks: the last transfer's record is still being removed", "range", r.id)
		return
	}
	if err := r.group.Propose(fence, b.Bytes()); err != nil {
		r.deps.Logger.Warn("exporting row locks", "range", r.id, "err", err)
	}
}

// importLocks imports the row locks that an earlier leadership exported: while the record exists, no
// leadership has changed a lock. It runs when a leadership begins, after loadIntents.
func (r *Replica) importLocks(term uint64) error {
	r.transfers.Imported(0)
	p, ok, err := r.deps.Engine.GetUnversioned(keys.RangeLockTransfer(uint64(r.id)), nil)
	if err != nil || !ok {
		return err
	}
	h, err := lease.DecodeTransfer(p)
	if err != nil {
		return err
	}
	must.True(h.Term < term, "replica 4: leadership %d finds the locks of leadership %d", term, h.Term)
	r.lockTableID.Store(h.LockTableID)
	r.merging.subsumedLockTables.Store(&h.Subsumed)
	r.locks.Install(r.stillNeeded(h.Locks))
	for _, id := range h.Abandoned {
		r.abandoned.Add(id)
	}
	r.transfers.Imported(term)
	return nil
}

// stillNeeded drops exported locks that are no longer needed: the transaction has finished, the key
// belongs to another range, or the transaction is staged, so that its intent locks the key.
func (r *Replica) stillNeeded(locks []concurrency.Lock) []concurrency.Lock {
	d := r.Desc()
	kept := locks[:0]
	for _, l := range locks {
		id := kvpb.TxnID(l.Txn)
		if !r.finished.Find(id).Known && d.ContainsKey(l.Key) && !r.intents.Staged(id, l.Key) {
			kept = append(kept, l)
		}
	}
	return kept
}

// dropTransfer removes the record of the lock transfer that the leadership of a term has imported, and
// opens the gate (lease, invariant 6). It retries until it succeeds or the leadership ends.
func (r *Replica) dropTransfer(term uint64) {
	for r.tasks.open() {
		if l := r.lease.Load(); l == nil || l.Term != term {
			return
		}
		ctx, cancel := r.tasks.context(raftgroup.ProposalTimeout)
		err := r.tryDropTransfer(ctx, term)
		if err == nil {
			r.transfers.Removed(term)
		} else {
			r.deps.Logger.Debug("removing the record of a lock transfer", "range", r.id, "err", err)
			_ = sleep.For(ctx, pushFirst) // the leadership does not serve yet, or is about to end
		}
		cancel()
		if err == nil {
			return
		}
	}
}

// tryDropTransfer removes the record of the lock transfer once.
func (r *Replica) tryDropTransfer(ctx context.Context, term uint64) error {
	select {
	case r.transfers.record <- struct{}{}:
		defer func() { <-r.transfers.record }()
	case <-ctx.Done():
		return ctx.Err()
	}
	fence, err := r.admitWrite(ctx) // refused once this leadership exports
	if err != nil {
		return err
	}
	if fence.Term != term {
		return r.notLeader()
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.DeleteRaw(keys.RangeLockTransfer(uint64(r.id)))
	return r.group.Propose(fence, b.Bytes())
}
