package concurrency

import "fmt"

// Strength is how strongly a key is locked: PostgreSQL's four row-lock
// strengths, each conflicting with all that a weaker one conflicts with. A number stands for
// the same strength as in kvpb.Strength, which this package does not know: package replica
// asserts it where it converts.
type Strength uint8

// The strengths, weakest first. None is "not locked".
const (
	None        Strength = iota
	KeyShare             // SELECT FOR KEY SHARE, foreign-key checks: the key must stay
	Share                // SELECT FOR SHARE: the row must stay as it is
	NoKeyUpdate          // UPDATE of non-key columns, SELECT FOR NO KEY UPDATE
	Update               // DELETE, UPDATE of key columns, INSERT, SELECT FOR UPDATE
	numStrengths
)

// Valid reports whether s is one of the four strengths.
func (s Strength) Valid() bool { return s > None && s < numStrengths }

// strengthSet is a set of strengths, one bit each.
type strengthSet uint8

func (s Strength) bit() strengthSet { return 1 << s }

// conflicting returns the strengths that another transaction cannot hold
// while s is held. Invariant 1 (the sets grow with s) is tested by
// TestConflictMatrix.
func (s Strength) conflicting() strengthSet {
	switch s {
	case KeyShare:
		return 1 << Update
	case Share:
		return 1<<NoKeyUpdate | 1<<Update
	case NoKeyUpdate:
		return 1<<Share | 1<<NoKeyUpdate | 1<<Update
	case Update:
		return 1<<KeyShare | 1<<Share | 1<<NoKeyUpdate | 1<<Update
	}
	return 0
}

// Conflicts reports whether two transactions cannot hold s and o on one key.
func (s Strength) Conflicts(o Strength) bool { return s.conflicting()&o.bit() != 0 }

// String returns the strength's name as in SQL, lower case.
func (s Strength) String() string {
	switch s {
	case None:
		return "none"
	case KeyShare:
		return "key share"
	case Share:
		return "share"
	case NoKeyUpdate:
		return "no key update"
	case Update:
		return "update"
	}
	return fmt.Sprintf("Strength(%d)", uint8(s))
}
