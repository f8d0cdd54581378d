package replica

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangefeed/processor"
	"github.com/lichendb/lichen/internal/txnintent"
)

// feedHost is the replica as the host of its feeds.
type feedHost struct{ *Replica }

var (
	_ processor.Host = feedHost{}
	_ kvpb.Feeder    = (*Replica)(nil)
)

// Feed implements kvpb.Feeder.
func (r *Replica) Feed(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	return r.feeds.Feed(ctx, req, resp)
}

// HasFeeds reports whether the replica has a feed.
func (r *Replica) HasFeeds() bool { return r.feeds.Active() }

// BetweenEntries implements processor.Host.
func (r feedHost) BetweenEntries(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	if !r.group.Do(func() { done <- fn() }) {
		return kvpb.ErrStopping
	}
	select {
	case err := <-done:
		return err
	case <-r.group.Queue.Halted():
		return kvpb.ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CheckFed implements processor.Host.
func (r feedHost) CheckFed(span kvpb.Span) error {
	d := r.Desc()
	if !r.Initialized() || !d.ContainsKey(span.Key) || bytes.Compare(span.EndKey, d.EndKey) > 0 || d.Into != 0 {
		return r.mismatch()
	}
	return nil
}

// EachIntent implements processor.Host.
func (r feedHost) EachIntent(span kvpb.Span, fn func(key []byte, ts hlc.Timestamp) error) error {
	return r.eachIntent(context.Background(), kvpb.TxnID{}, span, func(key []byte, in txnintent.Intent) error {
		return fn(key, in.TS)
	})
}
