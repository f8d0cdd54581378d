package replica

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// FollowerProgress is how far the leader knows a follower to be.
type FollowerProgress struct {
	Replica kvpb.ReplicaDescriptor
	// Match is the last entry that the follower is known to have, Behind how many it
	// lacks. A follower with no entry at all waits for a snapshot.
	Match, Behind uint64
}

// Progress has tell called with the progress of the followers, soon and from
// another goroutine, unless the replica does not lead. tell must not block, nor
// change the list. Of a quiesced range nothing has changed since the last time.
func (r *Replica) Progress(tell func([]FollowerProgress)) {
	if list := r.progress.Load(); list != nil && r.idle.Load() && !slices.ContainsFunc(*list, r.lags) {
		tell(*list)
		return
	}
	r.group.Do(func() {
		if r.lease.Load() == nil {
			return
		}
		g := r.group
		progress := g.Raft().Status().Progress
		var list []FollowerProgress
		for _, d := range r.Desc().Replicas {
			p, ok := progress[uint64(d.Replica)]
			if !ok || d.Replica == r.replicaID {
				continue
			}
			f := FollowerProgress{Replica: d, Match: p.Match}
			if last := g.View.State.Last; last > p.Match {
				f.Behind = last - p.Match
			}
			if r.lags(f) { // and may have lost them on the way
				g.Unquiesce()
			}
			list = append(list, f)
		}
		if r.idle.Load() {
			r.progress.Store(&list)
		}
		tell(list)
	})
}

// lags reports whether a follower lacks entries though its store is there.
func (r *Replica) lags(f FollowerProgress) bool {
	return f.Behind > 0 && r.supportedBy(f.Replica.Store)
}

// Reclaim makes a leader that offered its leadership to another replica, which did
// not take it, campaign again: it may not serve in this term any more
// (docs/decisions/0007, Leases). It is called now and then and does nothing
// otherwise.
//
// The election is an ordinary one: if the other replica has won after all, those
// who follow it don't vote. All others still take this one for the leader, and
// would drop its call for votes, so that they learn of the end of the term first.
// A denied vote says no more than that.
func (r *Replica) Reclaim() {
	if !r.lease.Load().Reclaims(&r.transfers.Gate, false) {
		return
	}
	r.group.Do(func() {
		g := r.group
		st := g.Raft().BasicStatus()
		if st.RaftState != raft.StateLeader || !r.lease.Load().Reclaims(&r.transfers.Gate, st.LeadTransferee != raft.None) {
			return
		}
		over := func(to kvpb.ReplicaID) *pb.Message {
			return &pb.Message{
				Type: pb.MsgVoteResp.Enum(), From: proto.Uint64(uint64(r.replicaID)), To: proto.Uint64(uint64(to)),
				Term: proto.Uint64(st.GetTerm() + 1), Reject: proto.Bool(true),
			}
		}
		if err := g.Raft().Step(over(r.replicaID)); err != nil {
			r.deps.Logger.Error("reclaiming leadership", "range", r.id, "err", err)
			return
		}
		for _, d := range r.Desc().Replicas {
			if d.Replica != r.replicaID && r.deps.Send != nil {
				r.deps.Send(r, d, over(d.Replica))
			}
		}
		_ = g.Raft().Campaign()
	})
}

// ClearWithin drops all versions of all keys in [start, end), as ClearSpan does, and
// fails if the range does not hold all of them.
func (r *Replica) ClearWithin(ctx context.Context, start, end []byte) error {
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	fence, err := r.admitWrite(ctx, start)
	if err != nil {
		return err
	}
	if d := r.Desc(); d.BoundsGen != fence.BoundsGen || bytes.Compare(end, d.EndKey) > 0 {
		return r.mismatch()
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.ClearSpan(start, end)
	return r.group.Propose(fence, b.Bytes())
}

// Quiesced reports whether the replica is quiesced, so that whatever happens to it first wakes it
// (but reads), and whether it led when it was last looked at. Both are cheap to ask of
// thousands.
func (r *Replica) Quiesced() (quiesced, leads bool) { return r.quiesced.Load(), r.lease.Load() != nil }
