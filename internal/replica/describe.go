package replica

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Describe returns a human-readable state of the replica and its raft group.
func (r *Replica) Describe(ctx context.Context) string {
	answer := make(chan string, 1)
	r.group.Do(func() {
		g := r.group
		st := g.Raft().Status()
		answer <- fmt.Sprintf("replica %d of %+v; %v; %+v, leader %d; configuration %v; applied %+v; led term %d, serves %v; %v; in flight %d+%d; log ends at %d; quiesced %v, idle %v, idle for %d ticks%s%s",
			r.replicaID, *r.Desc(), st.RaftState, st.BasicStatus, st.Lead, st.Config, g.applier.State(), g.Led(), r.Leads(), r.election.Candidacy(),
			g.InFlight.Proposed(), g.InFlight.Waiting(), g.View.State.Last, r.quiesced.Load(), r.idle.Load(), g.IdleTicks(), g.describeFollowers(),
			r.describeSupport())
	})
	select {
	case s := <-answer:
		return s
	case <-ctx.Done():
		return fmt.Sprintf("replica %d of %+v: does not answer", r.replicaID, *r.Desc())
	}
}

// describeSupport returns which other stores support this one, so that their replicas would vote for it, and
// which stores this one supports, so that it votes for no other leader.
func (r *Replica) describeSupport() string {
	var b strings.Builder
	for _, d := range r.Desc().Replicas {
		if d.Replica != r.replicaID && r.deps.Support != nil {
			fmt.Fprintf(&b, "; store %d: supports %v, is supported %v", d.Store, r.supportedBy(d.Store), r.deps.Support.Granted(d.Store).Epoch != 0)
		}
	}
	return b.String()
}

// describeFollowers returns a leader's raft progress of the other replicas.
func (g *group) describeFollowers() string {
	var b strings.Builder
	progress := g.Raft().Status().Progress // String needs the Inflights, which WithProgress leaves out
	for _, id := range slices.Sorted(maps.Keys(progress)) {
		p := progress[id]
		d, ok := g.r.Desc().ReplicaByID(kvpb.ReplicaID(id))
		fmt.Fprintf(&b, "; follower %d, alive %v: %s, acknowledged all %v", id, ok && g.r.supportedBy(d.Store), p.String(), g.Acked(id, g.View.State.Last))
	}
	return b.String()
}

// EachLock calls fn for the held and the awaited row locks until fn returns false. A replica that does not
// lead has none. The iteration is no snapshot: locks come and go meanwhile.
func (r *Replica) EachLock(fn func(concurrency.Lock) bool) {
	if r.Leads() {
		r.locks.ForEach(fn)
	}
}
