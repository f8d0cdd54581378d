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

// FollowerProgress is a leader's knowledge of a follower's log.
type FollowerProgress struct {
	Replica kvpb.ReplicaDescriptor
	// Match is the last entry that the follower is known to have, Behind the number of entries after it.
	// A follower whose Match is 0 waits for a snapshot.
	Match, Behind uint64
}

// Progress calls tell with the progress of the followers, perhaps later and on another goroutine. If the
// replica does not lead, it never does. tell must not block, nor change the list. An idle leader's last answer
// is reused.
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
			if r.lags(f) { // the entries may have been lost on the way
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

// lags reports whether a follower lacks entries although its store is alive.
func (r *Replica) lags(f FollowerProgress) bool {
	return f.Behind > 0 && r.supportedBy(f.Replica.Store)
}

// Reclaim makes a leader campaign again if it has offered its leadership to a replica that did not take it:
// its lease is revoked for the rest of this term (docs/decisions/0007, Leases). It is called periodically, and
// does nothing for other replicas.
//
// The election is an ordinary one: if the other replica has won after all, its followers do not vote. All
// others still follow this leader and would ignore its MsgVote. So it first sends them a rejecting
// MsgVoteResp of the next term, whose only effect is that they leave the old term.
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

// ClearWithin is ClearSpan with a context. It fails if the span is not within the range.
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

// Quiesced reports whether the replica is quiesced, so that any event except a read calls OnUnquiesce
// first, and whether it leads. It is cheap enough for thousands of replicas.
func (r *Replica) Quiesced() (quiesced, leads bool) { return r.quiesced.Load(), r.lease.Load() != nil }
