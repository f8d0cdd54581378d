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

// CloseNow implements processor.Host. An empty ts closes nothing, and only checks that the replica leads.
func (r feedHost) CloseNow(span kvpb.Span, ts hlc.Timestamp) (hlc.Timestamp, error) {
	if ts.IsEmpty() {
		if !r.Leading() {
			return ts, r.notLeader()
		}
		return ts, nil
	}
	closed, _, ok := r.close(ts, func() { r.noteRead(span, ts) })
	switch {
	case ok:
		return closed, nil
	case !r.Leading():
		return hlc.Timestamp{}, r.notLeader()
	}
	return hlc.Timestamp{}, nil // a commit has not chosen its timestamp yet, or the lease is being renewed
}

// FlushDeferred implements processor.Host.
func (r feedHost) FlushDeferred() { r.group.Flush() }

// EachIntent implements processor.Host.
func (r feedHost) EachIntent(span kvpb.Span, fn func(key []byte, ts hlc.Timestamp) error) error {
	return r.eachIntent(context.Background(), kvpb.TxnID{}, span, func(key []byte, in txnintent.Intent) error {
		return fn(key, in.TS)
	})
}
