package replica

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Describe returns a human-readable state of the replica and its raft group.
func (r *Replica) Describe(ctx context.Context) string {
	answer := make(chan string, 1)
	r.group.Do(func() {
		g := r.group
		answer <- fmt.Sprintf("replica %d of %+v; %+v; applied %+v; led term %d, serves %v; %v; on their way %d+%d; log ends at %d; quiesced %v, idle %v, idle for %d ticks%s",
			r.replicaID, *r.Desc(), g.Raft().BasicStatus(), g.applier.State(), g.Led(), r.Leads(), r.election.Candidacy(),
			g.InFlight.Proposed(), g.InFlight.Waiting(), g.View.State.Last, r.quiesced.Load(), r.idle.Load(), g.IdleTicks(), g.describeFollowers())
	})
	select {
	case s := <-answer:
		return s
	case <-ctx.Done():
		return fmt.Sprintf("replica %d of %+v: does not answer", r.replicaID, *r.Desc())
	}
}

// describeFollowers returns a leader's raft progress of the other replicas.
func (g *group) describeFollowers() string {
	var b strings.Builder
	progress := g.Raft().Status().Progress // String needs the Inflights, which WithProgress leaves out
	for _, id := range slices.Sorted(maps.Keys(progress)) {
		p := progress[id]
		d, ok := g.r.Desc().ReplicaByID(kvpb.ReplicaID(id))
		fmt.Fprintf(&b, "; follower %d, there %v: %s, knows all %v", id, ok && g.r.supportedBy(d.Store), p.String(), g.Knows(id, g.View.State.Last))
	}
	return b.String()
}
