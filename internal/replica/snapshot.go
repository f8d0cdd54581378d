package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// SnapshotChunkBytes is how much of a snapshot one chunk carries, roughly.
const SnapshotChunkBytes = 1 << 20

// OutgoingSnapshot is the state of a range at one point of its log, to be sent
// to a replica whose log can't be brought up to date any more.
type OutgoingSnapshot struct {
	Message   *pb.Message // raft's, without data
	Desc      *kvpb.RangeDescriptor
	State     apply.State
	Threshold hlc.Timestamp

	iters []*storage.Iterator
	begun bool
}

// DataSpans returns the parts of the engine that hold a range's replicated data.
func DataSpans(d *kvpb.RangeDescriptor) []keys.Span {
	s := keys.Span{Start: d.StartKey, End: d.EndKey}
	return []keys.Span{s, keys.LockSpan(s), keys.TxnRecordSpan(s)}
}

// sendSnapshot takes a snapshot of what is applied now and has it sent. Raft asked
// for one that may be older; this one is as good.
func (g *group) sendSnapshot(to kvpb.ReplicaDescriptor, m *pb.Message) {
	r := g.r
	s := &OutgoingSnapshot{Message: m, Desc: r.Desc(), State: g.applier.State(), Threshold: *r.threshold.Load()}
	m.Snapshot = &pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index: proto.Uint64(s.State.Index), Term: proto.Uint64(s.State.Term), ConfState: confState(s.Desc),
	}}
	done := func(ok bool) {
		status := raft.SnapshotFinish
		if !ok {
			status = raft.SnapshotFailure
		}
		g.deliver(input{do: func() { g.rn.ReportSnapshot(m.GetTo(), status) }})
	}
	for _, sp := range DataSpans(s.Desc) {
		it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: sp.Start, Upper: sp.End})
		if err != nil {
			s.Close()
			r.deps.Logger.Error("snapshot", "range", r.id, "err", err)
			r.deps.Schedule(func() { done(false) })
			return
		}
		s.iters = append(s.iters, it)
	}
	r.deps.SendSnapshot(r, to, s, done)
}

// Next returns the next chunk of engine keys and values, nil at the end.
func (s *OutgoingSnapshot) Next() ([]byte, error) {
	var chunk []byte
	for len(s.iters) > 0 && len(chunk) < SnapshotChunkBytes {
		it := s.iters[0]
		ok := false
		if s.begun {
			ok = it.Next()
		} else {
			ok, s.begun = it.First(), true
		}
		if !ok {
			if err := it.Error(); err != nil {
				return nil, err
			}
			it.Close()
			s.iters, s.begun = s.iters[1:], false
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		chunk = binary.AppendUvarint(chunk, uint64(len(it.Key())))
		chunk = append(chunk, it.Key()...)
		chunk = binary.AppendUvarint(chunk, uint64(len(v)))
		chunk = append(chunk, v...)
	}
	return chunk, nil
}

// Close releases what the snapshot holds of the engine.
func (s *OutgoingSnapshot) Close() {
	for _, it := range s.iters {
		it.Close()
	}
	s.iters = nil
}

// IncomingSnapshot is a snapshot that has arrived completely.
type IncomingSnapshot struct {
	Desc      *kvpb.RangeDescriptor
	State     apply.State
	Threshold hlc.Timestamp
	Chunks    [][]byte
}

// Receive hands a snapshot to raft, which takes it if it is news.
func (r *Replica) Receive(m *pb.Message, from kvpb.ReplicaDescriptor, s *IncomingSnapshot) {
	r.incoming.Store(s)
	r.group.deliver(input{msg: m, from: from})
}

// installSnapshot replaces the replica's data by a snapshot, in one batch. The
// engine is flushed before the log is emptied: after a crash in between the log
// is behind the state, which New puts right.
func (g *group) installSnapshot(m *pb.Message) error {
	r := g.r
	meta := m.Snapshot.GetMetadata()
	s := r.incoming.Swap(nil)
	must.True(s != nil && s.State.Index == meta.GetIndex(), "replica: snapshot at %d is not the one that arrived", meta.GetIndex())
	b := r.deps.Engine.NewBatch()
	defer b.Close()
	for _, d := range []*kvpb.RangeDescriptor{r.Desc(), s.Desc} {
		if len(d.EndKey) == 0 {
			continue
		}
		for _, sp := range DataSpans(d) {
			if err := b.DeleteRange(sp.Start, sp.End); err != nil {
				return err
			}
		}
	}
	for _, c := range s.Chunks {
		if err := addChunk(b, c); err != nil {
			return err
		}
	}
	if err := apply.WriteReplica(b, s.Desc, r.replicaID, s.State, s.Threshold); err != nil {
		return err
	}
	if err := b.Commit(); err != nil {
		return err
	}
	if err := r.deps.Engine.Flush(); err != nil {
		return err
	}
	old := r.Desc()
	r.desc.Store(s.Desc)
	if err := g.resetLog(s.State); err != nil {
		return err
	}
	g.applier.Reset(r.deps.Engine, r.deps.Store, s.Desc, s.State)
	r.noteApplied(s.State)
	r.recent.forget(r.deps.Clock.Now()) // the ends of transactions that it jumps over
	if err := r.loadThreshold(); err != nil {
		return err
	}
	g.abandon(&kvpb.AmbiguousCommitError{Cause: fmt.Errorf("the replica received a snapshot")})
	if r.deps.OnDescriptor != nil {
		r.deps.OnDescriptor(r, old)
	}
	return nil
}

func (g *group) resetLog(at apply.State) error {
	hs := g.view.state.HardState
	hs.Commit = max(hs.Commit, at.Index)
	hs.Term = max(hs.Term, at.Term)
	err := g.view.log.Append([]raftlog.Write{{
		Group: g.view.group, Replica: uint64(g.r.replicaID),
		Reset: &raftlog.Mark{Index: at.Index, Term: at.Term}, HardState: &hs,
	}})
	if err != nil {
		return err
	}
	g.view.state.HardState = hs
	g.view.state.Last = at.Index
	g.view.recent, g.view.recentBytes = nil, 0
	return nil
}

func addChunk(b *storage.Batch, c []byte) error {
	for len(c) > 0 {
		k, rest, ok := cut(c)
		if !ok {
			return fmt.Errorf("replica: damaged chunk of a snapshot")
		}
		v, rest, ok := cut(rest)
		if !ok {
			return fmt.Errorf("replica: damaged chunk of a snapshot")
		}
		if err := b.SetEngineKey(k, v); err != nil {
			return err
		}
		c = rest
	}
	return nil
}

func cut(p []byte) (b, rest []byte, ok bool) {
	n, w := binary.Uvarint(p)
	if w <= 0 || n > uint64(len(p)-w) {
		return nil, nil, false
	}
	return p[w : w+int(n)], p[w+int(n):], true
}
