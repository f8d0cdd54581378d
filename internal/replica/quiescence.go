package replica

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"go.etcd.io/raft/v3"
)

// Tick advances the group's time by one tick, unless the replica quiesces. A follower quiesces while its
// store supports the leader's, a leader while its followers have the whole log and support it. Tick returns
// false for a quiesced replica. Deps.OnUnquiesce is called when the replica needs ticks again.
func (r *Replica) Tick() bool {
	if r.Gone() {
		return false
	}
	if r.onlyVoter() || r.mayQuiesce() {
		r.quiesced.Store(true)
		// Check again: a concurrent Unquiesce may not have seen it quiesced.
		if r.onlyVoter() || r.mayQuiesce() || !r.quiesced.CompareAndSwap(true, false) {
			return false
		}
	}
	g := r.group
	if !g.ticking.CompareAndSwap(false, true) {
		// The last tick still waits, and messages may wait with it, perhaps behind those of thousands of
		// other groups. The group's time must not run ahead of its messages.
		return true
	}
	if !g.Do(g.tick) {
		g.ticking.Store(false)
		return false
	}
	return true
}

// Unquiesce resumes the replica's ticks. Its callers have changed an input of mayQuiesce.
func (r *Replica) Unquiesce() {
	if r.quiesced.Load() && r.quiesced.CompareAndSwap(true, false) && r.deps.OnUnquiesce != nil {
		r.deps.OnUnquiesce(r)
	}
}

// supportedBy reports whether another store supports this node's leaderships, so that it is alive. It
// reads the clock before the support (liveness, invariant 8).
func (r *Replica) supportedBy(s kvpb.StoreID) bool {
	return r.deps.Support == nil || r.deps.Clock.Reading().Less(r.deps.Support.From(s).Support().Until)
}

// mayQuiesce reports whether a tick would change nothing. It does not wait for the processing goroutine.
func (r *Replica) mayQuiesce() bool {
	s := r.deps.Support
	if s == nil {
		return true
	}
	if l := r.lease.Load(); l != nil {
		return r.idle.Load() && !r.Desc().ChangingReplicas() && r.coversNow(l) // a tick may call removeOutgoing
	}
	if r.election.Candidacy() == lease.Queued {
		return true // StartCampaign unquiesces it
	}
	if !r.votes() {
		return r.election.SteppingDown() == 0 // only voters campaign
	}
	d, ok := r.Leader()
	return ok && d.Replica != r.replicaID && r.election.Supports(s, d.Store)
}

func (g *group) tick() {
	g.ticking.Store(false)
	if g.Raft().BasicStatus().RaftState == raft.StateLeader {
		g.TickLeader()
		g.removeOutgoing()
		return
	}
	g.stepElection(&lease.ElectionEvent{Type: lease.Tick})
}

// SupportChanged notifies the replica that support between its store and another has begun or ended.
// heartbeat is true for an idle leader: the other store may have restarted, so the caller calls
// HeartbeatAll.
func (r *Replica) SupportChanged(s kvpb.StoreID) (heartbeat bool) {
	if _, ok := r.Desc().Replica(s); !ok {
		return false
	}
	if r.lease.Load() != nil && r.supportedBy(s) {
		heartbeat = r.idle.Load()
	} else if !r.election.Supports(r.deps.Support, s) {
		r.SupportLost(s)
	}
	r.Unquiesce()
	return heartbeat
}

// HeartbeatAll makes a quiesced leader send heartbeats to its followers for a while.
func (r *Replica) HeartbeatAll() {
	if r.lease.Load() != nil {
		r.group.Do(r.group.Unquiesce)
	}
}

// Quiesced reports whether the replica is quiesced, so that any event except a read calls OnUnquiesce
// first, and whether it leads. It is cheap enough for thousands of replicas.
func (r *Replica) Quiesced() (quiesced, leads bool) { return r.quiesced.Load(), r.lease.Load() != nil }
