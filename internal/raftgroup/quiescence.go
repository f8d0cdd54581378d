package raftgroup

import (
	"encoding/binary"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// idleAfter is after how many ticks without work a leader whose followers have everything goes
// idle.
const idleAfter = 5

// Quiescence decides when a leader is idle: it has nothing to send to its followers and needs no ticks.
//
//	active ── idleAfter ticks without work, and each follower that is there ──► idle
//	   ▲      has the whole log and has said that it knows it to be committed     │
//	   └──────────── Unquiesce: a proposal, a follower that is back ◄─────────────┘
//
// A follower acknowledges the commit index by its response to a heartbeat, whose context contains the
// round of activity and the commit index. Responses of an earlier round do not count: the follower may
// have restarted since and forgotten the commit index.
//
// A leader does not wait for followers on dead stores. When such a store returns and finds the leader
// idle, it calls Unquiesce. So a leader that has just become idle checks again: a follower that returned
// just before would never learn the commit index (invariant 6).
type Quiescence struct {
	ticks int // without work
	round uint64
	known []knownCommit // since the last Unquiesce
}

// knownCommit is what a follower has said it knows to be committed.
type knownCommit struct{ follower, commit uint64 }

func (q *Quiescence) reset() {
	q.ticks = 0
	q.round++
	q.known = q.known[:0]
}

// context returns what goes with a heartbeat; the follower sends it back when it has taken in
// what the heartbeat says.
func (q *Quiescence) context(commit uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, q.round), commit)
}

// note notes what an answer to a heartbeat says.
func (q *Quiescence) note(follower uint64, context []byte) {
	round, n := binary.Uvarint(context)
	commit, w := binary.Uvarint(context[max(n, 0):])
	if n <= 0 || w <= 0 || round != q.round {
		return
	}
	for i := range q.known {
		if k := &q.known[i]; k.follower == follower {
			k.commit = max(k.commit, commit)
			return
		}
	}
	q.known = append(q.known, knownCommit{follower, commit})
}

// knows reports whether a follower has said that it knows an entry to be committed.
func (q *Quiescence) knows(follower, index uint64) bool {
	return slices.ContainsFunc(q.known, func(k knownCommit) bool { return k.follower == follower && k.commit >= index })
}

// TickLeader advances the time of a leader by one tick, and decides whether it is idle.
func (g *Group) TickLeader() {
	g.rn.Tick()
	g.quiescence.ticks++
	idle := !g.lagging() && g.quiescence.ticks > idleAfter && g.InFlight.Waiting() == 0
	g.host.SetIdle(idle)
	if idle && g.lagging() {
		g.host.SetIdle(false)
	}
}

// Unquiesce ends the leader's idleness: it sends heartbeats again for a while.
func (g *Group) Unquiesce() {
	g.quiescence.reset()
	g.host.SetIdle(false)
	g.host.UnquiesceReplica()
}

// StayActive keeps the leader from going idle for a while.
func (g *Group) StayActive() { g.quiescence.ticks = 0 }

// IdleTicks returns for how many ticks there was no work.
func (g *Group) IdleTicks() int { return g.quiescence.ticks }

// Knows reports whether a follower has said that it knows an entry to be committed.
func (g *Group) Knows(follower, index uint64) bool { return g.quiescence.knows(follower, index) }

// MinMatch returns the last entry that all followers were known to have at the last tick.
func (g *Group) MinMatch() uint64 { return g.minMatch.Load() }

// lagging reports whether a follower whose store is there lacks something.
func (g *Group) lagging() (lags bool) {
	last, least := g.View.State.Last, uint64(math.MaxUint64)
	g.rn.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == uint64(g.cfg.Replica) {
			return
		}
		least = min(least, p.Match)
		lags = lags || (p.Match < last || !g.quiescence.knows(id, last)) && g.host.Reachable(id)
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

// noteHeartbeatResp takes note of what a follower knows to be committed.
func (g *Group) noteHeartbeatResp(m *pb.Message) {
	if m.GetTerm() == g.led {
		g.quiescence.note(m.GetFrom(), m.GetContext())
	}
	m.Context = nil
}
