package dist

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/sleep"
)

// Limits of feeds.
const (
	// maxFeedParts bounds the ranges that one feed reads from.
	maxFeedParts = 16384
	// maxFeedWaits bounds the requests of one feed that block at other nodes until an event comes. The
	// parts of a larger feed poll every feedEvery, or less often if there are many.
	maxFeedWaits = 64
	feedEvery    = time.Second
	// minFeedBackoff is the first pause of a part before it tries another replica.
	minFeedBackoff = 50 * time.Millisecond
	maxFeedBackoff = 2 * time.Second
)

// serveFeed executes a request sent by Remote.Feed.
func serveFeed(ctx context.Context, s kvpb.Sender, in incoming) ([]byte, error) {
	f, ok := s.(kvpb.Feeder)
	if !ok {
		return nil, &kvpb.UnavailableError{Reason: "the replica has no feeds"}
	}
	var req kvpb.FeedRequest
	if err := decode(in, &req, kvwire.DecodeFeed); err != nil {
		return nil, err
	}
	var resp kvpb.FeedResponse
	if err := f.Feed(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return kvwire.AppendFeedResponse(kvwire.AppendOK(nil), &resp), nil
}

// Feed implements kvpb.Feeder.
func (s *Remote) Feed(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	p := s.begin(kvwire.OpFeed)
	p.b = kvwire.AppendFeed(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeFeedResponse(body, resp))
}

// Feed passes the committed versions of a span above from to emit. It ends when ctx ends, emit fails, or
// requested versions have been garbage-collected. Calls of emit do not overlap. A call has either events or
// a resolved timestamp, up to which all versions have been delivered. Each event is delivered at least once.
// The first deliveries of a key's events are in the order of their timestamps.
func (d *Router) Feed(
	ctx context.Context, span kvpb.Span, from hlc.Timestamp, emit func(events []kvpb.FeedEvent, resolved hlc.Timestamp) error,
) error {
	return d.feed(ctx, span, from, false, emit)
}

// PromptFeed is Feed from the leaders of the ranges, which resolve the timestamp of each event soon after it.
func (d *Router) PromptFeed(
	ctx context.Context, span kvpb.Span, from hlc.Timestamp, emit func(events []kvpb.FeedEvent, resolved hlc.Timestamp) error,
) error {
	return d.feed(ctx, span, from, true, emit)
}

func (d *Router) feed(
	ctx context.Context, span kvpb.Span, from hlc.Timestamp, prompt bool, emit func([]kvpb.FeedEvent, hlc.Timestamp) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &feed{d: d, prompt: prompt, emit: emit, fail: cancel, resolved: from, slots: make(chan struct{}, maxFeedWaits), mu: sleep.NewMutex()}
	f.mu.Lock()
	f.begin(ctx, span, from)
	f.mu.Unlock()
	f.running.Wait()
	return context.Cause(ctx)
}

// feed is one reader's feed over all ranges of its span.
type feed struct {
	d       *Router
	prompt  bool
	emit    func([]kvpb.FeedEvent, hlc.Timestamp) error
	fail    context.CancelCauseFunc
	running sync.WaitGroup
	slots   chan struct{}
	n       atomic.Int32 // of parts

	mu       sleep.Mutex // guards what follows, and is held during emit
	parts    []*feedPart
	resolved hlc.Timestamp
}

// feedPart is the part of a feed that one range delivers.
type feedPart struct {
	f        *feed
	span     kvpb.Span
	resolved hlc.Timestamp // written with feed.mu held, by its own goroutine
	id       uint64        // at the replica, 0 before the first request
	target   target
}

// begin adds a part. The caller holds f.mu.
func (f *feed) begin(ctx context.Context, span kvpb.Span, from hlc.Timestamp) {
	if len(f.parts) >= maxFeedParts {
		f.fail(&kvpb.UnavailableError{Reason: "the feed reads from too many ranges"})
		return
	}
	p := &feedPart{f: f, span: span, resolved: from}
	f.parts = append(f.parts, p)
	f.n.Add(1)
	f.running.Go(func() {
		if err := p.run(ctx); err != nil {
			f.fail(err)
		}
	})
}

// run reads until ctx ends or other parts take over the span. After a failure it begins again at the
// resolved timestamp, so that events may be delivered twice.
func (p *feedPart) run(ctx context.Context) error {
	var r retry
	var again time.Duration
	most := maxFeedBackoff
	if p.f.prompt {
		most = maxBackoff
	}
	for first := true; ; first = false {
		if !first {
			again = min(max(2*again, minFeedBackoff), most)
			if err := sleep.For(ctx, again); err != nil {
				return err
			}
		}
		err := p.open(ctx, &r)
		for err == nil {
			var resp kvpb.FeedResponse
			parts := int(p.f.n.Load())
			req := kvpb.FeedRequest{ID: p.id, Span: p.span, From: p.resolved, NoWait: parts > maxFeedWaits, Prompt: p.f.prompt}
			if err = p.ask(ctx, &req, &resp); err == nil {
				p.id, again, r.tried = resp.ID, 0, nil
				err = p.deliver(&resp)
			}
			if err == nil && req.NoWait && len(resp.Events) == 0 {
				err = sleep.For(ctx, feedEvery*time.Duration(1+parts/feedFew))
			}
		}
		had := p.id != 0
		p.id = 0
		var old *kvpb.SnapshotTooOldError
		var own *emitError
		switch {
		case errors.As(err, &own):
			return own.err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &old):
			return err
		}
		p.judge(&r, err, had)
	}
}

// feedFew is the number of parts up to which each polls every feedEvery.
const feedFew = 1000

// ask sends one request once a slot of the feed is free.
func (p *feedPart) ask(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	select {
	case p.f.slots <- struct{}{}:
		defer func() { <-p.f.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.target.Sender.(kvpb.Feeder).Feed(ctx, req, resp)
}

// emitError is an error of emit.
type emitError struct{ err error }

func (e *emitError) Error() string { return e.err.Error() }

// open finds a replica for the part. It hands keys of other ranges over to parts of their own.
func (p *feedPart) open(ctx context.Context, r *retry) error {
	t, err := p.find(ctx, r)
	if err != nil {
		return err
	}
	if slices.Compare(p.span.EndKey, t.desc.EndKey) > 0 {
		p.f.mu.Lock()
		more := kvpb.Span{Key: t.desc.EndKey, EndKey: p.span.EndKey}
		p.span.EndKey = t.desc.EndKey
		p.f.begin(ctx, more, p.resolved)
		p.f.mu.Unlock()
	}
	if _, ok := t.Sender.(kvpb.Feeder); !ok {
		return &kvpb.UnavailableError{Reason: "the replica has no feeds"}
	}
	p.target = t
	return nil
}

// find prefers the nearest replica and, after failures, one that has not failed since.
func (p *feedPart) find(ctx context.Context, r *retry) (target, error) {
	d := p.f.d
	r.nearest = d.loc == nil && len(r.tried) == 0 && !p.f.prompt
	t, err := d.find(ctx, p.span.Key, r)
	if errors.Is(err, errAllTried) {
		r.tried = nil
		if d.cache != nil {
			_ = d.cache.Reload(ctx, p.span.Key) // the cached address is good enough
		}
	}
	return t, err
}

// judge corrects the cache after a failure. had says that the target has served the part.
func (p *feedPart) judge(r *retry, err error, had bool) {
	var mismatch *kvpb.RangeMismatchError
	d := p.f.d
	if d.loc != nil || p.target.entry == nil {
		return
	}
	if p.f.prompt {
		p.judgeLeader(r, err, had)
		return
	}
	if errors.As(err, &mismatch) && len(mismatch.Known) > 0 {
		d.cache.Evict(p.target.entry)
		d.cache.Insert(mismatch.Known...)
		r.tried = nil
		return
	}
	r.tried = append(r.tried, p.target.node)
}

// judgeLeader is judge for a feed that only the leader serves. had says that the target has served it.
func (p *feedPart) judgeLeader(r *retry, err error, had bool) {
	var down *kvpb.UnavailableError
	if had && errors.As(err, &down) {
		return // the feed has ended there, and may begin again
	}
	if s, _ := r.judge(p.f.d, p.target, p.span.Key, err); s == another {
		r.tried = append(r.tried, p.target.node)
	} else {
		r.tried = nil
	}
}

// deliver passes a response on. The span's resolved timestamp is the least one of its parts.
func (p *feedPart) deliver(resp *kvpb.FeedResponse) error {
	f := p.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(resp.Events) > 0 {
		if err := f.emit(resp.Events, hlc.Timestamp{}); err != nil {
			return &emitError{err}
		}
	}
	if !p.resolved.Less(resp.Resolved) {
		return nil
	}
	p.resolved = resp.Resolved
	least := hlc.MaxTimestamp
	for _, o := range f.parts {
		least = least.Min(o.resolved)
	}
	if !f.resolved.Less(least) {
		return nil
	}
	f.resolved = least
	if err := f.emit(nil, least); err != nil {
		return &emitError{err}
	}
	return nil
}
