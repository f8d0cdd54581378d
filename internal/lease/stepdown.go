package lease

import "github.com/lichendb/lichen/internal/kvpb"

const (
	// timeoutNowTicks is after how many ticks a leader that stepped down asks another candidate
	// to campaign, maxTimeoutNow how often it asks.
	timeoutNowTicks = 3
	maxTimeoutNow   = 30
)

// StepDown is the end of a leadership by the leader's own doing: its log is full, or it is no voter any
// more. Its followers go on to support the store, which answers and reads, so none of them would campaign
// by itself: it asks them by raft's TimeoutNow, one after the other, until one stands in a later term.
type StepDown struct {
	Term       uint64           // never changes
	Candidates []kvpb.ReplicaID // who has most of the log comes first
	asked      int
	ticks      int // until the next one is asked
}

// Ask returns whom to ask to campaign now. ok is false if nobody is left to ask.
func (s *StepDown) Ask() (to kvpb.ReplicaID, ok bool) {
	if s.asked == maxTimeoutNow || len(s.Candidates) == 0 {
		return 0, false
	}
	to = s.Candidates[s.asked%len(s.Candidates)]
	s.asked++
	s.ticks = timeoutNowTicks
	return to, true
}

// Due advances the time by one tick and reports whether somebody is to be asked.
func (s *StepDown) Due() bool {
	if s.ticks > 0 {
		s.ticks--
		return false
	}
	return true
}
