// Package lock defines the strengths of row locks and what a request does about a lock of another
// transaction. Every layer from the parser to the lock table uses them by these names.
//
// # Invariants
//
//  1. A strength conflicts with all that a weaker one conflicts with. (TestConflictMatrix)
package lock

import "fmt"

// Strength is how strongly a row or a key is locked: one of PostgreSQL's four row-lock strengths.
// Requests between nodes and lock transfers carry its number.
type Strength uint8

// The strengths, weakest first. None is "not locked".
const (
	None        Strength = iota
	KeyShare             // SELECT FOR KEY SHARE, foreign-key checks: the key must stay
	Share                // SELECT FOR SHARE: the row must stay as it is
	NoKeyUpdate          // UPDATE of non-key columns, SELECT FOR NO KEY UPDATE
	Update               // DELETE, UPDATE of key columns, INSERT, SELECT FOR UPDATE
	NumStrengths
)

// Valid reports whether s is one of the four strengths.
func (s Strength) Valid() bool { return s > None && s < NumStrengths }

// Writes reports whether a lock of the strength announces a change or a deletion of the row.
func (s Strength) Writes() bool { return s >= NoKeyUpdate }

// Set is a set of strengths, one bit each.
type Set uint8

// Has reports whether s is in the set.
func (t Set) Has(s Strength) bool { return t&(1<<s) != 0 }

// With returns the set with s added.
func (t Set) With(s Strength) Set { return t | 1<<s }

// Conflicting returns the strengths that another transaction cannot hold while s is held.
func (s Strength) Conflicting() Set {
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
func (s Strength) Conflicts(o Strength) bool { return s.Conflicting().Has(o) }

// String returns the words of SELECT FOR ..., in lower case.
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

// WaitPolicy says what a request does about a lock that another transaction holds. Requests between
// nodes carry its number.
type WaitPolicy uint8

// The wait policies.
const (
	WaitBlock WaitPolicy = iota // queue for it
	WaitError                   // NOWAIT: the request fails
	WaitSkip                    // SKIP LOCKED: the response says so
)
