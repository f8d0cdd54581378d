package liveness

import "time"

const (
	// steadySlack is how far the clock may fall behind the time that passes before
	// it counts as set back.
	steadySlack = 10 * time.Millisecond
	// steadyAgain is how long after a clock was set back it is believed again: all
	// that was promised by its earlier time has ended then.
	steadyAgain = 2 * (SupportFor + time.Second)
)

// steady is the physical clock as it would be if it had never been set back. Who
// supports this node counts by a clock that goes on; so must this node, whose own
// clock may have stood still since: the support that it was given has ended then,
// even if its clock does not say so.
type steady struct {
	anchored time.Time
	anchor   int64     // the clock at that time
	behind   time.Time // since when the clock is behind; zero: it is not
}

// now returns the later one of the clock and the time that it would show.
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
	case at.Sub(s.behind) > steadyAgain:
		s.anchored, s.anchor, s.behind = at, physical, time.Time{}
		return physical
	}
	return due
}
