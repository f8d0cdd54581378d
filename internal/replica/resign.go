package replica

import (
	"cmp"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

const (
	// fullFor is how long after its log was found to be full a replica does not stand for
	// election: it could not write down its own vote.
	fullFor = 3 * time.Second
	// urgeTicks is after how many ticks a leader that resigned asks another one to stand,
	// maxUrges how often it asks.
	urgeTicks = 3
	maxUrges  = 30
)

// resignation is the end of a leadership whose log is full. Its followers support the
// store on, which answers and reads, so none of them would stand by itself.
type resignation struct {
	term  uint64
	heirs []kvpb.ReplicaID // who has most of the log comes first
	asked int
	ticks int // until the next one is asked
}

// heirs returns who may succeed this replica if it leads.
func (g *group) heirs() *resignation {
	st := g.rn.BasicStatus()
	if st.RaftState != raft.StateLeader {
		return nil
	}
	match := map[kvpb.ReplicaID]uint64{}
	s := &resignation{term: st.GetTerm()}
	g.rn.WithProgress(func(id uint64, typ raft.ProgressType, p tracker.Progress) {
		if typ == raft.ProgressTypePeer && id != uint64(g.r.replicaID) {
			s.heirs = append(s.heirs, kvpb.ReplicaID(id))
			match[kvpb.ReplicaID(id)] = p.Match
		}
	})
	slices.SortFunc(s.heirs, func(a, b kvpb.ReplicaID) int {
		return cmp.Or(cmp.Compare(match[b], match[a]), cmp.Compare(a, b))
	})
	return s
}

// urge asks the next heir to stand for election. The leadership has ended before, so
// that nothing is read under it any more.
func (g *group) urge() {
	s := g.resigned
	if s.asked == maxUrges || len(s.heirs) == 0 {
		g.resigned = nil
		return
	}
	to := s.heirs[s.asked%len(s.heirs)]
	s.asked++
	s.ticks = urgeTicks
	g.send(&pb.Message{
		Type: pb.MsgTimeoutNow.Enum(), From: proto.Uint64(uint64(g.r.replicaID)), To: proto.Uint64(uint64(to)),
		Term: proto.Uint64(s.term),
	})
}

// urgeTick is a tick of a replica that resigned and has heard of no other leader.
func (g *group) urgeTick() {
	if s := g.resigned; s.ticks > 0 {
		s.ticks--
	} else {
		g.urge()
	}
}

// full reports whether the log was found to be full a moment ago.
func (g *group) full() bool { return !g.fullAt.IsZero() && time.Since(g.fullAt) < fullFor }
