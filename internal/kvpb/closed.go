package kvpb

import "time"

// Closed timestamps (docs/decisions/0008-time.md): up to a closed timestamp a range's history is
// complete, and every replica that has applied it may serve reads there.
const (
	// ClosedLag is the distance at which closed timestamps follow the leader's clock. A transaction
	// that takes longer must move its writes to a later timestamp when it commits.
	ClosedLag = 3 * time.Second
	// ClosedEvery is the interval at which a leader closes timestamps.
	ClosedEvery = 500 * time.Millisecond
	// FollowerReadLag is the age of reads that the nearest replica can probably serve. It allows for
	// the way of a closed timestamp to that replica, and for a leader's clock that lags.
	FollowerReadLag = ClosedLag + ClosedEvery + 700*time.Millisecond
)
