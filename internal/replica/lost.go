package replica

import (
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
	pb "go.etcd.io/raft/v3/raftpb"
)

// LostAdvice is the advice for an operator whose store has lost a part of its log.
const LostAdvice = "what the store has promised other nodes may be lost with it, so it must not be used again: " +
	"move it away and start the node with an empty store, which joins as a new node and gets its replicas from the others " +
	"(then decommission the old one); a node without others is restored from a backup"

// LostLogError says that the disk lacks entries that the replica has acknowledged: the raft log has lost its
// end, or the store was restored from an older copy. Votes may be lost as well, so no replica of the store
// may continue.
type LostLogError struct {
	Range kvpb.RangeID
	What  string // the missing part, with the evidence
}

// Error implements error.
func (e *LostLogError) Error() string {
	return fmt.Sprintf("range %d: %s: the raft log was damaged, or the store was put back from an older copy; %s", e.Range, e.What, LostAdvice)
}

// checkAcknowledged returns a LostLogError if a heartbeat's commit index lies beyond the end of the log: a
// leader sends a follower no commit index beyond the follower's own acknowledgements (invariant 9).
func (g *group) checkAcknowledged(m *pb.Message) error {
	commit, last := m.GetCommit(), g.View.State.Last
	if commit <= last || m.GetTerm() < g.Raft().BasicStatus().GetTerm() {
		return nil
	}
	return &LostLogError{g.r.id, fmt.Sprintf("replica %d has acknowledged the entry %d to replica %d, but its log ends at %d",
		g.r.replicaID, commit, m.GetFrom(), last)}
}

// failLost ends the group and the process.
func (g *group) failLost(err error) {
	if fatal := g.r.deps.OnFatal; fatal != nil {
		fatal(err)
	}
	_ = g.Fail(err)
}
