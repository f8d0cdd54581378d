package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/pause"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

const (
	// handoverPatience is how long a leader that is to hand over waits until it may, and then
	// for the requests under way; new ones are refused meanwhile. If those take longer, the
	// row locks are lost with the leadership.
	handoverPatience = time.Second
	// handoverTimeout bounds the whole, handoverCheck is how often the leader looks
	// whether it has been succeeded.
	handoverTimeout = 10 * time.Second
	handoverCheck   = 200 * time.Millisecond
	// handoverPoll is how often the leader looks whether a handover may begin.
	handoverPoll = 10 * time.Millisecond
	// takenPoll is how often a request looks whether the record of the locks was removed.
	takenPoll = time.Millisecond
	// maxHandoverBytes bounds the row locks that are handed over: with more, all are
	// lost with the leadership.
	maxHandoverBytes = 8 << 20
	// maxOffered is with how many row locks a leadership is offered, which are no more bytes.
	maxOffered = 1 << 16
	// handoverVersion is the format of the record.
	handoverVersion = 1
)

// handing keeps a leader's requests that change row locks apart from the moment at
// which it takes the locks to hand them over.
type handing struct {
	inside atomic.Int64
	shut   atomic.Bool   // from then on until the next leadership begins
	empty  chan struct{} // has one when the last one inside left, being shut
	begun  atomic.Bool   // a transfer is under way
	giving atomic.Bool   // the locks are, raft has not heard of the transfer yet
	// taken is the term of the leadership that has found the record of a handover, until it has
	// removed it; else 0. Until then nothing changes row locks (invariant R6).
	taken  atomic.Uint64
	record chan struct{} // has one while the record of a handover is being written or removed
	// present is the term of the last entry applied, former the one of the last entry of
	// another term: of the leadership before. Both belong to the processing goroutine.
	former, present uint64
}

// enter admits a request that changes row locks; it calls leave, also before it waits
// for others.
func (h *handing) enter() bool {
	if h.reenter() {
		return true
	}
	h.leave()
	return false
}

func (h *handing) leave() {
	if h.inside.Add(-1) == 0 && h.shut.Load() {
		select {
		case h.empty <- struct{}{}:
		default:
		}
	}
}

// wait returns when nobody is inside any more, being shut; false if that takes longer
// than patience.
func (h *handing) wait(patience time.Duration) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	for h.inside.Load() > 0 {
		select {
		case <-h.empty:
		case <-late.C:
			return h.inside.Load() == 0
		}
	}
	return true
}

// reenter is enter after a leave. It counts the request even if that is too late, which it
// reports by false: the locks may be on their way then.
func (h *handing) reenter() bool {
	h.inside.Add(1)
	return !h.shut.Load() && (h.taken.Load() == 0 || plant.On(plant.LocksBesideRecord))
}

// open lets requests in again.
func (h *handing) open() {
	h.shut.Store(false)
	h.begun.Store(false)
}

// noteTerm hears of the term of each entry applied.
func (h *handing) noteTerm(term uint64) {
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
		if s.in = r.handing.enter(); s.in {
			return nil
		}
		if r.handing.shut.Load() || r.lease.Load() == nil || time.Since(began) > handoverPatience {
			return r.notLeader()
		}
		if err := pause.For(ctx, takenPoll); err != nil {
			return err
		}
	}
}

// admit is admitWrite and enter.
func (s *lockSection) admit(ctx context.Context, r *Replica, keys ...[]byte) (under raftgroup.Fence, err error) {
	if under, err = r.admitWrite(ctx, keys...); err == nil {
		err = s.enter(ctx, r)
	}
	return under, err
}

func (s *lockSection) leave() {
	if s.in {
		s.in = false
		s.r.handing.leave()
	}
}

// TransferLeader makes another replica the leader, if it has the log, and hands it
// the row locks; if that can't be, the leadership goes without them. It returns at once.
func (r *Replica) TransferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, false) }

// OfferLeader is TransferLeader if the row locks can go too: nothing happens otherwise.
func (r *Replica) OfferLeader(to kvpb.ReplicaID) { r.beginTransfer(to, true) }

func (r *Replica) beginTransfer(to kvpb.ReplicaID, whole bool) {
	l := r.lease.Load()
	if l == nil {
		return
	}
	if l.alone || l.given.Load() || r.Desc().Into != 0 {
		r.transfer(l.term, to)
		return
	}
	if r.handing.begun.CompareAndSwap(false, true) {
		r.tasks.run(func() { r.handOver(l, to, whole) })
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
	told := make(chan bool, 1)
	r.group.Do(func() {
		g := r.group
		p, ok := g.Raft().Status().Progress[uint64(to)]
		told <- ok && p.State == tracker.StateReplicate && p.Match+maxBehind >= g.View.State.Last
	})
	select {
	case ok := <-told:
		return ok
	case <-ctx.Done():
		return false
	}
}

// handOver writes the row locks into the range for the next leadership, and ends this
// one. From the moment at which it takes them this leader serves nothing any more,
// even if it stays leader: only a leadership of a later term does, perhaps its own
// (Reclaim), and takes the locks over. whole is that of OfferLeader.
func (r *Replica) handOver(l *lease, to kvpb.ReplicaID, whole bool) {
	ctx, cancel := r.tasks.context(handoverTimeout)
	defer cancel()
	under, ready := r.awaitHandover(ctx, l, to, whole)
	if !ready || whole && r.locks.Len() > maxOffered {
		r.handing.begun.Store(false)
		return
	}
	r.handing.shut.Store(true)
	began := time.Now()
	if !r.handing.wait(handoverPatience) {
		r.deps.Logger.Info("row locks are not handed over: requests take too long", "range", r.id, "stays", whole)
		r.handing.open()
		if !whole {
			r.transfer(l.term, to)
		}
		return
	}
	if now := r.lease.Load(); now == nil || now.term != l.term {
		return // lost meanwhile; who leads next opens
	}
	r.handing.giving.Store(true)
	l.given.Store(true) // before the locks go
	locks := r.locks.Len()
	if locks > 0 {
		r.giveLocks(l, under)
	}
	r.transfer(l.term, to)
	r.handing.giving.Store(false)
	for ctx.Err() == nil {
		select {
		case <-time.After(handoverCheck):
		case <-ctx.Done():
		}
		if now := r.lease.Load(); now == nil || now.term != l.term {
			r.deps.Logger.Debug("leadership handed over", "range", r.id, "locks", locks, "after", time.Since(began))
			return
		}
		r.Reclaim() // once raft has given the transfer up
	}
}

// awaitHandover waits until this leadership serves, which one that has just begun does not
// yet, and the other replica could lead at once. A leadership that does not come to serve
// has no use of its locks: it ends without them. If the other replica stays behind, nothing
// happens.
func (r *Replica) awaitHandover(ctx context.Context, l *lease, to kvpb.ReplicaID, whole bool) (under raftgroup.Fence, ready bool) {
	late := time.NewTimer(handoverPatience)
	defer late.Stop()
	for {
		under, err := r.admitWrite(ctx)
		if now := r.lease.Load(); now == nil || now.term != l.term || now.given.Load() {
			return under, false
		}
		if err == nil && under.Term == l.term && r.mayLead(ctx, to) {
			return under, true
		}
		select {
		case <-time.After(handoverPoll):
		case <-ctx.Done():
			return under, false
		case <-late.C:
			if err != nil && !whole {
				r.transfer(l.term, to)
			}
			return under, false
		}
	}
}

func (r *Replica) giveLocks(l *lease, under raftgroup.Fence) {
	h := handover{term: l.term, epoch: r.epoch.Load(), locks: r.locks.Extract(nil, nil)}
	if all := r.merging.adopted.Load(); all != nil {
		h.adopted = *all
	}
	r.abandoned.Each(func(id kvpb.TxnID) { h.abandoned = append(h.abandoned, id) })
	p := h.encode()
	if len(p) > maxHandoverBytes {
		r.deps.Logger.Warn("too many row locks to hand over", "range", r.id, "locks", len(h.locks))
		return
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.SetRaw(keys.RangeHandover(uint64(r.id)), p)
	select {
	case r.handing.record <- struct{}{}:
		defer func() { <-r.handing.record }()
	case <-time.After(handoverPatience):
		r.deps.Logger.Warn("handing over row locks: the last handover's record is still being removed", "range", r.id)
		return
	}
	if err := r.group.propose(under, b.Bytes()); err != nil {
		r.deps.Logger.Warn("handing over row locks", "range", r.id, "err", err)
	}
}

// takeOver takes over the row locks that a leadership before this one handed over: while its
// record is there no other has changed any. It runs when a leadership begins, after what is
// provisional was loaded.
func (r *Replica) takeOver(term uint64) error {
	r.handing.taken.Store(0)
	p, ok, err := r.deps.Engine.GetUnversioned(keys.RangeHandover(uint64(r.id)), nil)
	if err != nil || !ok {
		return err
	}
	h, err := decodeHandover(p)
	if err != nil {
		return err
	}
	must.True(h.term < term, "R6: leadership %d finds the locks of leadership %d", term, h.term)
	r.epoch.Store(h.epoch)
	r.merging.adopted.Store(&h.adopted)
	r.locks.Install(r.unfinished(h.locks))
	for _, id := range h.abandoned {
		r.abandoned.Add(id)
	}
	r.handing.taken.Store(term)
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

// dropHandover removes the record of a handover that the leadership of a term has read
// (invariant R24), and lets requests in that change row locks. It ends with the leadership.
func (r *Replica) dropHandover(term uint64) {
	for r.tasks.open() {
		if l := r.lease.Load(); l == nil || l.term != term {
			return
		}
		ctx, cancel := r.tasks.context(raftgroup.ProposalTimeout)
		err := r.tryDropHandover(ctx, term)
		if err == nil {
			r.handing.taken.CompareAndSwap(term, 0) // a later leadership may have found another
		} else {
			r.deps.Logger.Debug("removing a handover", "range", r.id, "err", err)
			_ = pause.For(ctx, pushFirst) // it is about to serve, or to end
		}
		cancel()
		if err == nil {
			return
		}
	}
}

func (r *Replica) tryDropHandover(ctx context.Context, term uint64) error {
	select {
	case r.handing.record <- struct{}{}:
		defer func() { <-r.handing.record }()
	case <-ctx.Done():
		return ctx.Err()
	}
	under, err := r.admitWrite(ctx) // refused once this leadership hands over
	if err != nil {
		return err
	}
	if under.Term != term {
		return r.notLeader()
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, r.deps.Clock.Now())
	b.DeleteRaw(keys.RangeHandover(uint64(r.id)))
	return r.group.propose(under, b.Bytes())
}

// handover is what a leader hands to the next one.
type handover struct {
	term, epoch uint64
	adopted     []uint64
	abandoned   []kvpb.TxnID
	locks       []concurrency.Lock // sorted by key
}

func (h *handover) encode() []byte {
	b := []byte{handoverVersion}
	b = binary.AppendUvarint(b, h.term)
	b = binary.AppendUvarint(b, h.epoch)
	b = binary.AppendUvarint(b, uint64(len(h.adopted)))
	for _, e := range h.adopted {
		b = binary.AppendUvarint(b, e)
	}
	b = binary.AppendUvarint(b, uint64(len(h.abandoned)))
	for _, id := range h.abandoned {
		b = binary.AppendUvarint(binary.AppendUvarint(b, id.Hi), id.Lo)
	}
	b = binary.AppendUvarint(b, uint64(len(h.locks)))
	for _, l := range h.locks {
		b = encoding.AppendLenBytes(b, l.Key)
		b = binary.AppendUvarint(binary.AppendUvarint(b, l.Txn.Hi), l.Txn.Lo)
		b = append(b, byte(l.Strength))
	}
	return b
}

var errHandover = errors.New("replica: damaged handover record")

func decodeHandover(b []byte) (h handover, err error) {
	if len(b) == 0 || b[0] != handoverVersion {
		return h, fmt.Errorf("%w: unknown form", errHandover)
	}
	r := encoding.NewReader(b[1:])
	h.term, h.epoch = r.Uvarint(), r.Uvarint()
	for n := r.Count(1); n > 0; n-- {
		h.adopted = append(h.adopted, r.Uvarint())
	}
	for n := r.Count(2); n > 0; n-- {
		h.abandoned = append(h.abandoned, kvpb.TxnID{Hi: r.Uvarint(), Lo: r.Uvarint()})
	}
	for n := r.Count(4); n > 0; n-- {
		l := concurrency.Lock{Key: r.LenBytes(), Txn: concurrency.TxnID{Hi: r.Uvarint(), Lo: r.Uvarint()}}
		l.Strength = concurrency.Strength(r.Byte())
		if l.Strength == concurrency.None || l.Strength > concurrency.Update || l.Txn.IsZero() {
			return h, errHandover
		}
		h.locks = append(h.locks, l)
	}
	if r.Bad() {
		return h, errHandover
	}
	return h, nil
}
