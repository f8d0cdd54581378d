package replica

import (
	"context"
	"fmt"
)

// Describe tells the state of the replica and its raft group, for people.
func (r *Replica) Describe(ctx context.Context) string {
	told := make(chan string, 1)
	r.group.deliver(input{do: func() {
		g := r.group
		told <- fmt.Sprintf("replica %d of %+v; %+v; applied %+v; led term %d, serves %v; candidacy %d, presumed %d; on their way %d+%d; log ends at %d",
			r.replicaID, *r.Desc(), g.rn.BasicStatus(), g.applier.State(), g.led, r.Leads(), r.candidacy.Load(), r.presumed.store,
			len(g.appending), len(g.waiting), g.view.state.Last)
	}})
	select {
	case s := <-told:
		return s
	case <-ctx.Done():
		return fmt.Sprintf("replica %d of %+v: does not answer", r.replicaID, *r.Desc())
	}
}
