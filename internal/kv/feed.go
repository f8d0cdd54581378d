package kv

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// FeedEvent is a committed version of a key.
type FeedEvent = kvpb.FeedEvent

// errNoFeed is the error of a gateway whose sender has no feeds.
var errNoFeed = errors.New("kv: no feeds here")

// Feed passes the committed changes of [start, end) above a timestamp to emit until ctx ends or emit
// fails. Calls of emit do not overlap. Each has either events or a resolved timestamp: all events up to
// it have been delivered. Every event is delivered at least once, soon after its commit. If a version may
// have been garbage-collected the feed ends with kvpb.SnapshotTooOldError, so the timestamp from which a
// feed may have to resume needs a Protection.
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

// PromptFeed is Feed with resolved timestamps that follow the events within milliseconds: the leaders close the
// timestamp of each event as they deliver it, by a mark in the span that only transactions which write there
// meet. Transactions that write there should commit above CommitAbove of the present time, or the marks make
// them refresh what they have read.
func (db *DB) PromptFeed(
	ctx context.Context, start, end []byte, from hlc.Timestamp, emit func(events []FeedEvent, resolved hlc.Timestamp) error,
) error {
	f, ok := db.env.Sender.(interface {
		PromptFeed(context.Context, kvpb.Span, hlc.Timestamp, func([]kvpb.FeedEvent, hlc.Timestamp) error) error
	})
	if !ok {
		return errNoFeed
	}
	return f.PromptFeed(ctx, kvpb.Span{Key: start, EndKey: end}, from, emit)
}
