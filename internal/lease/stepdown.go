package lease

import "github.com/lichendb/lichen/internal/kvpb"

const (
	// A leader that has stepped down asks another candidate to campaign after timeoutNowTicks ticks, and
	// at most maxTimeoutNow times.
	timeoutNowTicks = 3
	maxTimeoutNow   = 30
)

// StepDown is the end of a leadership whose leader has given it up: its log is full, or it is no longer a
// voter. Its followers go on supporting its store, which is alive, so none of them would campaign by itself.
// The leader asks them by raft's TimeoutNow, one after the other, until one campaigns in a later term.
type StepDown struct {
	Term       uint64           // never changes
	Candidates []kvpb.ReplicaID // the one with the longest log first
	asked      int
	ticks      int // until the next one is asked
}

// Ask returns the replica to ask now. ok is false if none is left.
func (s *StepDown) Ask() (to kvpb.ReplicaID, ok bool) {
	if s.asked == maxTimeoutNow || len(s.Candidates) == 0 {
		return 0, false
	}
	to = s.Candidates[s.asked%len(s.Candidates)]
	s.asked++
	s.ticks = timeoutNowTicks
	return to, true
}

// Due advances the time by one tick, and reports whether it is time to ask another replica.
func (s *StepDown) Due() bool {
	if s.ticks > 0 {
		s.ticks--
		return false
	}
	return true
}
