package kvpb

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
)

// FeedRequest asks a replica for what changes in a span, which lies in its range. The first
// request has ID zero and begins a feed of everything that is committed above From; each
// further one asks for more of it. A feed that nobody asks for a while ends.
type FeedRequest struct {
	ID   uint64
	Span Span
	From hlc.Timestamp
	// NoWait asks for what there is, rather than to wait until there is something.
	NoWait bool
}

// FeedEvent is a committed version.
type FeedEvent struct {
	Key, Value []byte
	Deleted    bool
	TS         hlc.Timestamp
}

// FeedResponse brings events, perhaps none. Resolved, if set, says that all committed
// versions up to it have been delivered.
type FeedResponse struct {
	ID       uint64
	Events   []FeedEvent
	Resolved hlc.Timestamp
}

// Feeder is a replica that tells of changes, whether or not it leads its range.
type Feeder interface {
	Feed(ctx context.Context, req *FeedRequest, resp *FeedResponse) error
}
