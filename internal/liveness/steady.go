package liveness

import "time"

const (
	// steadySlack is the lag behind the elapsed time up to which the clock does not count as set
	// back.
	steadySlack = 10 * time.Millisecond
	// trustAfter is the time after which a clock that was set back is trusted again: all promises by
	// its earlier readings have ended by then.
	trustAfter = 2 * (SupportFor + time.Second)
)

// steady is the physical clock, but never set back. Without it, support that has ended by its
// supporter's clock would still be valid by a clock of this node that was set back.
type steady struct {
	anchored time.Time
	anchor   int64     // reading of the clock at that time
	behind   time.Time // when the clock began to lag; zero: it does not
}

// now returns the later of the clock and its expected reading.
func (s *steady) now(physical int64, at time.Time) int64 {
	due := s.anchor + int64(at.Sub(s.anchored))
	switch {
	case s.anchored.IsZero(), physical >= due-int64(steadySlack):
		if physical > due || s.anchored.IsZero() {
			s.anchored, s.anchor = at, physical
		}
		s.behind = time.Time{}
		return physical
	case s.behind.IsZero():
		s.behind = at
	case at.Sub(s.behind) > trustAfter:
		s.anchored, s.anchor, s.behind = at, physical, time.Time{}
		return physical
	}
	return due
}
