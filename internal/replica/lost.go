package replica

import (
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
	pb "go.etcd.io/raft/v3/raftpb"
)

// LostAdvice says what to do with a store that has lost a part of its log.
const LostAdvice = "what the store has promised other nodes may be lost with it, so it must not be used again: " +
	"move it away and start the node with an empty store, which joins as a new node and gets its replicas from the others " +
	"(then decommission the old one); a node without others is restored from a backup"

// LostLogError says that the disk lacks entries which the replica has acknowledged: the
// raft log has lost its end, or the store was put back from an older copy. Votes may be
// lost as well, so no replica of the store may go on.
type LostLogError struct {
	Range kvpb.RangeID
	What  string // is missing, and how that is known
}

// Error implements error.
func (e *LostLogError) Error() string {
	return fmt.Sprintf("range %d: %s: the raft log was damaged, or the store was put back from an older copy; %s", e.Range, e.What, LostAdvice)
}

// checkAcknowledged answers whether this replica still has what a heartbeat says that it has: a leader tells
// a follower no commit index beyond what that has acknowledged to it (invariant 9).
func (g *group) checkAcknowledged(m *pb.Message) error {
	commit, last := m.GetCommit(), g.View.State.Last
	if commit <= last || m.GetTerm() < g.Raft().BasicStatus().GetTerm() {
		return nil
	}
	return &LostLogError{g.r.id, fmt.Sprintf("replica %d has acknowledged the entry %d to replica %d, but its log ends at %d",
		g.r.replicaID, commit, m.GetFrom(), last)}
}

// lose ends the group, and has the store end the process.
func (g *group) lose(err error) {
	if fatal := g.r.deps.OnFatal; fatal != nil {
		fatal(err)
	}
	_ = g.Fail(err)
}
