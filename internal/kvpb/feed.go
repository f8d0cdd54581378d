package kvpb

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
)

// FeedRequest asks a replica for the changes of a span of its range. The first request has ID zero,
// and begins a feed of all versions that are committed above From. Each further one asks for more
// of it. A feed ends when it has not been asked for a while.
type FeedRequest struct {
	ID   uint64
	Span Span
	From hlc.Timestamp
	// NoWait: the answer comes at once, even without events.
	NoWait bool
	// Prompt: only the leader serves the feed, and it closes the timestamps of the events at once, so that its
	// reader soon knows their order. Commits that are under way at an earlier timestamp commit again above it.
	Prompt bool
}

// FeedEvent is a committed version.
type FeedEvent struct {
	Key, Value []byte
	Deleted    bool
	TS         hlc.Timestamp
}

// FeedResponse carries events, perhaps none. If Resolved is set, all committed versions up to
// it have been delivered.
type FeedResponse struct {
	ID       uint64
	Events   []FeedEvent
	Resolved hlc.Timestamp
}

// Feeder is a replica that serves feeds, whether or not it leads its range.
type Feeder interface {
	Feed(ctx context.Context, req *FeedRequest, resp *FeedResponse) error
}
