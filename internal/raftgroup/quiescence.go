package raftgroup

import (
	"encoding/binary"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// idleAfter is the number of ticks without work after which a leader goes idle.
const idleAfter = 5

// Quiescence decides when a leader is idle: it has nothing to send to its followers and needs no ticks.
//
//	active ── idleAfter ticks without work, and each follower on a live ──► idle
//	   ▲      store has acknowledged that the whole log is committed          │
//	   └───────── Unquiesce: a proposal, a follower that is back ◄────────────┘
//
// The context of a heartbeat holds the commit index and the number of the round, which each Unquiesce
// begins. A follower acknowledges the commit index by returning the context. Acknowledgements of an earlier
// round do not count: the follower may have restarted since, and forgotten the commit index.
//
// A leader does not wait for followers on dead stores. A store that returns and finds the leader idle makes
// it call Unquiesce. So a leader that has just gone idle checks again: a follower that returned just before
// would never learn the commit index (invariant 6).
type Quiescence struct {
	ticks int // without work
	round uint64
	acks  []commitAck // of this round
}

// commitAck is the highest commit index that a follower has acknowledged.
type commitAck struct{ follower, commit uint64 }

func (q *Quiescence) reset() {
	q.ticks = 0
	q.round++
	q.acks = q.acks[:0]
}

// context returns the context of a heartbeat. The follower returns it when it has processed the heartbeat.
func (q *Quiescence) context(commit uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, q.round), commit)
}

// noteAck records the context that a follower returned.
func (q *Quiescence) noteAck(follower uint64, context []byte) {
	round, n := binary.Uvarint(context)
	commit, w := binary.Uvarint(context[max(n, 0):])
	if n <= 0 || w <= 0 || round != q.round {
		return
	}
	for i := range q.acks {
		if a := &q.acks[i]; a.follower == follower {
			a.commit = max(a.commit, commit)
			return
		}
	}
	q.acks = append(q.acks, commitAck{follower, commit})
}

// acked reports whether a follower has acknowledged that an entry is committed.
func (q *Quiescence) acked(follower, index uint64) bool {
	return slices.ContainsFunc(q.acks, func(a commitAck) bool { return a.follower == follower && a.commit >= index })
}

// TickLeader ticks the raft state of a leader, and decides whether the leader is idle.
func (g *Group) TickLeader() {
	g.rn.Tick()
	g.quiescence.ticks++
	idle := !g.lagging() && g.quiescence.ticks > idleAfter && g.InFlight.Waiting() == 0
	g.host.SetIdle(idle)
	if idle && g.lagging() {
		g.host.SetIdle(false)
	}
}

// Unquiesce makes an idle leader active: it sends heartbeats again for a while.
func (g *Group) Unquiesce() {
	g.quiescence.reset()
	g.host.SetIdle(false)
	g.host.UnquiesceReplica()
}

// StayActive keeps the leader from going idle for a while.
func (g *Group) StayActive() { g.quiescence.ticks = 0 }

// IdleTicks returns the number of ticks since there was work.
func (g *Group) IdleTicks() int { return g.quiescence.ticks }

// Acked reports whether a follower has acknowledged that an entry is committed.
func (g *Group) Acked(follower, index uint64) bool { return g.quiescence.acked(follower, index) }

// MinMatch returns the last entry that all followers had at the last tick, as far as the leader knows.
func (g *Group) MinMatch() uint64 { return g.minMatch.Load() }

// lagging reports whether a follower on a live store lacks entries, or has not acknowledged that all are
// committed.
func (g *Group) lagging() (lags bool) {
	last, least := g.View.State.Last, uint64(math.MaxUint64)
	g.rn.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == uint64(g.cfg.Replica) {
			return
		}
		least = min(least, p.Match)
		lags = lags || (p.Match < last || !g.quiescence.acked(id, last)) && g.host.Reachable(id)
	})
	g.minMatch.Store(least)
	return lags
}

// send sends a message to another replica.
func (g *Group) send(m *pb.Message) {
	if m.GetType() == pb.MsgHeartbeat {
		m.Context = g.quiescence.context(m.GetCommit())
	}
	g.host.Send(m)
}

// noteHeartbeatResp records the commit index that a follower acknowledges, and hides the context from raft.
func (g *Group) noteHeartbeatResp(m *pb.Message) {
	if m.GetTerm() == g.led {
		g.quiescence.noteAck(m.GetFrom(), m.GetContext())
	}
	m.Context = nil
}
