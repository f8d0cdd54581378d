package replica

import (
	"context"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	pb "go.etcd.io/raft/v3/raftpb"
)

// lease is a leadership: until when it may answer reads without asking the other
// replicas (docs/decisions/0007, Leases).
type lease struct {
	term uint64
	// alone says that there is no other voter.
	alone bool
	// quorums are the majorities that must support the leader: one, or two while
	// the configuration is joint.
	quorums [][]supporter
	// given says that the leadership was offered to another replica, which may
	// have taken it without anybody's support expiring.
	given *atomic.Bool
}

// supporter is one voter as the leader sees it. Its store's support counts once
// the replica has answered in this term: it knows then whom it supports.
type supporter struct {
	replica kvpb.ReplicaID
	store   kvpb.StoreID
	cell    *liveness.Cell // nil: the leader itself
	// answered is the epoch of the support under which the replica last answered in
	// this term; a later one may have begun after a vote for somebody else.
	answered *atomic.Int64
	// match is the last entry that the replica is known to have.
	match *atomic.Uint64
}

// maxVoters bounds the voters of a range.
const maxVoters = 9

// until returns the timestamp below which reads may be answered.
func (l *lease) until() hlc.Timestamp {
	if l.alone {
		return hlc.MaxTimestamp
	}
	if l.given.Load() && !plant.On(plant.ReadAfterTimeoutNow) {
		return hlc.Timestamp{}
	}
	least := hlc.MaxTimestamp
	for _, q := range l.quorums {
		least = least.Min(supportOf(q))
	}
	return least
}

// supportOf returns until when a majority supports the leader.
func supportOf(q []supporter) hlc.Timestamp {
	var sorted [maxVoters]hlc.Timestamp // descending
	n := 0
	for i := range q {
		ts := hlc.MaxTimestamp
		if q[i].cell != nil {
			ts = hlc.Timestamp{}
			if s := q[i].cell.Support(); s.Epoch == q[i].answered.Load() {
				ts = s.Until
			}
		}
		at := n
		for at > 0 && sorted[at-1].Less(ts) {
			sorted[at] = sorted[at-1]
			at--
		}
		sorted[at] = ts
		n++
	}
	return sorted[n/2]
}

// admit answers whether the replica may serve a read at ts.
func (r *Replica) admit(ts hlc.Timestamp) error {
	l := r.lease.Load()
	if l == nil || !r.covers(l, ts) {
		return r.notLeader()
	}
	return nil
}

// covers reports whether a lease covers a read at ts. By its own clock a leader that
// was succeeded may still be within its lease: a write that the successor has
// acknowledged by then lies above it, and at most the clocks' offset above what
// this clock calls now.
func (r *Replica) covers(l *lease, ts hlc.Timestamp) bool {
	if l.alone {
		return true
	}
	ts.WallTime += int64(r.deps.Clock.MaxOffset())
	return ts.Less(l.until())
}

// coversNow reports whether a lease covers reads at the clock's present time.
func (r *Replica) coversNow(l *lease) bool { return l.alone || r.covers(l, r.deps.Clock.Now()) }

// admitWrite answers whether the replica may evaluate a write of keys now, and
// behind which fence to propose it.
func (r *Replica) admitWrite(ctx context.Context, keys ...[]byte) (raftgroup.Fence, error) {
	l, desc := r.lease.Load(), r.Desc()
	if desc.Into != 0 {
		if err := r.awaitThaw(ctx); err != nil {
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
	return raftgroup.Fence{Term: l.term, BoundsGen: desc.BoundsGen}, nil
}

// stillUnder answers whether the lease and the bounds of a fence still hold: a lock taken
// under others is of no use, and what was read may be old.
func (r *Replica) stillUnder(t raftgroup.Fence) error {
	l := r.lease.Load()
	if l == nil || l.term != t.Term || !r.coversNow(l) {
		return r.notLeader()
	}
	if r.Desc().BoundsGen != t.BoundsGen {
		return r.mismatch()
	}
	return nil
}

// Leads reports whether the replica leads its range and may serve now. It does not wait,
// not even while a disk that stands still has the clock wait: who asks may hold a mutex.
func (r *Replica) Leads() bool {
	l := r.lease.Load()
	return l != nil && (l.alone || r.covers(l, r.deps.Clock.Reading()))
}

// Leader returns the replica that leads the range as far as this one knows.
func (r *Replica) Leader() (kvpb.ReplicaDescriptor, bool) {
	return r.Desc().ReplicaByID(*r.leader.Load())
}

func (r *Replica) notLeader() error {
	e := &kvpb.NotLeaderError{Range: r.id, Desc: r.Desc()}
	if r.candidacy.Load() != settled { // the leader it knows is gone
		r.hurryElection()
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

// isVoter reports whether a replica votes, and whether it does in the incoming
// and the outgoing half of a joint configuration.
func isVoter(t kvpb.ReplicaType) (incoming, outgoing bool) {
	switch t {
	case kvpb.Voter:
		return true, true
	case kvpb.VoterIncoming:
		return true, false
	case kvpb.VoterOutgoing:
		return false, true
	}
	return false, false
}

// beginLeadership makes the replica serve. It runs in the processing goroutine,
// after an entry of the term was applied: everything that an earlier leader
// committed is here, and what it read lies below the clock's time.
func (r *Replica) beginLeadership(term uint64) {
	if l := r.lease.Load(); l != nil && l.alone { // it never ended
		r.storeLease(term, l.given, nil)
		return
	}
	now := r.deps.Clock.Now()
	r.lastWrite.Store(now.WallTime)
	r.swept.begin(now.WallTime)
	r.epoch.Store(uint64(now.WallTime))
	r.merging.adopted.Store(nil)
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
	if err := r.takeOver(term); err != nil {
		r.deps.Logger.Error("row locks of the former leader", "range", r.id, "err", err)
		return
	}
	r.raiseCertain()
	r.handing.open()
	r.storeLease(term, new(atomic.Bool), nil)
	if r.ceased.Load() {
		r.cease()
	}
	if r.handing.taken.Load() == term {
		r.tasks.run(func() { r.dropHandover(term) })
	}
	if r.deps.OnLeader != nil {
		r.deps.OnLeader(r)
	}
}

// inheritOther takes over what the leader of the range that this one was split off from
// knew of it, and reports whether that was this replica's store: nobody has led the range in
// between (invariant R40).
func (r *Replica) inheritOther() bool {
	r.inheritMu.Lock()
	defer r.inheritMu.Unlock()
	inherits := r.inherits && r.handing.former == apply.FirstTerm
	if inherits {
		r.locks.Install(r.inherit)
		r.epoch.Store(r.inheritEpoch)
		r.merging.adopted.Store(r.inheritAdopted)
	}
	r.inherit, r.inherits = nil, false
	return inherits
}

// refreshLease makes the lease follow a change of the descriptor.
func (r *Replica) refreshLease() {
	if l := r.lease.Load(); l != nil {
		r.storeLease(l.term, l.given, l.quorums)
	}
}

func (r *Replica) storeLease(term uint64, given *atomic.Bool, old [][]supporter) {
	l := &lease{term: term, given: given, alone: r.onlyVoter()}
	var in, out []supporter
	desc := r.Desc()
	for _, d := range desc.Replicas {
		i, o := isVoter(d.Type)
		if !i && !o {
			continue
		}
		s := r.supporter(d, old)
		if i {
			in = append(in, s)
		}
		if o {
			out = append(out, s)
		}
	}
	l.quorums = [][]supporter{in}
	if desc.Joint() {
		l.quorums = append(l.quorums, out)
	}
	r.lease.Store(l)
}

func (r *Replica) supporter(d kvpb.ReplicaDescriptor, old [][]supporter) supporter {
	s := supporter{replica: d.Replica, store: d.Store}
	if d.Replica == r.replicaID {
		return s
	}
	for _, q := range old {
		for _, o := range q {
			if o.replica == d.Replica {
				return o
			}
		}
	}
	s.answered, s.match = new(atomic.Int64), new(atomic.Uint64)
	s.cell = r.deps.Support.From(d.Store)
	return s
}

// noteAnswer hears that a replica answered the leader in this term, while its store
// gave the support of an epoch.
func (r *Replica) noteAnswer(m *pb.Message, epoch int64) {
	l := r.lease.Load()
	if l == nil || l.term != m.GetTerm() {
		return
	}
	for _, q := range l.quorums {
		for i := range q {
			if s := &q[i]; s.replica == kvpb.ReplicaID(m.GetFrom()) && s.answered != nil {
				r.group.noteSupporter(s, m, epoch)
			}
		}
	}
}

// noteSupporter notes an answer. Support that begins anew counts only once all that is known
// to be committed is applied here: its giver was free meanwhile to vote in a range that a
// split, not applied here yet, has made of a part of this one (supportsOther).
func (g *group) noteSupporter(s *supporter, m *pb.Message, epoch int64) {
	if s.answered.Load() < epoch && g.applier.State().Index >= g.Raft().BasicStatus().GetCommit() {
		s.answered.Store(epoch)
	}
	if m.GetType() == pb.MsgAppResp && !m.GetReject() && s.match.Load() < m.GetIndex() {
		s.match.Store(m.GetIndex())
	}
}

// endLeadership makes the replica stop serving: its locks are gone, and those who
// wait for one are told.
func (r *Replica) endLeadership() {
	r.endRest()
	r.lease.Store(nil)
	r.idle.Store(false)
	r.Wake()
	r.locks.Extract(nil, nil)
}

// cease makes the replica answer no read in its leadership any more, nor in a later one. It
// comes before those who wait for commands are told that the outcome is not known: from
// then on commits are not in flight any more that may happen all the same (invariant R22).
// The only voter goes on: nobody else makes them happen.
func (r *Replica) cease() {
	r.ceased.Store(true) // beginLeadership looks at it when its lease is there
	if l := r.lease.Load(); l != nil && !l.alone {
		l.given.Store(true)
	}
}

func (r *Replica) noteLeader(id uint64) {
	if id != 0 {
		r.presumed = presumption{} // who leads now was elected with regard to it
	}
	if rid := kvpb.ReplicaID(id); *r.leader.Load() != rid {
		r.leader.Store(&rid)
		r.Wake()
	}
}
