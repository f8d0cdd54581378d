package lease

import (
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/plant"
)

// MaxVoters bounds the voters of a range.
const MaxVoters = 9

// Lease is a leadership, with the time until which it may answer reads without asking the other replicas
// (docs/decisions/0007, Leases). It rests on promises of whole stores (package liveness) not to help elect
// another leader:
//
//	voter's store ── supports the leader's store until T, in epoch E ──► Cell
//	voter ── answers the leader in this term, under epoch E ──► Supporter.answered = E
//
//	              the T that a majority reaches, of cells with the answered epoch
//	                                     │
//	   reads below it, less the clocks' offset, are answered ──► Covers
//
//	revoked: the leadership was offered to another replica, which may have taken it without
//	anybody's support expiring ──► nothing is covered any more
type Lease struct {
	// Term is the raft term of the leadership, and the lease's sequence.
	Term uint64
	// Alone says that there is no other voter.
	Alone bool
	// Revoked belongs to the leadership: the leases after changes of its configuration share it.
	Revoked *atomic.Bool
	// quorums are the sets of voters of which a majority must support the leader: one, or two in a joint
	// configuration.
	quorums [][]Supporter
}

// Supporter is a voter, as the leader knows it.
type Supporter struct {
	replica kvpb.ReplicaID
	store   kvpb.StoreID
	cell    *liveness.Cell // nil: the leader itself
	// answered is the epoch of the support under which the replica last answered in this term. A later
	// epoch may have begun after a vote for another replica.
	answered *atomic.Int64
	// match is the last entry that the replica is known to have.
	match *atomic.Uint64
}

// New returns the lease of a replica that leads a range in a term. It keeps what old, if not nil, knows of the
// supporters. from returns the support that a store gives.
func New(term uint64, revoked *atomic.Bool, self kvpb.ReplicaID, d *kvpb.RangeDescriptor, old *Lease, from func(kvpb.StoreID) *liveness.Cell) *Lease {
	l := &Lease{Term: term, Revoked: revoked, Alone: len(d.Replicas) == 1 && d.Replicas[0].Replica == self}
	var in, out []Supporter
	for _, r := range d.Replicas {
		i, o := IsVoter(r.Type)
		if !i && !o {
			continue
		}
		s, known := old.find(r.Replica)
		switch {
		case r.Replica == self:
			s = Supporter{replica: r.Replica, store: r.Store}
		case !known:
			s = Supporter{
				replica: r.Replica, store: r.Store, cell: from(r.Store), answered: new(atomic.Int64), match: new(atomic.Uint64),
			}
		}
		if i {
			in = append(in, s)
		}
		if o {
			out = append(out, s)
		}
	}
	l.quorums = [][]Supporter{in}
	if d.Joint() {
		l.quorums = append(l.quorums, out)
	}
	return l
}

func (l *Lease) find(id kvpb.ReplicaID) (s Supporter, ok bool) {
	if l == nil {
		return s, false
	}
	for _, q := range l.quorums {
		for _, o := range q {
			if o.replica == id {
				return o, true
			}
		}
	}
	return s, false
}

// Supporter returns another voter. ok is false if the replica is none.
func (l *Lease) Supporter(id kvpb.ReplicaID) (s Supporter, ok bool) {
	s, ok = l.find(id)
	return s, ok && s.answered != nil
}

// NoteAnswer records that the voter has answered in this term while its store gave support under an epoch.
// Support that begins again counts only once the leader has applied everything that it knows to be committed
// (invariant 4): in between the voter was free to vote in a range that was split off this one, by a split that
// the leader may not have applied yet.
func (s *Supporter) NoteAnswer(epoch int64, allApplied func() bool) {
	if s.answered.Load() < epoch && allApplied() {
		s.answered.Store(epoch)
	}
}

// NoteMatch records the last entry that the voter is known to have.
func (s *Supporter) NoteMatch(index uint64) {
	if s.match.Load() < index {
		s.match.Store(index)
	}
}

// Until returns the timestamp below which reads may be answered.
func (l *Lease) Until() hlc.Timestamp {
	if l.Alone {
		return hlc.MaxTimestamp
	}
	if l.Revoked.Load() && !plant.On(plant.ReadAfterTimeoutNow) {
		return hlc.Timestamp{}
	}
	least := hlc.MaxTimestamp
	for _, q := range l.quorums {
		least = least.Min(majority(q))
	}
	return least
}

// Covers reports whether a read at ts may be answered, given that clocks are at most offset apart. The
// successor of a leader writes only above the leader's lease. A read that begins after the acknowledgement of
// such a write has its timestamp from a clock that may be behind by the offset. With the offset added it lies
// above the lease as well, so the former leader refuses it.
func (l *Lease) Covers(ts hlc.Timestamp, offset time.Duration) bool {
	if l.Alone {
		return true
	}
	ts.WallTime += int64(offset)
	return ts.Less(l.Until())
}

// majority returns until when a majority supports the leader.
func majority(q []Supporter) hlc.Timestamp {
	var sorted [MaxVoters]hlc.Timestamp // descending
	for n := range q {
		ts := q[n].support()
		at := n
		for at > 0 && sorted[at-1].Less(ts) {
			sorted[at] = sorted[at-1]
			at--
		}
		sorted[at] = ts
	}
	return sorted[len(q)/2]
}

// support returns until when the voter supports the leader.
func (s *Supporter) support() hlc.Timestamp {
	if s.cell == nil {
		return hlc.MaxTimestamp
	}
	if v := s.cell.Support(); v.Epoch == s.answered.Load() {
		return v.Until
	}
	return hlc.Timestamp{}
}

// IsVoter reports whether a replica votes, and whether it does in the incoming and the outgoing
// half of a joint configuration.
func IsVoter(t kvpb.ReplicaType) (incoming, outgoing bool) {
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
