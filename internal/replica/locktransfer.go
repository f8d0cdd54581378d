package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/sleep"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

const (
	// transferWait is how long a leader that is to transfer its locks waits until it may, and then
	// for the requests under way; new ones are refused meanwhile. If those take longer, the
	// row locks are lost with the leadership.
	transferWait = time.Second
	// transferTimeout bounds the whole, transferCheck is how often the leader looks
	// whether it has been succeeded.
	transferTimeout = 10 * time.Second
	transferCheck   = 200 * time.Millisecond
	// transferPoll is how often the leader looks whether a transfer may begin.
	transferPoll = 10 * time.Millisecond
	// importPoll is how often a request looks whether the record of the locks was removed.
	importPoll = time.Millisecond
	// maxTransferBytes bounds the row locks that are exported: with more, all are
	// lost with the leadership.
	maxTransferBytes = 8 << 20
	// maxOffered is with how many row locks a leadership is offered, which are no more bytes.
	maxOffered = 1 << 16
)

// lockTransfer is what a replica knows of exports and imports of its row locks.
type lockTransfer struct {
	lease.Gate
	record chan struct{} // has one while the record is being written or removed
	// present is the term of the last entry applied, former the one of the last entry of
	// another term: of the leadership before. Both belong to the processing goroutine.
	former, present uint64
}

// noteTerm notes the term of an entry applied.
func (h *lockTransfer) noteTerm(term uint64) {
	if term != h.present {
		h.former, h.present = h.present, term
	}
}

// lockSection is a request's stay among those that change row locks. The zero value
// is outside.
type lockSection struct {
	r  *Replica
	in bool
}

// enter waits while the leadership has not removed the record of the locks that it took over.
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

// admit is admitWrite and enter.
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

// TransferLeader makes another replica the leader, if it has the log, and transfers it
// the row locks; if that can't be, the leadership goes without them. It returns at once.
func (r *Replica) TransferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, false) }

// OfferLeader is TransferLeader if the row locks can go too: nothing happens otherwise.
func (r *Replica) OfferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, true) }

func (r *Replica) beginTransfer(to kvpb.ReplicaID, whole bool) {
	l := r.lease.Load()
	if l == nil {
		return
	}
	if l.Alone || l.Revoked.Load() || r.Desc().Into != 0 {
		r.transfer(l.Term, to)
		return
	}
	if r.transfers.Begin() {
		r.tasks.run(func() { r.transferLocks(l, to, whole) })
	}
}

// transfer has raft transfer the leadership of a term. A later one may be this replica's too:
// it has locks of its own, and a follower would have the leader give its leadership away.
func (r *Replica) transfer(term uint64, to kvpb.ReplicaID) {
	r.group.Do(func() {
		if st := r.group.Raft().BasicStatus(); st.RaftState == raft.StateLeader && st.GetTerm() == term {
			r.group.Raft().TransferLeader(uint64(to))
		}
	})
}

// mayLead reports whether a replica is so near the end of the log that it can lead at
// once.
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

// transferLocks writes the row locks into the range for the next leadership, and ends this
// one. From the moment at which it takes them this leader serves nothing any more,
// even if it stays leader: only a leadership of a later term does, perhaps its own
// (Reclaim), and takes the locks over. whole is that of OfferLeader.
func (r *Replica) transferLocks(l *lease.Lease, to kvpb.ReplicaID, whole bool) {
	ctx, cancel := r.tasks.context(transferTimeout)
	defer cancel()
	fence, ready := r.awaitTransfer(ctx, l, to, whole)
	if !ready || whole && r.locks.Len() > maxOffered {
		r.transfers.GiveUp()
		return
	}
	r.transfers.Shut()
	began := time.Now()
	if !r.transfers.Drained(transferWait) {
		r.deps.Logger.Info("row locks are not transferred: requests take too long", "range", r.id, "stays", whole)
		r.transfers.Open()
		if !whole {
			r.transfer(l.Term, to)
		}
		return
	}
	if now := r.lease.Load(); now == nil || now.Term != l.Term {
		return // lost meanwhile; who leads next opens
	}
	if since, err := r.admitWrite(ctx); err == nil && since.Term == fence.Term {
		fence = since // a split may have been among the requests that were waited for
	}
	r.transfers.BeginExport()
	l.Revoked.Store(true) // before the locks go
	locks := r.locks.Len()
	if locks > 0 {
		r.exportLocks(l, fence)
	}
	r.transfer(l.Term, to)
	r.transfers.EndExport()
	for ctx.Err() == nil {
		select {
		case <-time.After(transferCheck):
		case <-ctx.Done():
		}
		if now := r.lease.Load(); now == nil || now.Term != l.Term {
			r.deps.Logger.Debug("leadership transferred", "range", r.id, "locks", locks, "after", time.Since(began))
			return
		}
		r.Reclaim() // once raft has given the transfer up
	}
}

// awaitTransfer waits until this leadership serves, which one that has just begun does not
// yet, and the other replica could lead at once. A leadership that does not come to serve
// has no use of its locks: it ends without them. If the other replica stays behind, nothing
// happens.
func (r *Replica) awaitTransfer(ctx context.Context, l *lease.Lease, to kvpb.ReplicaID, whole bool) (fence raftgroup.Fence, ready bool) {
	late := time.NewTimer(transferWait)
	defer late.Stop()
	for {
		fence, err := r.admitWrite(ctx)
		if now := r.lease.Load(); now == nil || now.Term != l.Term || now.Revoked.Load() {
			return fence, false
		}
		if err == nil && fence.Term == l.Term && r.mayLead(ctx, to) {
			return fence, true
		}
		select {
		case <-time.After(transferPoll):
		case <-ctx.Done():
			return fence, false
		case <-late.C:
			if err != nil && !whole {
				r.transfer(l.Term, to)
			}
			return fence, false
		}
	}
}

func (r *Replica) exportLocks(l *lease.Lease, fence raftgroup.Fence) {
	h := lease.Transfer{Term: l.Term, Epoch: r.epoch.Load(), Locks: r.locks.Extract(nil, nil)}
	if all := r.merging.subsumedEpochs.Load(); all != nil {
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

// importLocks imports the row locks that a leadership before this one exported: while its
// record is there no other has changed any. It runs when a leadership begins, after what is
// provisional was loaded.
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
	r.epoch.Store(h.Epoch)
	r.merging.subsumedEpochs.Store(&h.Subsumed)
	r.locks.Install(r.unfinished(h.Locks))
	for _, id := range h.Abandoned {
		r.abandoned.Add(id)
	}
	r.transfers.Imported(term)
	return nil
}

// unfinished returns the locks but for those of transactions that were on their way
// when they were taken: one that has ended holds none, and of one that is staged the
// durable locks stand for those on its keys.
func (r *Replica) unfinished(locks []concurrency.Lock) []concurrency.Lock {
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

// dropTransfer removes the record of a lock transfer that the leadership of a term has read
// (lease, invariant 6), and lets requests in that change row locks. It ends with the leadership.
func (r *Replica) dropTransfer(term uint64) {
	for r.tasks.open() {
		if l := r.lease.Load(); l == nil || l.Term != term {
			return
		}
		ctx, cancel := r.tasks.context(raftgroup.ProposalTimeout)
		err := r.tryDropTransfer(ctx, term)
		if err == nil {
			r.transfers.Removed(term) // a later leadership may have found another
		} else {
			r.deps.Logger.Debug("removing the record of a lock transfer", "range", r.id, "err", err)
			_ = sleep.For(ctx, pushFirst) // it is about to serve, or to end
		}
		cancel()
		if err == nil {
			return
		}
	}
}

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
