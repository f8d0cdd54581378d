package raftgroup

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// ProcessReady processes raft's Ready until there is none.
func (g *Group) ProcessReady() error {
	for !g.subsumed && g.rn.HasReady() {
		rd := g.rn.Ready()
		for _, m := range rd.Messages {
			var err error
			switch m.GetTo() {
			case raft.LocalAppendThread:
				err = g.append(m)
			case raft.LocalApplyThread:
				err = g.apply(m)
			default:
				g.send(m)
			}
			if err != nil {
				return err
			}
		}
		g.noteLeadership()
	}
	return nil
}

// append makes entries, term and vote durable, and only then passes the responses to raft and to the other
// replicas (invariant 3). A commit index alone needs no sync: nothing is lost with it.
func (g *Group) append(m *pb.Message) error {
	if !raft.IsEmptySnap(m.Snapshot) {
		if err := g.host.Install(m); err != nil {
			return err
		}
	}
	old := g.View.State.HardState
	hs := old
	if m.Term != nil {
		hs = raftlog.HardState{Term: m.GetTerm(), Vote: m.GetVote(), Commit: m.GetCommit()}
	}
	if len(m.Entries) > 0 || hs.Term != old.Term || hs.Vote != old.Vote {
		g.InFlight.Number(m.Entries)
		if err := g.write(m.Entries, hs); err != nil {
			return err
		}
		g.View.Appended(m.Entries)
	}
	g.View.State.HardState = hs
	return g.respond(m.Responses)
}

// write makes entries and a hard state durable. The Appender of the processing goroutine's own proposal lets
// several groups share the sync.
func (g *Group) write(ents []*pb.Entry, hs raftlog.HardState) error {
	g.entries = g.entries[:0]
	bytes := 0
	for _, e := range ents {
		bytes += len(e.GetData())
		g.entries = append(g.entries, raftlog.Entry{
			Index: e.GetIndex(), Term: e.GetTerm(), Type: uint8(e.GetType()), Data: e.GetData(),
		})
	}
	g.writes = append(g.writes[:0], raftlog.Write{
		Group: g.View.Group, Replica: uint64(g.cfg.Replica), Entries: g.entries, HardState: &hs,
	})
	g.host.Appending(bytes)
	defer clear(g.entries)
	if own := g.Queue.Own(); own != nil && own.Appender != nil {
		a := own.Appender
		own.Appender = nil
		return a.Append(g.View.Log, g.writes)
	}
	return g.View.Log.Append(g.writes)
}

// apply makes the host apply committed entries. With AsyncStorageWrites, raft hands out only entries that are
// locally durable (invariant 4).
func (g *Group) apply(m *pb.Message) error {
	if err := g.host.Apply(m.Entries); err != nil {
		return err
	}
	if n := len(m.Entries); n > 0 {
		g.View.Forget(m.Entries[n-1].GetIndex())
	}
	return g.respond(m.Responses)
}

// respond passes this replica's responses to raft and sends the others.
func (g *Group) respond(ms []*pb.Message) error {
	for _, m := range ms {
		if to := m.GetTo(); to != uint64(g.cfg.Replica) && !raft.IsLocalMsgTarget(to) {
			g.send(m)
			continue
		}
		if err := g.rn.Step(m); err != nil {
			return err
		}
	}
	return nil
}

// noteLeadership begins or ends this replica's leadership, as raft's state says.
func (g *Group) noteLeadership() {
	st := g.rn.BasicStatus()
	leads, term := st.RaftState == raft.StateLeader, st.GetTerm()
	was := g.raftLed
	if g.raftLed = 0; leads {
		g.raftLed = term
	}
	if g.led != 0 && (!leads || g.led != term) {
		g.endLeadership()
	}
	switch {
	case !leads:
		g.host.NoteLeader(st.Lead)
	case g.led != term:
		g.beginLeadership(term, st.GetCommit())
	}
	if leads && g.led == term || st.RaftState == raft.StateFollower && st.Lead != raft.None {
		g.host.NoteElected()
	}
	if was == term && !leads && !g.votes() {
		g.host.Demoted(term, g.voters())
	}
}

// beginLeadership makes a leader serve once an entry of its own term is applied.
func (g *Group) beginLeadership(term, commit uint64) {
	index, applied, _ := g.host.Applied()
	if applied != term {
		return
	}
	must.True(index <= commit, "raftgroup 4: applied beyond what is committed")
	g.led = term
	g.host.NoteLeader(uint64(g.cfg.Replica))
	g.host.BeginLeadership(term)
}

// endLeadership ends a leadership. The proposers of its entries wait formerLeaderWait for their outcomes.
func (g *Group) endLeadership() {
	led := g.led
	g.led = 0
	g.host.EndLeadership()
	if g.InFlight.Waiting() == 0 {
		return
	}
	err := &kvpb.AmbiguousCommitError{Cause: errors.New("the leadership of the range ended meanwhile")}
	time.AfterFunc(formerLeaderWait, func() { g.Do(func() { g.InFlight.Expire(led, err) }) })
}

// Fail handles an error of the log or of raft. A full disk has written nothing: the raft state is rebuilt
// from the log, a leader asks other replicas to take over, and the group goes on when there is space again.
// Any other error ends the group.
func (g *Group) Fail(err error) error {
	alone := g.host.OnlyVoter()
	var cause error = &kvpb.AmbiguousCommitError{Cause: err}
	if errors.Is(err, raftlog.ErrDiskFull) || errors.Is(err, storage.ErrDiskFull) {
		term, candidates := g.candidates()
		if rerr := g.Reset(); rerr == nil {
			if alone { // nobody else has seen the entries, or can lead
				cause = &kvpb.DiskFullError{Cause: err}
				term = 0
			} else {
				g.host.EndLeadership()
			}
			g.led, g.raftLed = 0, 0
			g.InFlight.Fail(cause)
			g.host.LogFull(term, candidates)
			return cause
		}
	}
	g.broken = cause
	g.host.StopServing() // before readers learn that the commits they wait for have ended
	g.Queue.Stop(cause)
	if !alone {
		g.host.EndLeadership()
	}
	g.InFlight.Fail(cause)
	return cause
}

// candidates returns the term of this leader and the replicas that may lead in its place. The term is 0 if
// this replica does not lead.
func (g *Group) candidates() (term uint64, ids []kvpb.ReplicaID) {
	st := g.rn.BasicStatus()
	if st.RaftState != raft.StateLeader {
		return 0, nil
	}
	return st.GetTerm(), g.voters()
}

// votes reports whether this replica is a voter.
func (g *Group) votes() bool {
	_, ok := g.rn.Status().Config.Voters.IDs()[uint64(g.cfg.Replica)]
	return ok
}

// voters returns the other voters. The one with the longest log, as far as a leader knows, comes first.
func (g *Group) voters() (ids []kvpb.ReplicaID) {
	match := map[kvpb.ReplicaID]uint64{}
	g.rn.WithProgress(func(id uint64, typ raft.ProgressType, p tracker.Progress) {
		if typ == raft.ProgressTypePeer && id != uint64(g.cfg.Replica) {
			ids = append(ids, kvpb.ReplicaID(id))
			match[kvpb.ReplicaID(id)] = p.Match
		}
	})
	slices.SortFunc(ids, func(a, b kvpb.ReplicaID) int {
		return cmp.Or(cmp.Compare(match[b], match[a]), cmp.Compare(a, b))
	})
	return ids
}
