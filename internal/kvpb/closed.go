package kvpb

import "time"

// Closed timestamps (docs/decisions/0008-time.md): up to one, a range's history is
// complete, and every replica that has applied enough may serve it.
const (
	// ClosedLag is how far behind its clock a leader closes timestamps: transactions that
	// take longer have to move when they commit.
	ClosedLag = 3 * time.Second
	// ClosedEvery is how often it does so.
	ClosedEvery = 500 * time.Millisecond
	// FollowerReadLag is how far back a read lies that the nearest replica can probably
	// serve: what was closed has to get there, from a clock that may be behind.
	FollowerReadLag = ClosedLag + ClosedEvery + 700*time.Millisecond
)
