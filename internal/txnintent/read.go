package txnintent

import "github.com/lichendb/lichen/internal/hlc"

// Visibility is what a read sees of the versions of intents.
type Visibility uint8

const (
	// AsWritten: the read sees them as it sees committed ones, if they are not above its timestamp.
	AsWritten Visibility = iota
	// Hidden: the read passes over them.
	Hidden
	// Undecided: the read must wait for the outcome.
	Undecided
)

var visibilityNames = [...]string{"as written", "hidden", "waits"}

// String returns the name that the scripts show.
func (v Visibility) String() string { return visibilityNames[v] }

// read returns what a read at ts sees of the intents. own: the read is of the same transaction. Intents
// that a read of others passes over will not commit at or below ts any more.
func (s *State) read(ts hlc.Timestamp, own bool) Visibility {
	if ts.Less(s.leastVisible()) {
		return AsWritten
	}
	if !own {
		open := s.Status == Staging && s.StagedTS.LessEq(ts) && s.PushedTS.Less(ts)
		if open || s.Status == Aborted && s.Kind == Staged { // the versions are about to be dropped
			return Undecided
		}
		s.MaxRead = s.MaxRead.Max(ts)
	}
	if s.Kind != Spilled || s.Status == Committed && s.CommitTS.LessEq(ts) {
		return AsWritten
	}
	return Hidden
}

// refresh reports whether the intents change, or may change, the reads of another transaction that moves
// from a timestamp to a later one. It covers the cases that the versions alone don't show. It never
// makes the refresh wait, since two commits could wait for each other.
func (s *State) refresh(from, to hlc.Timestamp) (changed bool) {
	switch {
	case s.staging():
		changed = s.StagedTS.LessEq(to) && s.PushedTS.Less(to)
	case s.Status == Committed:
		return from.Less(s.CommitTS) && s.CommitTS.LessEq(to)
	case s.Status == Aborted:
		return s.Kind == Staged && s.TS.LessEq(to) // its versions are about to be dropped
	}
	if !changed {
		s.MaxRead = s.MaxRead.Max(to)
	}
	return changed
}

// apart reports whether the versions are spilled and not committed at their present timestamp: readers
// pass over them without waiting.
func (s *State) apart() bool {
	return s.Kind == Spilled && (s.Status != Committed || s.CommitTS != s.TS)
}
