package replica

import (
	"cmp"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	pb "go.etcd.io/raft/v3/raftpb"
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

// LogFull implements raftgroup.Host.
func (g *group) LogFull(term uint64, candidates []kvpb.ReplicaID) {
	g.fullAt = time.Now()
	if term != 0 {
		g.resigned = &resignation{term: term, heirs: candidates}
		g.urge()
		g.r.Wake() // its ticks urge again
	}
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
	g.Send(g.r.standNow(to, s.term))
}

// standNow asks another replica to stand for election in the place of the leader of a term.
func (r *Replica) standNow(to kvpb.ReplicaID, term uint64) *pb.Message {
	return &pb.Message{
		Type: pb.MsgTimeoutNow.Enum(), From: proto.Uint64(uint64(r.replicaID)), To: proto.Uint64(uint64(to)),
		Term: proto.Uint64(term),
	}
}

// Resign ends the replica's leadership of a range that has other voters, if it has one, and
// asks the n-th best of them to take it. It does so without the group, whose processing
// goroutine may be waiting for a disk that stands still, and so without handing over row
// locks. From now on nothing is read in this term here; that disk needs not be there for
// the others to find each other.
func (r *Replica) Resign(n int) {
	if l := r.endTerm(); l != nil {
		if heirs := r.heirs(l); len(heirs) > 0 {
			to := heirs[n%len(heirs)]
			r.deps.Send(r, to, r.standNow(to.Replica, l.term))
		}
	}
}

// ResignTo is Resign in favour of one voter, by a store whose disk is slow: who waits for this
// one to apply a command soon hears that the next leader knows more.
func (r *Replica) ResignTo(to kvpb.ReplicaDescriptor) {
	if l := r.endTerm(); l != nil {
		r.deps.Send(r, to, r.standNow(to.Replica, l.term))
		r.group.Group.Resign(l.term)
	}
}

// endTerm has nothing more read under the present lease, which it returns; nil if there is
// none or nobody else could lead.
func (r *Replica) endTerm() *lease {
	l := r.lease.Load()
	if l == nil || l.alone || r.deps.Send == nil {
		return nil
	}
	l.given.Store(true) // before a message leaves
	r.endRest()
	return l
}

// heirs returns the voters whose stores are there, who has most of the log first and
// otherwise in an order that the range's id shifts, so that no store gets all.
func (r *Replica) heirs(l *lease) []kvpb.ReplicaDescriptor {
	var list []kvpb.ReplicaDescriptor
	match := map[kvpb.ReplicaID]uint64{}
	all := r.Desc().Replicas
	for i := range all {
		d := all[(uint64(i)+uint64(r.id))%uint64(len(all))]
		if in, _ := isVoter(d.Type); in && d.Replica != r.replicaID && r.hears(d.Store) {
			list = append(list, d)
		}
	}
	for _, s := range l.quorums[0] {
		if s.match != nil {
			match[s.replica] = s.match.Load()
		}
	}
	slices.SortStableFunc(list, func(a, b kvpb.ReplicaDescriptor) int { return cmp.Compare(match[b.Replica], match[a.Replica]) })
	return list
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
