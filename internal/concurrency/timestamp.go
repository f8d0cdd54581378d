package concurrency

import "github.com/lichendb/lichen/internal/hlc"

// CommitBounds are the facts from which Choose derives the commit timestamp in one range.
//
//	threshold, MinTS, reads of others        snapshot         spilled                 now
//	──────────────┴──────────────────────────────┴───────────────┴─────────────────────┴──►
//	              nothing commits at or below     what it reads   its versions, if any   always free
//
// If its snapshot, or the timestamp of its spilled versions, lies above all lower bounds, a transaction
// commits there. Otherwise it commits now, above all bounds, if a refresh finds its reads unchanged
// up to then.
type CommitBounds struct {
	// Snapshot is the timestamp at which the transaction reads. Serializable: its reads must hold
	// at the commit timestamp.
	Snapshot     hlc.Timestamp
	Serializable bool
	// ReadsElsewhere: it has read in other ranges, or refreshes there itself.
	ReadsElsewhere bool
	// Spilled is the timestamp of its spilled versions; empty: there are none.
	Spilled hlc.Timestamp
	// Fixed is the timestamp that the commit must have in all its ranges; empty: this range chooses it.
	Fixed hlc.Timestamp
	// Read is the latest read by others of the keys that it writes. Threshold is the collection
	// threshold: a deletion up to there may be collected. MinTS is the bound that the request has set.
	Read, Threshold, MinTS hlc.Timestamp
}

// TimestampChoice is the result of Choose.
type TimestampChoice uint8

// The choices.
const (
	// CommitAt: at the returned timestamp.
	CommitAt TimestampChoice = iota
	// CommitNow: at the clock's present time.
	CommitNow
	// CommitTooLow: Fixed is too low; the returned timestamp is the lowest possible one.
	CommitTooLow
	// CommitRestart: the transaction must restart, since its reads in other ranges may have changed.
	CommitRestart
)

// String implements fmt.Stringer.
func (c TimestampChoice) String() string {
	return [...]string{"at", "now", "too low, not below", "restart"}[c]
}

// Choose chooses the commit timestamp. If refresh is true, the transaction's reads must be unchanged up
// to it.
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
