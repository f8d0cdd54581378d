package kv

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// FeedEvent is a committed version of a key.
type FeedEvent = kvpb.FeedEvent

// errNoFeed is returned by a gateway whose requests go somewhere without feeds.
var errNoFeed = errors.New("kv: no feeds here")

// Feed passes the committed changes of [start, end) above a timestamp to emit until ctx
// ends or emit fails. emit is called one at a time, either with events or with a timestamp
// up to which everything has been delivered, which rises. An event comes at least once,
// soon after it was committed. Versions that may have been garbage-collected end the feed
// with kvpb.SnapshotTooOldError: protect what a feed may have to begin again from.
func (db *DB) Feed(
	ctx context.Context, start, end []byte, from hlc.Timestamp, emit func(events []FeedEvent, resolved hlc.Timestamp) error,
) error {
	f, ok := db.env.Sender.(interface {
		Feed(context.Context, kvpb.Span, hlc.Timestamp, func([]kvpb.FeedEvent, hlc.Timestamp) error) error
	})
	if !ok {
		return errNoFeed
	}
	return f.Feed(ctx, kvpb.Span{Key: start, EndKey: end}, from, emit)
}
