package txnintent

import "github.com/lichendb/lichen/internal/hlc"

// Visibility is how a read takes intents.
type Visibility uint8

const (
	// AsWritten: the versions are, or are not, there for the read as their timestamp says.
	AsWritten Visibility = iota
	// Hidden: the read passes over them.
	Hidden
	// Undecided: the read has to wait.
	Undecided
)

var visibilityNames = [...]string{"as written", "hidden", "waits"}

// String returns the name that the scripts show.
func (v Visibility) String() string { return visibilityNames[v] }

// read answers how a read at ts over the intents takes them; own: it is of the same
// transaction. Whatever it passes over may not commit at or below ts any more.
func (s *State) read(ts hlc.Timestamp, own bool) Visibility {
	if ts.Less(s.leastVisible()) {
		return AsWritten
	}
	if !own {
		open := s.Status == Staging && s.StagedTS.LessEq(ts) && s.PushedTS.Less(ts)
		if open || s.Status == Aborted && s.Kind == Staged { // or about to vanish
			return Undecided
		}
		s.MaxRead = s.MaxRead.Max(ts)
	}
	if s.Kind != Spilled || s.Status == Committed && s.CommitTS.LessEq(ts) {
		return AsWritten
	}
	return Hidden
}

// refresh answers whether the intents change what another transaction has read at from when it
// moves to the later timestamp to, or may, in a way that the versions do not tell. It does not
// wait: two commits could wait for each other.
func (s *State) refresh(from, to hlc.Timestamp) (changed bool) {
	switch {
	case s.staging():
		changed = s.StagedTS.LessEq(to) && s.PushedTS.Less(to)
	case s.Status == Committed:
		return from.Less(s.CommitTS) && s.CommitTS.LessEq(to)
	case s.Status == Aborted:
		return s.Kind == Staged && s.TS.LessEq(to) // its versions are about to go
	}
	if !changed {
		s.MaxRead = s.MaxRead.Max(to)
	}
	return changed
}

// apart reports whether the versions are not, or not as they stand, part of what is
// committed, though nobody waits for them.
func (s *State) apart() bool {
	return s.Kind == Spilled && (s.Status != Committed || s.CommitTS != s.TS)
}
