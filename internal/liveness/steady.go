package liveness

import "time"

const (
	// steadySlack is the lag behind the elapsed time up to which the clock does not count as set
	// back.
	steadySlack = 10 * time.Millisecond
	// steadyAgain is how long after being set back a clock is trusted again: by then all promises
	// by its earlier time have ended.
	steadyAgain = 2 * (SupportFor + time.Second)
)

// steady is the physical clock as if it had never been set back. A supporter's clock advances
// whatever this node's clock does. If this clock was set back, support that has ended would still
// look valid by it.
type steady struct {
	anchored time.Time
	anchor   int64     // reading of the clock at that time
	behind   time.Time // since when the clock lags; zero: it does not
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
	case at.Sub(s.behind) > steadyAgain:
		s.anchored, s.anchor, s.behind = at, physical, time.Time{}
		return physical
	}
	return due
}
