package replica

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/rangefeed/processor"
	"github.com/lichendb/lichen/internal/snapshot"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// keepLogAfterSnapshot is how long a leader keeps the log after a delivered snapshot, which the receiver has
// not acknowledged yet.
const keepLogAfterSnapshot = 10 * time.Second

// resetLogAgain is the interval at which a group retries to empty its log on a full disk.
const resetLogAgain = 250 * time.Millisecond

// ErrOldSnapshot says that a snapshot is not newer than the replica's state.
var ErrOldSnapshot = errors.New("replica: the snapshot is not newer than the replica")

// outgoing tracks the snapshots being sent, whose receivers will need the log after them.
type outgoing struct {
	mu    sync.Mutex
	count int
	from  uint64 // the lowest index of the snapshots being sent or just delivered
	until time.Time
}

func (o *outgoing) begin(index uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == 0 && time.Now().After(o.until) || index < o.from {
		o.from = index
	}
	o.count++
}

func (o *outgoing) end(delivered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count--
	if delivered {
		o.until = time.Now().Add(keepLogAfterSnapshot)
	}
}

// SnapshotFrom returns the lowest index of the snapshots being sent. Their receivers need the log from there
// on.
func (r *Replica) SnapshotFrom() (index uint64, ok bool) {
	o := &r.outgoing
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.from, o.count > 0 || time.Now().Before(o.until)
}

// sendSnapshot takes a snapshot of the present applied state and sends it. It may be newer than the one in
// m that raft requested.
func (g *group) sendSnapshot(to kvpb.ReplicaDescriptor, m *pb.Message) {
	r := g.r
	s := &snapshot.Outgoing{Message: m, Desc: r.Desc(), State: g.applier.State()}
	m.Snapshot = &pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index: proto.Uint64(s.State.Index), Term: proto.Uint64(s.State.Term), ConfState: confState(s.Desc),
	}}
	r.outgoing.begin(s.State.Index)
	done := func(ok bool) {
		r.outgoing.end(ok)
		status := raft.SnapshotFinish
		if !ok {
			status = raft.SnapshotFailure
		}
		g.Do(func() {
			g.Raft().ReportSnapshot(m.GetTo(), status)
			g.Unquiesce() // the follower needs the entries after the snapshot
		})
	}
	if err := s.Open(r.deps.Engine); err != nil {
		s.Close()
		r.deps.Logger.Error("snapshot", "range", r.id, "err", err)
		r.deps.Schedule(func() { done(false) })
		return
	}
	r.deps.SendSnapshot(r, to, s, done)
}

// Receive passes a complete snapshot to raft, and returns when it is installed. It returns ErrOldSnapshot if
// raft ignores the snapshot, after it has told the leader what the replica has. s is nil if the replica has
// applied what the snapshot holds, so that raft will ignore it. The caller closes s afterwards.
func (r *Replica) Receive(m *pb.Message, from kvpb.ReplicaDescriptor, s *snapshot.Incoming) error {
	answer := make(chan error, 1)
	if !r.group.Do(func() { answer <- r.group.receive(m, from, s) }) {
		return kvpb.ErrStopping
	}
	return <-answer
}

func (g *group) receive(m *pb.Message, from kvpb.ReplicaDescriptor, s *snapshot.Incoming) error {
	g.incoming = s
	defer func() { g.incoming = nil }()
	if err := g.Step(m, from); err != nil {
		return err
	}
	if s == nil || g.incoming != nil {
		return ErrOldSnapshot
	}
	return nil
}

// Install implements raftgroup.Host. It replaces the replica's data with a snapshot, in one durable step of
// the engine, and then empties the log. A crash in between leaves a log that does not continue the state. The
// mark that is ingested with the snapshot lets RepairLog recognize this at the next start.
func (g *group) Install(m *pb.Message) error {
	r := g.r
	meta := m.Snapshot.GetMetadata()
	s := g.incoming
	must.True(s != nil && s.State.Index == meta.GetIndex(), "replica: snapshot at %d is not the one that arrived", meta.GetIndex())
	old := r.Desc()
	local := r.deps.Engine.NewBatch()
	defer local.Close()
	if err := apply.WriteReplica(local, s.Desc, r.replicaID, s.State, s.Threshold); err != nil {
		return err
	}
	if err := snapshot.MarkOf(s.State, &g.View.State).Put(local, r.id); err != nil {
		return err
	}
	former, after, absorbed, err := r.deps.Absorb(r, s.Desc, local)
	if err != nil {
		return err
	}
	if r.Initialized() {
		former = append(former, old)
	}
	if err := s.Ingest(former, local, after); err != nil {
		return err
	}
	absorbed()
	g.incoming = nil
	if err := g.resetLog(s.State); err != nil {
		return err
	}
	if err := snapshot.ClearMark(r.deps.Engine, r.id); err != nil {
		return err
	}
	r.desc.Store(s.Desc)
	g.snapTerm = m.GetTerm()
	g.applier.Reset(r.deps.Engine, r.deps.Store, s.Desc, s.State)
	r.transfers.noteTerm(s.State.Term)
	r.noteApplied(s.State)
	r.feeds.End(processor.ErrEnded)       // the feeds miss the entries that the snapshot replaces
	r.finished.Forget(r.deps.Clock.Now()) // so does the finished-transaction cache
	if err := r.loadThreshold(); err != nil {
		return err
	}
	g.InFlight.Fail(&kvpb.AmbiguousCommitError{Cause: fmt.Errorf("the replica received a snapshot")})
	if r.deps.OnDescriptor != nil {
		r.deps.OnDescriptor(r, old)
	}
	return nil
}

func (g *group) resetLog(at apply.State) error {
	w := snapshot.EmptyLog(g.View.Group, g.r.replicaID, g.View.State.HardState, at)
	err := g.View.Log.Append([]raftlog.Write{w})
	for errors.Is(err, raftlog.ErrDiskFull) && !g.Queue.Stopped() {
		// The engine is ahead of the log: there is no way back. Nothing announces free space.
		<-time.After(resetLogAgain)
		err = g.View.Log.Append([]raftlog.Write{w})
	}
	if err != nil {
		return fmt.Errorf("range %d: emptying the log after a snapshot: %s", g.r.id, err) // not wrapped: the group ends
	}
	g.View.Reset(*w.HardState, at.Index)
	return nil
}
