package concurrency

import "github.com/lichendb/lichen/internal/hlc"

// CommitBounds are the inputs from which the commit timestamp in one range follows.
//
//	threshold, MinTS, reads of others        snapshot         spilled                 now
//	──────────────┴──────────────────────────────┴───────────────┴─────────────────────┴──►
//	              nothing commits at or below     what it reads   its versions, if any   always free
//
// A transaction commits at its snapshot, or at the timestamp of its spilled versions, if that lies
// above all lower bounds. Otherwise it commits now, above all of them, provided that a refresh
// finds its reads unchanged up to there.
type CommitBounds struct {
	// Snapshot is the timestamp at which the transaction reads. Serializable: its reads must hold
	// at the commit timestamp.
	Snapshot     hlc.Timestamp
	Serializable bool
	// ReadsElsewhere: it has read in other ranges, or refreshes there itself.
	ReadsElsewhere bool
	// Spilled is the timestamp of its spilled versions; empty: there are none.
	Spilled hlc.Timestamp
	// Fixed is the timestamp that the commit has in all its ranges; empty: it may choose one.
	Fixed hlc.Timestamp
	// Read is the latest read by others of what it writes, Threshold that of the collection: a deletion
	// up to there may be forgotten. MinTS is the bound that it must stay above.
	Read, Threshold, MinTS hlc.Timestamp
}

// TimestampChoice is the result of Choose.
type TimestampChoice uint8

// The choices.
const (
	// CommitAt: at the timestamp that comes with it.
	CommitAt TimestampChoice = iota
	// CommitNow: at the clock's present time.
	CommitNow
	// CommitTooLow: not at Fixed; the timestamp that comes with it is the lowest possible.
	CommitTooLow
	// CommitRestart: the transaction must restart, since what it has read elsewhere may have changed.
	CommitRestart
)

// String implements fmt.Stringer.
func (c TimestampChoice) String() string {
	return [...]string{"at", "now", "too low, not below", "restart"}[c]
}

// Choose chooses the commit timestamp. refresh: the transaction's reads must be unchanged up to it.
func (b *CommitBounds) Choose() (c TimestampChoice, ts hlc.Timestamp, refresh bool) {
	above := b.Read.Max(b.Threshold)
	switch {
	case !b.Fixed.IsEmpty() && b.Fixed.LessEq(above):
		return CommitTooLow, above.Next(), false
	case !b.Fixed.IsEmpty():
		return CommitAt, b.Fixed, false
	case !b.Spilled.IsEmpty():
		if b.Spilled.LessEq(above.Max(b.MinTS)) || b.Spilled.Less(b.Snapshot) {
			return CommitNow, ts, b.Serializable
		}
		return CommitAt, b.Spilled, b.Serializable
	case !b.Serializable:
		return CommitNow, ts, false
	case above.Max(b.MinTS).Less(b.Snapshot):
		return CommitAt, b.Snapshot, false
	case b.ReadsElsewhere:
		return CommitRestart, ts, false
	}
	return CommitNow, ts, true
}
